"""The server's own errors, in the shape that all errors have (RFC 9457)."""

import json
import logging
import traceback

from waitress.utilities import Error, RequestEntityTooLarge, RequestHeaderFieldsTooLarge

from .settings import MAX_FIELDS, MAX_HEAD

log = logging.getLogger(__name__)


class Problem(Exception):
    """A malformed request, or a problem of a subclass. `detail` repeats nothing that was sent."""

    status = 400
    title = "Bad Request"
    code = "malformed_request"
    detail = "Send a well-formed HTTP/1.1 request."

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail or self.detail

    def body(self) -> bytes:
        members = ("title", "status", "detail", "code")
        return json.dumps(
            {"type": "about:blank", **{name: getattr(self, name) for name in members}}
        ).encode()


class HeadersTooLarge(Problem):
    status = 431
    title = "Request Header Fields Too Large"
    code = "headers_too_large"
    detail = f"Send at most {MAX_HEAD // 1024} KiB and {MAX_FIELDS} fields before the body."


class BodyTooLarge(Problem):
    status = 413
    title = "Request Entity Too Large"
    code = "body_too_large"
    detail = "Send a much smaller body."


class HostNotAllowed(Problem):
    code = "host_not_allowed"
    detail = (
        "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or have the "
        "name added to its trusted hosts."
    )


class InternalError(Problem):
    status = 500
    title = "Internal Server Error"
    code = "internal_error"
    detail = "The server failed: its terminal says where."


def problem_of(error: Error) -> Problem:
    """The problem for an error that waitress found."""
    if isinstance(error, RequestHeaderFieldsTooLarge):
        return HeadersTooLarge()
    return BodyTooLarge() if isinstance(error, RequestEntityTooLarge) else Problem()


def log_failure(what: str, error: BaseException | None) -> None:
    """Log where an exception came from but not its message, which may quote the request."""
    frames = traceback.format_tb(error.__traceback__) if error else []
    log.error("%s: %s\n%s", what, type(error).__name__, "".join(frames))
