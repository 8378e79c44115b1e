"""The steps of the stub in a request. app.py lists them in their order."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import ClientDisconnected

from profiles.openapi import Operation
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
    mask_sentences,
    shorten_body,
)
from .world.world import Common, WorldState
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

# The paths of the stub, and the paths that browsers request by themselves (RFC 8615).
UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (paths.CONTROLS, "/.well-known/", "/apple-touch-icon")


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
    """Return the object behind a proxy of Flask. A proxy finds its object again for any attribute.

    This saves 14 % of the app's processor time of a POST.
    """
    return proxy._get_current_object()


class Steps:
    """The steps of a request."""

    def __init__(self, common: Common, cors: Cors, sleep: Callable[[float], None]) -> None:
        self.common = common
        self.options = common.options
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
        received = unwrap(request)
        environ = received.environ
        if not is_recorded(received):
            return None
        visit: Visit = unwrap(g).store
        world = visit.world
        if not environ["PATH_INFO"].startswith(routing.PREFIX):
            return None
        operation = self.common.contract.operation(received)
        failures = self.options.failures
        if world.faults.waiting or failures or "HTTP_PREFER" in environ:
            from .request.outcome import decide  # Many programs need none of this.

            contract = self.common.contract
            outcome = decide(received, operation, world.faults, world.name, contract, failures)
        else:
            outcome = faults.Outcome(operation)
        visit.outcome = outcome
        return outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, apply a fault, record it, advance the clock, and delay it."""
        received = unwrap(request)
        visit: Visit | None = unwrap(g).get("store")
        if visit is None:
            return response
        outcome = visit.outcome
        if outcome is None:  # The request was rejected, or its path is not below /v1.
            if not is_recorded(received):
                return response
            outcome = faults.Outcome(self.common.contract.operation(received))
        world = visit.world
        problem = problems.find_problem(response) if response.status_code >= 400 else None
        applied = self._apply(response, received, world, outcome, problem)
        entry = self._describe(received, response, visit, outcome, applied, problem)
        visit.recorded = world.record(entry)
        tick = world.clock.setting.tick
        if tick and entry.status_read:
            with suppress(StoreUnavailable):  # The next read advances the clock.
                world.clock.change(tick)
        if applied.delay:
            faults.wait(applied.delay, received.environ, self.sleep)
        return response

    def _apply(
        self,
        response: Response,
        received: Request,
        world: WorldState,
        outcome: faults.Outcome,
        problem: dict[str, Any] | None,
    ) -> Applied:
        """Give an error the form of a profile, vary the response, and apply the fault."""
        forms = self.common.forms
        if forms and problem:
            forms.fill_error(response, problem, is_requested=outcome.response is not None)
        fault = outcome.fault
        status = response.status_code
        failures = self.options.failures
        if failures and outcome.operation and not fault and 200 <= status < 300:
            fault = failures.spoil(outcome.operation.id)
        if not received.environ["PATH_INFO"].startswith(routing.PREFIX):
            return Applied(status)
        delay = self.options.delay
        axes = self._vary(response, received, world, outcome, fault)
        if fault:
            fault.change(response, received.environ)
            delay += fault.delay or 0.0
        return Applied(status if response.status_code else 0, fault, axes, delay)

    def _vary(
        self,
        response: Response,
        received: Request,
        world: WorldState,
        outcome: faults.Outcome,
        fault: faults.Fault | None,
    ) -> tuple[str, ...]:
        """Vary the response by the grease of its world, unless a fault has its own body.

        Return the axes: `("members", "times")`.
        """
        grease = world.grease.current
        ids = world.ids
        if not grease.parts and not ids.are_varied:  # An id stays varied when its axis is off.
            return ()
        if fault and (fault.has_own_body or fault.drop):
            return ()
        from .grease.responses import vary  # Most programs need none of this.

        axes = vary(response, grease, ids, self.common.parts, outcome.operation, received)
        if axes and self.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        return axes

    def _describe(
        self,
        received: Request,
        response: Response,
        visit: Visit,
        outcome: faults.Outcome,
        applied: Applied,
        problem: dict[str, Any] | None,
    ) -> Entry:
        """Describe a request and its response, with its unpromised parts and its violations."""
        environ = received.environ
        operation = outcome.operation
        exchange = self._read_exchange(received, response, visit.world, applied.delay)
        unpromised: list[str] = []
        violations: list[str] = []
        if operation is None or not visit.is_accepted:
            header = None if visit.is_accepted else environ.get("HTTP_AUTHORIZATION", "")
            target = f"{exchange.method} {exchange.path}"
            violations = promises.find_violations(operation, header, target)
        elif exchange.request_body or environ["QUERY_STRING"]:
            unpromised = self._find_unpromised(received, operation)
        redactor = self.common.redactor
        is_rejected = problem and response.status_code in REJECTED
        return Entry(
            exchange=exchange,
            applied=applied,
            operation=operation,
            redactor=redactor,
            started=environ[STARTED],
            is_requested=outcome.response is not None,
            code=problem["code"] if problem else None,
            reason=problems.list_reasons(problem)[0] if problem and is_rejected else "",
            status_read=visit.status_read if exchange.method == "GET" else None,
            unpromised=mask_sentences(unpromised, redactor) if unpromised else (),
            violations=mask_sentences(violations, redactor) if violations else (),
        )

    def _read_exchange(
        self, received: Request, response: Response, world: WorldState, delay: float
    ) -> Exchange:
        """Read a request and its response, with as much of the bodies as an entry keeps."""
        environ = received.environ
        now, is_frozen = world.clock.read()
        # While the clock of a world is frozen, its requests take no time.
        seconds = 0.0 if is_frozen else time.perf_counter() - environ[STARTED] + delay
        pieces: Any = response.response
        is_sent = environ["REQUEST_METHOD"] != "HEAD"
        sent = b"".join(pieces) if is_sent else b""
        return Exchange(
            method=environ["REQUEST_METHOD"],
            target=routing.read_target(environ),
            request_fields=read_fields(environ),
            request_body=self._keep(read_body(received)),
            status=response.status_code,
            response_fields=response.headers,
            response_body=self._keep(sent),
            time=now,
            ms=seconds * 1000,
        )

    def _keep(self, body: bytes) -> bytes:
        return body if len(body) <= MAX_KEPT else shorten_body(body, self.common.redactor)

    def _find_unpromised(self, received: Request, operation: Operation) -> list[str]:
        """Find the parts of a request that the contract does not promise."""
        query = received.environ["QUERY_STRING"]
        if query:
            query = self.common.redactor.mask(query)  # It is masked before it is decoded.
        document = cast(JSONRequest, received).document
        body = b"" if document else read_body(received)
        return promises.find_unpromised(operation, query, document, body)


def read_body(received: Request) -> bytes:
    """Return the body of a request. It is empty if the client closed the connection before."""
    if "CONTENT_LENGTH" in received.environ:
        with suppress(ClientDisconnected, OSError):
            return received.get_data()
    return b""
