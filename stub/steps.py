"""The steps of the stub in a request. app.py lists them in their order."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, cast

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import ClientDisconnected

from store import StoreUnavailable
from traffic.exchange import Exchange, read_fields
from web import problems, routing
from web.strict_json import JSONRequest

from .console import CONSOLE_PATHS
from .cors import Cors
from .request import faults, paths, promises
from .request.entry import (
    MAX_KEPT,
    REJECTED,
    STARTED,
    Applied,
    Entry,
    shorten_body,
)
from .world.world import Shared
from .world.worlds import Visit

OPEN_PATHS = {
    "/openapi.json",
    "/llms.txt",
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *CONSOLE_PATHS,
}
"""The paths that need no token: they hold no data."""

UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (paths.CONTROLS, "/.well-known/", "/apple-touch-icon")
"""The journal leaves out control requests, and requests that browsers send by themselves."""


def time_requests(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Wrap an app so that the environment has the time at which a request began.

    A receiver of Flask's signal `request_started` would take 10 % of the processor time of a GET.
    """

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[STARTED] = time.perf_counter()
        return wsgi_app(environ, start_response)

    return call


def is_recorded(request: Request) -> bool:
    """Return whether the journal records a request. `/_stub/clock` and preflights are left out."""
    environ = request.environ
    path = environ["PATH_INFO"]
    if path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES):
        return False
    return environ["REQUEST_METHOD"] != "OPTIONS" or not paths.is_preflight(request)


def unwrap(proxy: Any) -> Any:
    """Return the object behind a proxy of Flask. A proxy looks it up again for each attribute.

    This saves 14 % of the app's processor time of a POST.
    """
    return proxy._get_current_object()


class Call(NamedTuple):
    """A request to record, with its response. The steps after the view share it."""

    request: Request
    response: Response
    visit: Visit
    outcome: faults.Outcome
    problem: dict[str, Any] | None


class Steps:
    """The steps of a request."""

    def __init__(self, shared: Shared, cors: Cors, sleep: Callable[[float], None]) -> None:
        self.shared = shared
        self.options = shared.options
        self.cors = cors
        self.sleep = sleep

    def is_open(self, request: Request) -> bool:
        """Return whether a request needs no token, for example the preflight of an allowed page."""
        environ = request.environ  # It is quicker than the attributes of the request.
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return environ["PATH_INFO"] in OPEN_PATHS
        return self.cors.is_on and self.cors.allows_preflight(request)

    def enter(self) -> ResponseReturnValue | None:
        """Open the world of the request, and decide its outcome.

        Return the response that a fault or `Prefer` requests, or None.
        """
        current: Request = unwrap(request)
        environ = current.environ
        if not environ["PATH_INFO"].startswith(routing.PREFIX) or not is_recorded(current):
            return None
        visit: Visit = unwrap(g).store
        world = visit.world  # It is opened here. A reset does not change it for this request.
        contract = self.shared.contract
        operation = contract.operation(current)
        planned = self.options.planned_faults
        if world.faults.waiting or planned or "HTTP_PREFER" in environ:
            from .request.outcome import decide_outcome

            visit.outcome = decide_outcome(
                current, operation, world.faults, world.name, contract, planned
            )
        else:
            visit.outcome = faults.Outcome(operation)
        return visit.outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, apply a fault, record it, advance the clock, and delay it.

        `explain_rejection` in app.py makes the visit of a rejected request.
        """
        current: Request = unwrap(request)
        visit: Visit | None = unwrap(g).get("store")
        if visit is None:
            return response
        outcome = visit.outcome
        if outcome is None:  # The request was rejected, or its path is not below /v1.
            if not is_recorded(current):
                return response
            outcome = faults.Outcome(self.shared.contract.operation(current))
        problem = problems.find_problem(response) if response.status_code >= 400 else None
        call = Call(current, response, visit, outcome, problem)
        applied = self._apply(call)
        entry = self._describe(call, applied)
        world = visit.world
        visit.recorded = world.record(entry)
        tick = world.clock.setting.tick
        if tick and entry.status_read:
            with suppress(StoreUnavailable):  # The next read advances the clock.
                world.clock.change(tick)
        if applied.delay:
            faults.wait(applied.delay, current.environ, self.sleep)
        return response

    def _apply(self, call: Call) -> Applied:
        """Give an error the form of a profile, vary the response, and apply the fault."""
        environ = call.request.environ
        response = call.response
        outcome = call.outcome
        forms = self.shared.forms
        if forms and call.problem:
            is_requested = outcome.response is not None
            forms.fill_error(response, call.problem, is_requested=is_requested)
        status = response.status_code
        if not environ["PATH_INFO"].startswith(routing.PREFIX):
            return Applied(status)
        fault = outcome.fault
        planned = self.options.planned_faults
        if planned and outcome.operation and not fault and 200 <= status < 300:
            fault = planned.spoil(outcome.operation.id)
        delay = self.options.delay
        axes = self._vary(call, fault)
        if fault:
            fault.change(response, environ)
            delay += fault.delay or 0.0
            if fault.skips_operation:
                status = 0
        return Applied(status, fault, axes, delay)

    def _vary(self, call: Call, fault: faults.Fault | None) -> tuple[str, ...]:
        """Vary the response by the grease of its world, unless a fault has its own body.

        Return the axes: `("members", "times")`.
        """
        world = call.visit.world
        grease = world.grease.current
        may_vary = grease.parts or world.ids.are_varied  # An id stays varied without its axis.
        has_fault_body = fault and (fault.has_own_body or fault.drop)
        if not may_vary or has_fault_body:
            return ()
        from .grease.responses import vary

        response = call.response
        operation = call.outcome.operation
        axes = vary(response, grease, world.ids, self.shared.parts, operation, call.request)
        if axes and self.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        return axes

    def _describe(self, call: Call, applied: Applied) -> Entry:
        """Describe a call, with its unpromised parts and its violations."""
        environ = call.request.environ
        visit = call.visit
        problem = call.problem
        operation = call.outcome.operation
        exchange = self._read_exchange(call, applied.delay)
        redactor = self.shared.redactor
        unpromised: tuple[str, ...] = ()
        violations: tuple[str, ...] = ()
        if operation is None or not visit.is_accepted:
            header = None if visit.is_accepted else environ.get("HTTP_AUTHORIZATION", "")
            target = f"{exchange.method} {exchange.path}"
            violations = promises.find_violations(operation, header, target, redactor)
        elif exchange.request_body or environ["QUERY_STRING"]:
            query = environ["QUERY_STRING"]
            document = cast(JSONRequest, call.request).document
            body = b"" if document else read_body(call.request)
            unpromised = promises.find_unpromised(operation, query, document, body, redactor)
        reason = ""
        if problem and call.response.status_code in REJECTED:
            reason = problems.list_reasons(problem)[0]
        return Entry(
            exchange=exchange,
            applied=applied,
            operation=operation,
            redactor=redactor,
            started=environ[STARTED],
            is_requested=call.outcome.response is not None,
            code=problem["code"] if problem else None,
            reason=reason,
            status_read=visit.status_read if exchange.method == "GET" else None,
            unpromised=unpromised,
            violations=violations,
        )

    def _read_exchange(self, call: Call, delay: float) -> Exchange:
        """Read a request and its response, with as much of the bodies as an entry keeps."""
        environ = call.request.environ
        response = call.response
        now, is_frozen = call.visit.world.clock.read()
        # While the clock of a world is frozen, its requests take no time.
        seconds = 0.0 if is_frozen else time.perf_counter() - environ[STARTED] + delay
        pieces: Any = response.response
        is_sent = environ["REQUEST_METHOD"] != "HEAD"
        sent = b"".join(pieces) if is_sent else b""
        return Exchange(
            method=environ["REQUEST_METHOD"],
            target=routing.read_target(environ),
            request_fields=read_fields(environ),
            request_body=self._keep(read_body(call.request)),
            status=response.status_code,
            response_fields=response.headers,
            response_body=self._keep(sent),
            time=now,
            ms=seconds * 1000,
        )

    def _keep(self, body: bytes) -> bytes:
        return body if len(body) <= MAX_KEPT else shorten_body(body, self.shared.redactor)


def read_body(request: Request) -> bytes:
    """Return the body of a request. It is empty if the client closed the connection before."""
    if "CONTENT_LENGTH" in request.environ:
        with suppress(ClientDisconnected, OSError):
            return request.get_data()
    return b""
