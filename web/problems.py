"""Makes the error responses of the app, all as `application/problem+json` (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

WERKZEUG_ERRORS = {
    400: ("malformed_request", "Send a well-formed HTTP request."),
    404: (
        "not_found",
        "There is nothing at this path. /openapi.json lists the paths that exist; a trailing or "
        "doubled slash makes another path.",
    ),
    405: ("method_not_allowed", "Use one of the methods in the header Allow."),
}
"""The code and the detail of the errors that Werkzeug raises by itself, by their status."""

MAX_REASONS = 20  # reasons that a message shows


class FieldError(NamedTuple):
    """An error in a document, such as `FieldError("/name", "is required")`.

    `pointer` is a JSON Pointer (RFC 6901).
    """

    pointer: str
    detail: str


def shorten(quoted: object, max_length: int = 60) -> str:
    """Return the text of a quoted value; if it is long, its beginning and `…`."""
    text = str(quoted)
    return text if len(text) <= max_length else f"{text[:max_length]}…"


class Problem(HTTPException):
    """An error response that any part of the app may raise.

    Werkzeug calls the HTTP status `code`, and the detail `description`. The code of the response,
    such as `name_taken`, is `problem_code`.
    """

    def __init__(
        self,
        status: int,
        problem_code: str,
        detail: str,
        *,
        headers: dict[str, str] | None = None,
        errors: Sequence[FieldError] = (),
    ) -> None:
        super().__init__(detail)
        self.code = status
        self.problem_code = problem_code
        self.headers = headers or {}
        self.errors = errors


class InvalidBody(Problem):
    """A 422 for JSON with invalid content. It has all errors of the body."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        detail = "The body is JSON, but its content is invalid: see `errors`."
        super().__init__(422, "invalid_body", detail, errors=errors)


class ProblemResponse(Response):
    """The response of an error. Its JSON document is also in `problem`, for logs and the stub."""

    def __init__(self, problem: dict[str, Any], headers: Mapping[str, str]) -> None:
        super().__init__(json.dumps(problem) + "\n", problem["status"], headers)
        self.problem = problem


def find_problem(response: Response) -> dict[str, Any] | None:
    """Return the document of an error response; None for a success."""
    return getattr(response, "problem", None)  # An app may have changed the class of a response.


def respond(error: HTTPException) -> ProblemResponse:
    """Make the response of an error."""
    # These lead to the request, which keeps an error of its routing: that would be a cycle.
    error.__traceback__ = error.__context__ = None
    status = error.code or 500
    headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}
    errors: Sequence[FieldError] = ()
    if isinstance(error, Problem):
        code = error.problem_code
        detail = error.description
        errors = error.errors
        headers |= error.headers
    else:
        failed = ("internal_error", "The stub failed: see its log on stderr.")
        code, detail = WERKZEUG_ERRORS.get(status, failed)
        if allowed := getattr(error, "valid_methods", None):
            headers["Allow"] = ", ".join(sorted(allowed))
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": error.name,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors:
        document["errors"] = [each._asdict() for each in errors]
    return ProblemResponse(document, headers)


def list_reasons(problem: Mapping[str, Any]) -> list[str]:
    """Return the errors of a problem as texts (`/name is required`), or else its detail."""
    if "errors" not in problem:
        return [problem["detail"]]
    found = []
    for each in problem["errors"]:
        reason = f"{each['pointer']} {each['detail']}"
        found.append(reason.lstrip())
    return found


def handle_errors(app: Flask, expected: Mapping[type[Exception], Problem]) -> None:
    """Respond to all exceptions with a problem; `expected` maps their types to problems.

    Flask logs an exception that is not expected, and responds with a 500.
    """
    app.register_error_handler(HTTPException, respond)
    for error, problem in expected.items():
        app.register_error_handler(error, lambda _, problem=problem: respond(problem))
