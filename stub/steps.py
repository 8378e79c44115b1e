"""The stub's steps of a request: `create_app` lists them in their order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, g, request
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
        if is_recorded(bound(request).environ["PATH_INFO"]):
            context = bound(g)
            context.world = world = self.stub.open(context.world_name)
            context.store = world.service

    def decide_outcome(self) -> ResponseReturnValue | None:
        """Decide what a fault or `Prefer` does to the request; respond, if it does."""
        received = bound(request)
        if not received.environ["PATH_INFO"].startswith(OPERATIONS):
            return None
        context, stub = bound(g), self.stub
        faults, failures = context.world.faults, stub.options.failures
        context.outcome = outcome = decide(
            received, faults, stub.contract, failures, context.world_name
        )
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
        failures = stub.options.failures
        if path.startswith(OPERATIONS):
            outcome.delay = stub.delays.uniform(*stub.options.delay)
        if stub.responses:
            dress(response, context, stub.responses, outcome)
        attempt = outcome.attempt
        if failures and attempt:
            outcome.fault = failures.confirm(attempt, response, outcome.fault)
        outcome.status, fault = response.status_code, outcome.fault
        # An id stays varied when its axis is off.
        is_read = world.grease.current.parts or world.ids.are_varied
        is_own = fault is not None and (fault.body is not None or fault.drop)
        if is_read and not is_own:
            outcome.axes = vary(response, world, stub.parts, outcome.operation, received)
        if fault:
            outcome.delay += fault.delay or 0.0
            fault.change(response, received.environ)
            if not response.status_code:
                outcome.status = 0
        entry = describe(received, response, context, outcome, world.clock, stub.redactor)
        number = world.record(entry)
        context["entry"], context["number"] = entry, number
        context["log_name"] = request_name(world.name, number)
        context["log_notes"] = notes_of(outcome)
        stub.memory.add(entry.size)
        if outcome.delay:
            stub.options.sleep(outcome.delay)
        closed_after = None
        if fault and fault.stall:
            closed_after = stall(fault.stall, received.environ)
        if failures and attempt:
            if fault:
                attempt.first = first_of(world.name, number, entry)
            failures.end(attempt, closed_after)
        return response


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
    fault = [f"fault {outcome.fault.id}"] if outcome.fault else []
    fault += ["dropped"] if outcome.fault and outcome.fault.drop else []
    return fault + ([f"grease {','.join(outcome.axes)}"] if outcome.axes else [])
