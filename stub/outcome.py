"""What a fault, `Prefer` or `--delay` do to a request: decided before the view."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.request import parse_http_list

from flask import Request, Response, current_app
from flask.typing import ResponseReturnValue

from web.problems import FieldError, Problem

from .contract import Contract, Operation
from .faults import Fault, Faults

REQUESTED = "This response was requested with `Prefer` or `/_stub/faults`."


class Outcome(NamedTuple):
    """`operation` is the one that the request is for, `problem` the response that was requested in
    place of the view's, and `delay` the seconds by which the response is late.
    """

    operation: Operation | None = None
    problem: Problem | None = None
    fault: Fault | None = None
    delay: float = 0.0

    @property
    def has_own_body(self) -> bool:
        """Whether a fault has a body in place of the problem document."""
        return self.fault is not None and self.fault.body is not None

    def respond(self) -> ResponseReturnValue | None:
        """The fault's own body as a response, or None for the view's; else raises the problem."""
        if self.problem is None:
            return None
        if self.fault is None or self.fault.body is None:
            raise self.problem
        content_type = self.fault.content_type or "text/plain; charset=utf-8"
        headers = {"Content-Type": content_type, "Cache-Control": "no-store"}
        return self.fault.body, self.fault.status or 500, headers | self.problem.headers


def decide(request: Request, faults: Faults, contract: Contract, delay: float) -> Outcome:
    """The outcome of a request to `/v1`. A fault that matches it is used up."""
    operation = contract.operation(request)
    name = operation.id if operation else None
    fault = faults.take(name, request.method, request.path) if faults.waiting else None
    if fault:
        problem = requested_problem(request, fault.status, contract, {}) if fault.status else None
        return Outcome(operation, problem, fault, delay + (fault.delay or 0.0))
    prefer = request.environ.get("HTTP_PREFER")
    status = preferred_status(prefer) if prefer else None
    if status is None:
        return Outcome(operation, delay=delay)
    example = contract.problem(operation, status) or {}
    problem = requested_problem(request, status, contract, example)
    problem.headers["Preference-Applied"] = f"code={status}"
    if status == 503:
        problem.headers["Retry-After"] = "1"
    return Outcome(operation, problem, delay=delay)


def requested_problem(
    request: Request, status: int, contract: Contract, example: dict[str, Any]
) -> Problem:
    """A problem with the headers of a real one, and with code and errors of an example."""
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = contract.challenge
    if status == 405:
        methods = current_app.url_map.bind("").allowed_methods(request.path)
        if methods:
            headers["Allow"] = ", ".join(sorted(methods))
    code = example.get("code", "injected_fault")
    errors = [FieldError(**error) for error in example.get("errors", ())]
    return Problem(status, code, REQUESTED, headers=headers, errors=errors)


def preferred_status(prefer: str) -> int | None:
    """The status that `Prefer: code=…` names (RFC 7240 §2): the first `code` counts."""
    for preference in parse_http_list(prefer):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "code":
            status = re.fullmatch(r"""("?)([45][0-9][0-9])\1""", value.strip())
            return int(status[2]) if status else None
    return None


def carry_out(
    outcome: Outcome,
    response: Response,
    sleep: Callable[[float], None],
    close: Callable[[], None] | None,
) -> None:
    """Delay a response, and cut it short; `close` ends the connection after it."""
    fault = outcome.fault
    if outcome.delay:
        sleep(outcome.delay)
    if fault and fault.cut is not None:
        body = response.get_data()
        response.headers["Content-Length"] = str(len(body))
        response.response = [body[: fault.cut]]
        if close:
            close()
