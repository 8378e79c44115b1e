"""The stub's steps of a request; app.py lists them in their order."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue

from profiles.service import Responses
from web.routing import OPERATIONS

from .access_log import world_name
from .connection import Connection
from .cors import is_preflight
from .coverage import first_of
from .entry import describe, request_name
from .faults import Fault, stall
from .grease.responses import vary
from .outcome import Outcome, decide
from .paths import is_recorded
from .world import World
from .worlds import Worlds


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
        self.delays = Random(self.options.delay_seed)

    def enter_world(self) -> None:
        """Open the world of the request."""
        if is_recorded(bound(request).environ["PATH_INFO"]):
            context = bound(g)
            context.world = context.store.world

    def decide_outcome(self) -> ResponseReturnValue | None:
        """Decide what a fault or `Prefer` does to the request; respond, if it does."""
        received = bound(request)
        if not received.environ["PATH_INFO"].startswith(OPERATIONS) or is_preflight(received):
            return None
        context = bound(g)
        faults = context.world.faults
        failures = self.options.failures
        outcome = decide(received, faults, self.common.contract, failures, str(context.store.name))
        context.outcome = outcome
        return outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, cut it short, record it, and then delay it: in this order."""
        received = bound(request)
        path = received.environ["PATH_INFO"]
        if not is_recorded(path) or is_preflight(received):
            return response
        common = self.common
        context = vars(bound(g))
        outcome: Outcome | None = context.get("outcome")
        if outcome is None:  # the request was rejected
            outcome = Outcome(common.contract.operation(received))
        world = self._world_of(context)
        if common.responses:
            dress(response, context, common.responses, outcome)
        failures = self.options.failures
        attempt = outcome.attempt
        if failures and attempt:
            outcome.fault = failures.confirm(attempt, response, outcome.fault)
        outcome.status = response.status_code
        if path.startswith(OPERATIONS):
            outcome.delay = self.delays.uniform(*self.options.delay)
            self._vary(response, received, world, outcome)
        if outcome.fault:
            apply_fault(outcome.fault, response, received, outcome)
        entry = describe(received, response, context, outcome, world.clock, common.redactor)
        number = world.record(entry)
        log_name = request_name(world.name, number)
        context.update(entry=entry, number=number, log_name=log_name, log_notes=notes_of(outcome))
        self.worlds.memory.add(entry.size)
        closed_after = self._wait(received, outcome)
        if failures and attempt:
            if outcome.fault:
                attempt.first = first_of(world.name, number, entry)
            failures.end(attempt, closed_after)
        return response

    def _world_of(self, context: Mapping[str, Any]) -> World:
        """The world that a request entered; of one that was rejected, the one that it meant."""
        if "world" in context:
            world: World = context["world"]
            return world
        return self.worlds.intended(world_name(context))

    def _vary(self, response: Response, received: Request, world: World, outcome: Outcome) -> None:
        """Vary the response along the grease of its world, unless its body is that of a fault."""
        grease = world.grease.current
        ids = world.ids
        if not grease.parts and not ids.are_varied:  # an id stays varied when its axis is off
            return
        fault = outcome.fault
        if fault and (fault.body is not None or fault.drop):
            return
        axes = vary(response, grease, ids, self.common.parts, outcome.operation, received)
        if axes and self.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        outcome.axes = axes

    def _wait(self, received: Request, outcome: Outcome) -> float | None:
        """Delay the response. Return after how many seconds the client had closed, if it had."""
        stalled = outcome.fault and outcome.fault.stall
        if not outcome.delay and not stalled:
            return None
        connection = Connection(received.environ)
        with connection.waiting():
            if outcome.delay:
                self.sleep(outcome.delay)
            return stall(stalled, connection) if stalled else None


def apply_fault(fault: Fault, response: Response, received: Request, outcome: Outcome) -> None:
    """Cut the response short or drop it, and note its delay."""
    fault.change(response, Connection(received.environ))
    outcome.delay += fault.delay or 0.0
    if response.status_code == 0:
        outcome.status = 0


def dress(
    response: Response, context: Mapping[str, Any], responses: Responses, outcome: Outcome
) -> None:
    """Give a response what the service has beside the body of a success, or for an error."""
    problem = context.get("problem")
    if problem:
        responses.dress_error(response, problem, is_requested=outcome.response is not None)
    elif outcome.operation and outcome.response is None:
        responses.replies[outcome.operation.id].dress(response, context["subject"])


def notes_of(outcome: Outcome) -> list[str]:
    """The notes of the log about what was done to a request on purpose."""
    notes = []
    fault = outcome.fault
    if fault:
        notes.append(f"fault {fault.id}")
        if fault.drop:
            notes.append("dropped")
    if outcome.axes:
        notes.append(f"grease {','.join(outcome.axes)}")
    return notes
