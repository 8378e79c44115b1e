"""The access log: a line for every request and its response."""

import time

from flask import Response, g, request

from traffic import masking
from web import problems
from web.routing import read_raw_target

from .request import entry
from .request.paths import is_control_path
from .world.worlds import Visit


def format_line(response: Response, redactor: masking.Redactor, max_target: int = 2048) -> str:
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
    line = f"{start} {masking.cut_text(target, max_target)} {status}"
    problem = problems.find_problem(response)
    if problem:
        line += f" {problem['code']}"
        if status in entry.REJECTED or is_control_path(environ["PATH_INFO"]):
            reasons = map(redactor.mask, problems.list_reasons(problem)[: problems.MAX_REASONS])
            shown = "; ".join([masking.cut_text(reason, entry.MAX_REASON) for reason in reasons])
            line += f" ({shown})"
    if recorded:
        line += "".join(f" {note}" for note in recorded.entry.applied.notes)
    ms = (time.perf_counter() - environ[entry.STARTED]) * 1000
    line += f" {ms:.1f} ms"
    return masking.make_printable(line.lstrip()) + "\n"
