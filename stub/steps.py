"""The stub's steps of a request: `create_app` lists them in their order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Request, Response, g, request
from flask.typing import ResponseReturnValue

from web.routing import CONTROLS, OPERATIONS

from .cors import is_preflight
from .coverage import first_of
from .entry import describe, request_name
from .faults import stall
from .grease.responses import vary
from .like.service import Responses
from .outcome import Outcome, decide
from .worlds import Stub, World

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
    """The steps, and what they work on."""

    stub: Stub

    def enter_world(self) -> None:
        """Find the world of the token, whose store is the request's."""
        if not is_recorded(bound(request).environ["PATH_INFO"]):
            return
        context = bound(g)
        world = self.stub.open(context.world_name)
        context.world = world
        context.store = world.service

    def decide_outcome(self) -> ResponseReturnValue | None:
        """Decide what a fault or `Prefer` does to the request; respond, if it does."""
        received, context, stub = bound(request), bound(g), self.stub
        if not received.environ["PATH_INFO"].startswith(OPERATIONS):
            return None
        faults, failures = context.world.faults, stub.options.failures
        outcome = decide(received, faults, stub.contract, failures, context.world_name)
        context.outcome = outcome
        return outcome.response

    def finish(self, response: Response) -> Response:
        """Vary the response, cut it short, record it, and then delay it: in this order."""
        received, context, stub = bound(request), vars(bound(g)), self.stub
        path = received.environ["PATH_INFO"]
        if not is_recorded(path) or (received.method == "OPTIONS" and is_preflight(received)):
            return response
        # A request that was rejected has no outcome, and perhaps no world.
        outcome: Outcome = context.get("outcome") or Outcome(stub.contract.operation(received))
        world: World = context.get("world") or stub.intended(context.get("intended_world_name", ""))
        if stub.responses:
            dress(response, context, stub.responses, outcome)
        attempt, failures = outcome.attempt, stub.options.failures
        if attempt and failures:
            outcome.fault = failures.confirm(attempt, response, outcome.fault)
        outcome.status = response.status_code
        if path.startswith(OPERATIONS):
            outcome.delay = stub.delays.uniform(*stub.options.delay)
            # An id stays varied when its axis is off.
            if world.grease.current.parts or world.ids.are_varied:
                self._vary(response, received, world, outcome)
        fault = outcome.fault
        if fault:
            fault.change(response, received.environ)
            outcome.delay += fault.delay or 0.0
            if response.status_code == 0:
                outcome.status = 0
        entry = describe(received, response, context, outcome, world.clock, stub.redactor)
        number = world.record(entry)
        context["log_name"] = request_name(world.name, number)
        context["log_notes"] = notes_of(outcome)
        stub.make_room(entry.size)
        if outcome.delay:
            stub.options.sleep(outcome.delay)
        closed_after = None
        if fault and fault.stall:
            closed_after = stall(fault.stall, received.environ)
        if attempt and failures:
            if fault:
                attempt.first = first_of(world.name, number, entry)
            failures.end(attempt, closed_after)
        return response

    def _vary(self, response: Response, received: Request, world: World, outcome: Outcome) -> None:
        """Vary the response along the grease of its world, unless its body is that of a fault."""
        fault, stub = outcome.fault, self.stub
        if fault and (fault.body is not None or fault.drop):
            return
        grease = world.grease.current
        axes = vary(response, grease, world.ids, stub.parts, outcome.operation, received)
        if axes and stub.options.announces_grease:
            response.headers["Stub-Grease"] = f"seed={grease.seed}; axes={','.join(axes)}"
        outcome.axes = axes


def dress(
    response: Response, context: Mapping[str, Any], responses: Responses, outcome: Outcome
) -> None:
    """Give a response what the service has beside the body of a success, or for an error."""
    problem = context.get("problem")
    if problem:
        responses.dress_error(response, problem, is_requested=outcome.response is not None)
    elif outcome.operation and outcome.response is None:
        responses.dress_success(response, outcome.operation.id)


def is_recorded(path: str) -> bool:
    """Whether a request to this path is for the interface, or tries to be."""
    return not (path in UNRECORDED_PATHS or path.startswith(UNRECORDED_PREFIXES))


def notes_of(outcome: Outcome) -> list[str]:
    """What the log says that was done to a request on purpose."""
    notes = []
    if outcome.fault:
        notes.append(f"fault {outcome.fault.id}")
        if outcome.fault.drop:
            notes.append("dropped")
    if outcome.axes:
        notes.append(f"grease {','.join(outcome.axes)}")
    return notes
