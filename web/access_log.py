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
    found = [f"{each['pointer']} {each['detail']}".lstrip() for each in problem.get("errors", ())]
    return found or [problem["detail"]]


def note_time() -> None:
    """The first step of a request."""
    g.started = time.perf_counter()


def line_of(response: Response, redactor: Redactor) -> str:
    """The line of the current request's response: printable, and without tokens.

    First comes what the stub calls the request, else the world in its token; last, what the stub
    did to the request on purpose, and how long it took.
    """
    environ, context = request.environ, vars(g._get_current_object())
    names = (context.get(each) for each in ("log_name", "world_name", "intended_world_name"))
    sent = (next(filter(None, names), ""), environ["REQUEST_METHOD"])
    target = cut(redactor.target(raw_target(environ)), MAX_TARGET)
    words = [*map(redactor.text, sent), target, str(response.status_code)]
    if problem := context.get("problem"):
        words.append(problem["code"])
        if response.status_code in REJECTED or is_control_path(environ["PATH_INFO"]):
            found = [cut(redactor.text(each), MAX_REASON) for each in reasons(problem)]
            words.append(f"({'; '.join(found[:MAX_REASONS])})")
    ms = (time.perf_counter() - context["started"]) * 1000
    words += [*context.get("log_notes", ()), f"{ms:.1f} ms"]
    return printable(" ".join(words).lstrip()) + "\n"
