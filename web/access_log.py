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
    errors = problem.get("errors")
    if not errors:
        return [problem["detail"]]
    return [f"{each['pointer']} {each['detail']}".lstrip() for each in errors]


def note_time() -> None:
    """The first step of a request."""
    g.started = time.perf_counter()


def line_of(response: Response, redactor: Redactor) -> str:
    """The line of the current request's response: printable, and without tokens.

    First comes what the stub calls the request, else the world in its token; last, what the stub
    did to the request on purpose, and how long it took.
    """
    environ = request.environ
    context = vars(g._get_current_object())
    target = redactor.target(raw_target(environ))
    words = [
        redactor.text(name_of(context)),
        redactor.text(environ["REQUEST_METHOD"]),
        cut(target, MAX_TARGET),
        str(response.status_code),
    ]
    problem = context.get("problem")
    if problem:
        words.append(problem["code"])
        if response.status_code in REJECTED or is_control_path(environ["PATH_INFO"]):
            words.append(f"({shown_reasons(problem, redactor)})")
    words += context.get("log_notes", [])
    ms = (time.perf_counter() - context["started"]) * 1000
    words.append(f"{ms:.1f} ms")
    return printable(" ".join(words).lstrip()) + "\n"


def name_of(context: Mapping[str, Any]) -> str:
    """What the log calls a request, whose `flask.g` is `context`."""
    for name in ("log_name", "world_name", "intended_world_name"):
        if context.get(name):
            return str(context[name])
    return ""


def shown_reasons(problem: Mapping[str, Any], redactor: Redactor) -> str:
    """The first reasons of a problem, each without tokens and not too long."""
    first = reasons(problem)[:MAX_REASONS]
    return "; ".join(cut(redactor.text(reason), MAX_REASON) for reason in first)
