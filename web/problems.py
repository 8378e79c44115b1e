"""Every error of the app, in one shape: `application/problem+json` (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

PROBLEM_JSON = {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}

# What Werkzeug raises by itself: status -> code, detail.
WERKZEUG_ERRORS = {
    400: ("malformed_request", "Send a well-formed HTTP request."),
    404: (
        "not_found",
        "There is nothing at this path. /openapi.json lists the paths that exist; a trailing or "
        "doubled slash makes another path.",
    ),
    405: ("method_not_allowed", "Use one of the methods in the header Allow."),
}
MAX_REASONS = 20  # that are shown
MAX_QUOTED = 60  # characters of what a message quotes
INTERNAL_ERROR = ("internal_error", "The stub failed: see its log on stderr.")


class FieldError(NamedTuple):
    """What is wrong at one place of a document; `pointer` is a JSON Pointer (RFC 6901)."""

    pointer: str
    detail: str


def short(quoted: object) -> str:
    """What a message quotes, or its beginning."""
    text = str(quoted)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


class Problem(HTTPException):
    """An error response, raised anywhere in a request.

    Werkzeug's names: `code` is the HTTP status, `description` the detail. `problem_code` is the
    stable word for machines.
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
    """422: JSON of invalid content, with all its errors."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        detail = "The body is JSON, but its content is invalid: see `errors`."
        super().__init__(422, "invalid_body", detail, errors=errors)


class ProblemResponse(Response):
    """The response of an error, with its document in `problem` for whoever describes it."""

    def __init__(self, problem: dict[str, Any], headers: Mapping[str, str]) -> None:
        super().__init__(json.dumps(problem) + "\n", problem["status"], headers)
        self.problem = problem


def find_problem(response: Response) -> dict[str, Any] | None:
    """Return the document of the error that a response was made for; None for any other."""
    return getattr(response, "problem", None)  # An app may have changed the class of a response.


def respond(error: HTTPException) -> ProblemResponse:
    """Make the response of an error."""
    # These lead to the request, which keeps an error of its routing: that would be a cycle.
    error.__traceback__ = error.__context__ = None
    status = error.code or 500
    headers = dict(PROBLEM_JSON)
    errors: Sequence[FieldError] = ()
    if isinstance(error, Problem):
        code = error.problem_code
        detail = error.description
        errors = error.errors
        headers |= error.headers
    else:
        code, detail = WERKZEUG_ERRORS.get(status, INTERNAL_ERROR)
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


def reasons(problem: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request: its errors, or the detail if there are none."""
    if "errors" not in problem:
        return [problem["detail"]]
    found = []
    for each in problem["errors"]:
        reason = f"{each['pointer']} {each['detail']}"
        found.append(reason.lstrip())
    return found


def handle_errors(app: Flask, expected: Mapping[type[Exception], Problem]) -> None:
    """Respond to every exception in the one shape; `expected` maps types to problems.

    Flask logs any other exception, and makes a 500 of it.
    """
    app.register_error_handler(HTTPException, respond)
    for error, problem in expected.items():
        app.register_error_handler(error, lambda _, problem=problem: respond(problem))
