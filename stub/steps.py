"""The stub's steps of a request: `create_app` lists them in their order."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, g, request
from flask.typing import ResponseReturnValue

from web.redaction import Redactor
from web.routing import CONTROLS, OPERATIONS

from .contract import Contract
from .cors import is_preflight
from .entry import describe, request_name
from .failures import UNAVAILABLE, Failures, UnavailableStore
from .grease.parts import Parts
from .grease.responses import vary
from .outcome import Outcome, carry_out, decide
from .worlds import World, Worlds

# The stub's own paths, and those that browsers request by themselves (RFC 8615).
UNRECORDED_PATHS = {"/", "/_stub", "/openapi.json", "/llms.txt", "/favicon.ico"}
UNRECORDED_PREFIXES = (CONTROLS, "/.well-known/", "/apple-touch-icon")


def bound(proxy: Any) -> Any:
    """The object behind a proxy of Flask's, which looks it up for each attribute.

    Saves 14 % of the app's processor time of a POST.
    """
    return proxy._get_current_object()


@dataclass(frozen=True)
class Steps:
    """The steps, and what they work on. `draw_delay` returns the seconds of the next `--delay`."""

    worlds: Worlds
    contract: Contract
    parts: Parts
    redactor: Redactor
    sleep: Callable[[float], None]
    draw_delay: Callable[[], float]
    failures: Failures | None
    max_projects: int

    def enter_world(self) -> None:
        """Find the world of the token, whose store is the request's."""
        if is_recorded(bound(request).environ["PATH_INFO"]):
            context = bound(g)
            context.world = world = self.worlds.open(context.world_name)
            context.store = world.store

    def decide_outcome(self) -> ResponseReturnValue | None:
        """Decide what a fault, `Prefer` or `--delay` do to the request; respond, if they do.

        A request that was rejected before this step gets its delay in `finish`.
        """
        received = bound(request)
        if received.environ["PATH_INFO"].startswith(OPERATIONS):
            context = bound(g)
            faults = context.world.faults
            outcome = decide(received, faults, self.contract, self.draw_delay())
            context.outcome = outcome
            if self.failures and outcome.operation:
                self._attempt(self.failures, outcome, outcome.operation.id)
            return outcome.respond()
        return None

    def _attempt(self, failures: Failures, outcome: Outcome, operation: str) -> None:
        """Count a request of a probe; one without a fault of the tests may meet a failure."""
        context = bound(g)
        attempt = failures.arrive(bound(request), operation, context.world_name)
        if not (outcome.fault or outcome.problem):
            context.attempt = attempt
            if failures.name == UNAVAILABLE:
                claim = partial(failures.claim, attempt)
                context.store = UnavailableStore(context.store, self.max_projects, claim)

    def finish(self, response: Response) -> Response:
        """Vary the response, record it, and then delay it or cut it short: in this order."""
        received, context = bound(request), vars(bound(g))
        path = received.environ["PATH_INFO"]
        if not is_recorded(path) or (received.method == "OPTIONS" and is_preflight(received)):
            return response
        outcome: Outcome | None = context.get("outcome")
        if outcome is None:  # rejected before it was decided, or not for /v1
            delay = self.draw_delay() if path.startswith(OPERATIONS) else 0.0
            outcome = Outcome(self.contract.operation(received), delay=delay)
        world: World = context.get("world") or self.worlds.intended(
            context.get("intended_world_name", "")
        )
        if response.status_code == 201:
            response.status_code = self.parts.like.get("creation_status", 201)
        attempt, failure = context.get("attempt"), None
        if self.failures and attempt and (failure := self.failures.fault(attempt, response)):
            outcome = outcome._replace(fault=failure)
        status = response.status_code
        axes: tuple[str, ...] = ()
        # An id stays varied when its axis is off.
        is_read = world.grease.current.parts or world.ids.are_varied or self.parts.like
        if is_read and not outcome.has_own_body:
            axes = vary(response, world, self.parts, outcome.operation, received)
        if outcome.fault and outcome.fault.retry_after is not None:
            response.headers["Retry-After"] = str(outcome.fault.retry_after)
        ms = (time.perf_counter() - context["started"] + outcome.delay) * 1000
        entry = describe(received, response, context, outcome, axes, world.clock, ms, self.redactor)
        deployment_status = context.get("deployment_status") if received.method == "GET" else None
        counted = (entry.operation, status, deployment_status)
        number = world.record(entry, counted, is_forced=outcome.problem is not None)
        self.worlds.make_room(entry.size)
        context["log_name"] = request_name(world.name, number)
        context["log_notes"] = notes_of(entry.fault, axes)
        if outcome.fault or outcome.delay:
            carry_out(outcome, response, self.sleep, received.environ.get("server.close"))
        if self.failures and failure:
            self.failures.carry_out(attempt, received.environ, self.sleep)
        return response


def is_recorded(path: str) -> bool:
    """Whether a request to this path is for the interface, or tries to be."""
    return not (path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES))


def notes_of(fault: str | None, axes: Sequence[str]) -> list[str]:
    """What the log says that was done to a request on purpose."""
    return [*([f"fault {fault}"] if fault else []), *([f"grease {','.join(axes)}"] if axes else [])]
