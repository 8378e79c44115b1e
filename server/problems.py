"""The server's own errors, in the shape that all errors have (RFC 9457)."""

import json
import logging
import sys
import traceback

from .settings import MAX_FIELDS, MAX_HEAD

# By code: status, title and detail, which repeats nothing that was sent.
PROBLEMS = {
    "malformed_request": (400, "Bad Request", "Send a well-formed HTTP/1.1 request."),
    "host_not_allowed": (
        400,
        "Bad Request",
        "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or have the "
        "name added to its trusted hosts.",
    ),
    "body_too_large": (413, "Request Entity Too Large", "Send a much smaller body."),
    "headers_too_large": (
        431,
        "Request Header Fields Too Large",
        f"Send at most {MAX_HEAD // 1024} KiB and {MAX_FIELDS} fields before the body.",
    ),
    "internal_error": (500, "Internal Server Error", "The stub failed: see its log on stderr."),
}


class Rejection(Exception):
    """Raised while a request arrives: an error response."""

    def __init__(self, detail: str = "", code: str = "malformed_request") -> None:
        self.status, self.title, default = PROBLEMS[code]
        self.code = code
        self.detail = detail or default
        members = {"title": self.title, "status": self.status, "detail": self.detail}
        self.body = json.dumps({"type": "about:blank", **members, "code": code}).encode()


def log_failure(what: str) -> None:
    """Log where the current exception came from but not its message: it may quote the request."""
    kind, _, trace = sys.exc_info()
    frames = "".join(traceback.format_tb(trace))
    logging.getLogger(__name__).error("%s: %s\n%s", what, kind and kind.__name__, frames)
