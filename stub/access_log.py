"""The access log: a line for each request and its response."""

import time
from collections.abc import Mapping
from typing import Any

from flask import Response, g, request

from traffic.masking import Redactor, cut_text, make_printable
from web.problems import MAX_REASONS, find_problem, list_reasons
from web.routing import read_raw_target

from .request.entry import MAX_REASON, REJECTED, STARTED
from .request.paths import is_control_path
from .world.tokens import MAIN
from .world.worlds import Visit

MAX_TARGET = 2048  # bytes that are shown


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def line_of(response: Response, redactor: Redactor) -> str:
    """The line of the current request's response: printable, and without tokens.

    First comes what the stub calls the request, or its world; last, what the stub did on purpose.
    """
    environ = request.environ
    visit: Visit | None = g.get("store")
    recorded = visit.recorded if visit else None
    name = recorded.name if recorded else visit.name if visit else MAIN
    method = environ["REQUEST_METHOD"]
    start = redactor.mask(f"{name} {method}")
    target = redactor.mask_target(read_raw_target(environ))
    shown = cut_text(target, MAX_TARGET)
    status = response.status_code
    line = f"{start} {shown} {status}"
    problem = find_problem(response)
    if problem:
        code = problem["code"]
        line += f" {code}"
        if status in REJECTED or is_control_path(environ["PATH_INFO"]):
            line += f" ({shown_reasons(problem, redactor)})"
    if recorded:
        line += "".join(f" {note}" for note in recorded.entry.applied.notes)
    ms = milliseconds_since(environ[STARTED])
    line += f" {ms:.1f} ms"
    return make_printable(line.lstrip()) + "\n"


def shown_reasons(problem: Mapping[str, Any], redactor: Redactor) -> str:
    shown = []
    for reason in list_reasons(problem)[:MAX_REASONS]:
        masked = redactor.mask(reason)
        shown.append(cut_text(masked, MAX_REASON))
    return "; ".join(shown)
