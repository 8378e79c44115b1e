"""The stub's steps of a request; app.py lists them in their order."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import ClientDisconnected

from store import StoreUnavailable
from traffic.masking import Redactor, cut, printable
from web.problems import reasons
from web.routing import OPERATIONS

from .connection import Connection
from .contract import find_unpromised, find_violations
from .entry import (
    MAX_SENTENCE,
    MAX_SENTENCES,
    REJECTED,
    STARTED,
    Applied,
    Entry,
    keep_body,
)
from .faults import Fault, wait
from .grease.responses import vary
from .outcome import Outcome, decide
from .paths import CONTROLS, is_preflight, shown_path
from .world import World
from .worlds import Visit, Worlds

# The stub's own paths, and those that browsers request by themselves (RFC 8615).
UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (CONTROLS, "/.well-known/", "/apple-touch-icon")


def with_start(wsgi_app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Middleware that notes when a request began.

    A receiver of the signal `request_started` would take 10 % of the processor time of a GET.
    """

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[STARTED] = time.perf_counter()
        return wsgi_app(environ, start_response)

    return call


def is_recorded(request: Request) -> bool:
    """Whether a request is for the interface, or tries to be."""
    path = request.environ["PATH_INFO"]
    if path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES):
        return False
    return not is_preflight(request)


def bound(proxy: Any) -> Any:
    """The object behind a proxy of Flask's, which looks it up for each attribute.

    Saves 14 % of the app's processor time of a POST.
    """
    return proxy._get_current_object()


class Steps:
    """The steps, and what they work on."""

    def __init__(self, worlds: Worlds, sleep: Callable[[float], None]) -> None:
        self.worlds = worlds
        self.sleep = sleep
        self.common = worlds.common
        self.options = worlds.common.options

    def enter(self) -> ResponseReturnValue | None:
        """Open the world of the request, and decide what a fault or `Prefer` does to it; respond,
        if one does.
        """
        received = bound(request)
        if not is_recorded(received):
            return None
        context = bound(g)
        visit: Visit = context.store
        world = visit.world
        if not received.environ["PATH_INFO"].startswith(OPERATIONS):
            return None
        outcome = decide(received, world, self.common.contract, self.options.failures)
        context.outcome = outcome
        return outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, cut it short, record it, turn the clock on, and then delay it: in this
        order.
        """
        received = bound(request)
        context = vars(bound(g))
        outcome: Outcome | None = context.get("outcome")
        if outcome is None:
            if not is_recorded(received):
                return response
            outcome = Outcome(self.common.contract.operation(received))  # of a rejected request
        visit: Visit = context["store"]
        world = visit.world
        applied = self._apply(response, received, world, outcome, context)
        entry = self._describe(received, response, world, outcome, applied, context)
        context["recorded"] = world.record(entry)
        tick = world.clock.tick
        if tick and entry.status_read:
            with suppress(StoreUnavailable):  # the response is right; the next read turns it on
                world.clock.change(tick)
        self._wait(received, applied)
        return response

    def _apply(
        self,
        response: Response,
        received: Request,
        world: World,
        outcome: Outcome,
        context: Mapping[str, Any],
    ) -> Applied:
        """Give an error the form of a profile, vary the response, and cut it short."""
        forms = self.common.forms
        problem = context.get("problem")
        if forms and problem:
            forms.fill_error(response, problem, is_requested=outcome.response is not None)
        fault = outcome.fault
        status = response.status_code
        failures = self.options.failures
        if failures and outcome.operation and not fault and 200 <= status < 300:
            fault = failures.spoil(outcome.operation.id)
        if not received.environ["PATH_INFO"].startswith(OPERATIONS):
            return Applied(status)
        delay = self.options.delay
        axes = self._vary(response, received, world, outcome, fault)
        if fault:
            fault.change(response, Connection(received.environ))
            delay += fault.delay or 0.0
        return Applied(status if response.status_code else 0, fault, axes, delay)

    def _vary(
        self,
        response: Response,
        received: Request,
        world: World,
        outcome: Outcome,
        fault: Fault | None,
    ) -> tuple[str, ...]:
        """Vary the response along the grease of its world, unless its body is that of a fault."""
        grease = world.grease.current
        ids = world.ids
        if not grease.parts and not ids.are_varied:  # an id stays varied when its axis is off
            return ()
        if fault and (fault.has_own_body or fault.drop):
            return ()
        axes = vary(response, grease, ids, self.common.parts, outcome.operation, received)
        if axes and self.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        return axes

    def _describe(
        self,
        received: Request,
        response: Response,
        world: World,
        outcome: Outcome,
        applied: Applied,
        context: Mapping[str, Any],
    ) -> Entry:
        """The entry of a request and its response."""
        environ = received.environ
        visit: Visit = context["store"]
        redactor = self.common.redactor
        method = environ["REQUEST_METHOD"]
        kept = {key: value for key, value in environ.items() if type(value) is str}
        body = b""
        if "CONTENT_LENGTH" in environ:
            with suppress(ClientDisconnected, OSError):
                body = received.get_data()
        pieces: Any = response.response
        sent = b"" if method == "HEAD" else keep_body(b"".join(pieces), redactor)
        operation = outcome.operation
        unpromised: tuple[str, ...] = ()
        violations: tuple[str, ...] = ()
        if operation is None or not visit.is_accepted:
            header = None if visit.is_accepted else environ.get("HTTP_AUTHORIZATION", "")
            target = f"{received.method} {shown_path(environ)}"
            violations = masked(find_violations(operation, header, target), redactor)
        elif body or environ.get("QUERY_STRING"):
            query = redactor.text(environ.get("QUERY_STRING", ""))  # before it is decoded
            found = find_unpromised(operation, query, context.get("document"), body)
            unpromised = masked(found, redactor)
        problem = context.get("problem")
        reason = reasons(problem)[0] if problem and response.status_code in REJECTED else ""
        now, is_frozen = world.clock.reading()
        started = environ[STARTED]
        return Entry(
            redactor,
            started,
            now,
            0 if is_frozen else (time.perf_counter() - started + applied.delay) * 1000,
            kept,
            keep_body(body, redactor),
            response.status_code,
            response.headers,
            sent,
            problem["code"] if problem else None,
            reason,
            operation,
            outcome.response is not None,
            applied,
            visit.status_read if method == "GET" else None,
            unpromised,
            violations,
        )

    def _wait(self, received: Request, applied: Applied) -> None:
        """Delay the response, until the client is gone."""
        if applied.delay:
            wait(applied.delay, Connection(received.environ), self.sleep)


def masked(sentences: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    """The first of these sentences, each cut."""
    found = islice(sentences, MAX_SENTENCES)
    return tuple(cut(printable(redactor.text(each)), MAX_SENTENCE) for each in found)
