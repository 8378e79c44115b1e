"""The errors of the server. Like the errors of the app, they are `application/problem+json`."""

import json

from waitress.task import ErrorTask
from waitress.utilities import Error

from . import parser

# The codes and details by status. They do not repeat parts of the request.
PROBLEMS = {
    400: ("malformed_request", "Send a well-formed HTTP/1.1 request."),
    413: ("body_too_large", "Send a much smaller body."),
    431: (
        "headers_too_large",
        f"Send at most {parser.MAX_HEAD // 1024} KiB and {parser.MAX_FIELDS} header fields before "
        "the body.",
    ),
    500: ("internal_error", "The stub failed: see its log on stderr."),
}


def make_problem(
    status: int, title: str, code: str, detail: str
) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return the status, the header fields and the body of a rejection."""
    document = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
    }
    headers = [("Cache-Control", "no-store"), ("Content-Type", "application/problem+json")]
    return f"{status} {title}", headers, json.dumps(document).encode()


class RejectionTask(ErrorTask):
    """A response to a request that waitress rejects. It ends the connection."""

    request: parser.Parser  # type: ignore[assignment]

    def execute(self) -> None:
        """Respond in JSON. waitress would send `text/plain`."""
        error: Error = self.request.error  # type: ignore[assignment]
        code, detail = PROBLEMS[error.code]
        detail = self.request.hint or detail
        self.status, self.response_headers, body = make_problem(
            error.code, error.reason, code, detail
        )
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
