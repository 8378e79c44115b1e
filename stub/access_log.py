"""The access log: a line for every request and its response."""

import time

from flask import Response, g, request

from traffic.masking import Redactor, cut_text, make_printable
from web.problems import MAX_REASONS, find_problem, list_reasons
from web.routing import read_raw_target

from .request.entry import MAX_REASON, REJECTED, STARTED
from .request.paths import is_control_path
from .world.worlds import Visit


def format_line(response: Response, redactor: Redactor, max_target: int = 2048) -> str:
    """Format the line of the current request: `job-5 #27 GET /v1/projects 200 0.4 ms`.

    It is printable and has no tokens. It begins with the name of the request in the journal, or of
    its world. Notes on faults and grease follow the status. The target is cut to `max_target`
    bytes.
    """
    environ = request.environ
    visit: Visit | None = g.get("store")
    recorded = visit.recorded if visit else None
    name = recorded.name if recorded else visit.name if visit else ""
    method = environ["REQUEST_METHOD"]
    start = redactor.mask(f"{name} {method}")
    target = redactor.mask_target(read_raw_target(environ))
    status = response.status_code
    line = f"{start} {cut_text(target, max_target)} {status}"
    problem = find_problem(response)
    if problem:
        line += f" {problem['code']}"
        if status in REJECTED or is_control_path(environ["PATH_INFO"]):
            reasons = map(redactor.mask, list_reasons(problem)[:MAX_REASONS])
            shown = "; ".join([cut_text(reason, MAX_REASON) for reason in reasons])
            line += f" ({shown})"
    if recorded:
        line += "".join(f" {note}" for note in recorded.entry.applied.notes)
    ms = (time.perf_counter() - environ[STARTED]) * 1000
    line += f" {ms:.1f} ms"
    return make_printable(line.lstrip()) + "\n"
