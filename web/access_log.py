"""The access log: a line for each request and its response."""

import time
from collections.abc import Mapping
from typing import Any

from flask import Response, g, request

from .redaction import Redactor, cut, printable
from .routing import is_control_path, raw_target

REJECTED = (400, 415, 422)
"""The statuses for a request that the contract does not allow."""

MAX_TARGET = 2048  # bytes that are shown
MAX_REASON = 300  # bytes that are shown
MAX_REASONS = 20


def reasons(problem: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request: its errors, or the detail if there are none."""
    if "errors" not in problem:
        return [problem["detail"]]
    return [f"{each['pointer']} {each['detail']}".lstrip() for each in problem["errors"]]


def note_time() -> None:
    """The first step of a request."""
    g.started = time.perf_counter()


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def line_of(response: Response, redactor: Redactor) -> str:
    """The line of the current request's response: printable, and without tokens.

    First comes what the stub calls the request, or its world; last, what the stub did on purpose.
    """
    environ = request.environ
    context = vars(g._get_current_object())
    status = response.status_code
    world = context.get("world_name") or context.get("intended_world_name", "")
    name = context.get("log_name") or world
    start = redactor.text(f"{name} {environ['REQUEST_METHOD']}")
    target = redactor.target(raw_target(environ))
    words = [start.lstrip(), cut(target, MAX_TARGET), str(status)]
    problem = context.get("problem")
    if problem:
        words.append(problem["code"])
        if status in REJECTED or is_control_path(environ["PATH_INFO"]):
            first = reasons(problem)[:MAX_REASONS]
            shown = [cut(redactor.text(reason), MAX_REASON) for reason in first]
            words.append(f"({'; '.join(shown)})")
    words += context.get("log_notes", [])
    ms = milliseconds_since(context["started"])
    words.append(f"{ms:.1f} ms")
    return printable(" ".join(words)) + "\n"
