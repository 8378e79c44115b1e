"""The access log: a line for each request and its response."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flask import Response, g, request

from .redaction import Redactor, cut, printable
from .routing import is_control_path, raw_target

REJECTED = (400, 415, 422)
"""The statuses for a request that the contract does not allow."""

MAX_TARGET = 2048  # bytes that are shown
MAX_REASON = 300  # bytes that are shown
MAX_REASONS = 20


class Line(NamedTuple):
    """A line of the log. `problem` is the document of an error, `hint` what to start with instead.

    `ms` is milliseconds. The path is decoded, the target is as it was sent. `name` is what the
    stub calls the request, else the world in its token; `notes` what it did to it on purpose.
    """

    method: str
    path: str
    target: str
    status: int
    ms: float
    problem: Mapping[str, Any] | None
    name: str
    notes: Sequence[str]
    hint: str

    @property
    def is_control_error(self) -> bool:
        """Whether a request to a control route failed, which a test's own log may not show."""
        return self.status >= 400 and is_control_path(self.path)

    def text(self, redactor: Redactor) -> str:
        """The line: printable, and without tokens."""
        target = cut(redactor.target(self.target), MAX_TARGET)
        words = [redactor.text(self.name), redactor.text(self.method), target, str(self.status)]
        if self.problem:
            words.append(self.problem["code"])
            if self.is_control_error or self.status in REJECTED:
                found = [cut(redactor.text(each), MAX_REASON) for each in reasons(self.problem)]
                words.append(f"({'; '.join(found[:MAX_REASONS])})")
        words += [*self.notes, f"{self.ms:.1f} ms"]
        return printable(" ".join(words).lstrip()) + "\n"


def reasons(problem: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request: its errors, or the detail if there are none."""
    errors = problem.get("errors", ())
    found = [f"{each['pointer']} {each['detail']}".lstrip() for each in errors]
    return found or [problem["detail"]]


def note_time() -> None:
    """The first step of a request."""
    g.started = time.perf_counter()


def line_of(response: Response) -> Line:
    """The line of the current request's response."""
    environ, context = request.environ, vars(g._get_current_object())
    names = (context.get(each) for each in ("log_name", "world_name", "intended_world_name"))
    return Line(
        environ["REQUEST_METHOD"],
        environ["PATH_INFO"],
        raw_target(environ),
        response.status_code,
        (time.perf_counter() - context["started"]) * 1000,
        context.get("problem"),
        next(filter(None, names), ""),
        context.get("log_notes", ()),
        context.get("hint", ""),
    )
