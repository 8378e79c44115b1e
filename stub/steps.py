"""The stub's steps of a request; app.py lists them in their order."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast
from zlib import crc32

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue

from store import StoreUnavailable
from traffic.masking import Redactor, cut_text, make_printable
from web.problems import find_problem, list_reasons
from web.routing import PREFIX
from web.strict_json import JSONRequest

from .request.connection import ClientConnection
from .request.entry import (
    MAX_SENTENCE,
    REJECTED,
    STARTED,
    Applied,
    Entry,
    read_body,
    read_exchange,
)
from .request.faults import Fault, wait
from .request.outcome import Outcome, decide
from .request.paths import CONTROLS, is_preflight
from .request.promises import find_unpromised, find_violations
from .world.world import World
from .world.worlds import Visit, Worlds

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
        visit: Visit = bound(g).store
        world = visit.world
        if not received.environ["PATH_INFO"].startswith(PREFIX):
            return None
        contract, failures = self.common.contract, self.options.failures
        outcome = decide(received, world.faults, world.name, contract, failures)
        visit.outcome = outcome
        return outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, cut it short, record it, turn the clock on, and then delay it: in this
        order.
        """
        received = bound(request)
        visit: Visit | None = bound(g).get("store")
        if visit is None:
            return response
        outcome = visit.outcome
        if outcome is None:  # No fault could meet the request: it was rejected, or no operation.
            if not is_recorded(received):
                return response
            outcome = Outcome(self.common.contract.operation(received))
        world = visit.world
        problem = find_problem(response)
        applied = self._apply(response, received, world, outcome, problem)
        entry = self._describe(received, response, visit, outcome, applied, problem)
        visit.recorded = world.record(entry)
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
        problem: dict[str, Any] | None,
    ) -> Applied:
        """Give an error the form of a profile, vary the response, and cut it short."""
        forms = self.common.forms
        if forms and problem:
            forms.fill_error(response, problem, is_requested=outcome.response is not None)
        fault = outcome.fault
        status = response.status_code
        failures = self.options.failures
        if failures and outcome.operation and not fault and 200 <= status < 300:
            fault = failures.spoil(outcome.operation.id)
        if not received.environ["PATH_INFO"].startswith(PREFIX):
            return Applied(status)
        delay = self.options.delay
        axes = self._vary(response, received, world, outcome, fault)
        if fault:
            fault.change(response, ClientConnection(received.environ))
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
        from .grease.responses import vary  # most programs need none of this

        axes = vary(response, grease, ids, self.common.parts, outcome.operation, received)
        if axes and self.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        return axes

    def _describe(
        self,
        received: Request,
        response: Response,
        visit: Visit,
        outcome: Outcome,
        applied: Applied,
        problem: dict[str, Any] | None,
    ) -> Entry:
        """Describe a request and its response, with what the contract does not promise."""
        environ = received.environ
        redactor = self.common.redactor
        now, is_frozen = visit.world.clock.reading()
        started = environ[STARTED]
        # While the clock of a world is frozen, its requests take no time.
        seconds = 0.0 if is_frozen else time.perf_counter() - started + applied.delay
        exchange = read_exchange(received, response, redactor, now, seconds)
        operation = outcome.operation
        unpromised: list[str] = []
        violations: list[str] = []
        if operation is None or not visit.is_accepted:
            header = None if visit.is_accepted else environ.get("HTTP_AUTHORIZATION", "")
            target = f"{exchange.method} {exchange.path}"
            violations = find_violations(operation, header, target)
        elif exchange.request_body or environ["QUERY_STRING"]:
            document = cast(JSONRequest, received).document
            body = b"" if document else read_body(received)
            query = environ["QUERY_STRING"]
            if query:
                query = redactor.mask(query)  # Masked before it is decoded.
            unpromised = find_unpromised(operation, query, document, body)
        is_rejected = problem and response.status_code in REJECTED
        return Entry(
            exchange=exchange,
            applied=applied,
            operation=operation,
            redactor=redactor,
            started=started,
            is_requested=outcome.response is not None,
            code=problem["code"] if problem else None,
            reason=list_reasons(problem)[0] if problem and is_rejected else "",
            status_read=visit.status_read if exchange.method == "GET" else None,
            unpromised=mask_sentences(unpromised, redactor) if unpromised else (),
            violations=mask_sentences(violations, redactor) if violations else (),
        )

    def _wait(self, received: Request, applied: Applied) -> None:
        """Delay the response, until the client is gone."""
        if applied.delay:
            wait(applied.delay, ClientConnection(received.environ), self.sleep)


def mask_sentences(sentences: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    """Return these sentences, masked and shortened."""
    return tuple(shorten(make_printable(redactor.mask(each))) for each in sentences)


def shorten(sentence: str) -> str:
    """Cut a long sentence. A digest tells it from others that begin alike."""
    if len(sentence.encode()) <= MAX_SENTENCE:
        return sentence
    digest = crc32(sentence.encode())
    return f"{cut_text(sentence, MAX_SENTENCE)}…{digest:08x}"
