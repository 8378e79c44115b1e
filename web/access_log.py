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
    found = []
    for each in problem["errors"]:
        reason = f"{each['pointer']} {each['detail']}"
        found.append(reason.lstrip())
    return found


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
    world = context.get("world_name") or context.get("intended_world_name", "")
    name = context.get("log_name") or world
    method = environ["REQUEST_METHOD"]
    start = redactor.text(f"{name} {method}")
    target = redactor.target(raw_target(environ))
    shown = cut(target, MAX_TARGET)
    status = response.status_code
    line = f"{start} {shown} {status}"
    problem = context.get("problem")
    if problem:
        code = problem["code"]
        line += f" {code}"
        if status in REJECTED or is_control_path(environ["PATH_INFO"]):
            line += f" ({shown_reasons(problem, redactor)})"
    for note in context.get("log_notes", []):
        line += f" {note}"
    ms = milliseconds_since(context["started"])
    line += f" {ms:.1f} ms"
    return printable(line.lstrip()) + "\n"


def shown_reasons(problem: Mapping[str, Any], redactor: Redactor) -> str:
    shown = []
    for reason in reasons(problem)[:MAX_REASONS]:
        masked = redactor.url(reason)
        shown.append(cut(masked, MAX_REASON))
    return "; ".join(shown)
