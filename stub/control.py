"""The control routes: everything under `/_stub` but health and the contract."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest, HTTPException

from body import FieldError, InvalidBody, is_number, read_json, refuse, unknown_members
from store import Store, StoreFull, UnknownProject, timestamp

from .faults import MAX_FAULTS, check_fault
from .grease import check_grease, in_order
from .pact import Records, States, check_project_id
from .seed import (
    ID_RULE,
    SEED_DEPTH,
    Seed,
    SeedError,
    check_timeline,
    is_id,
    make_seed,
    read_timeline,
)
from .world import MAX_AHEAD, World

MAX_SEED = 16 * 1024 * 1024  # bytes


class UnknownFilter(BadRequest):
    problem = "unknown_query"
    description = "The filters are `operation` and `status`, of which the latter is an integer."


def control_routes(
    *,
    world: Callable[[], World],
    reset: Callable[[Seed | None], None],
    states: States,
    records: Records,
    max_projects: int,
    answer: Callable[[bytes, int], Response],
) -> Blueprint:
    """The routes. `world` gives the one that the request is for, `reset` swaps it."""
    routes = Blueprint("control", __name__, url_prefix="/_stub")

    def tell(document: Any, status: int = 200) -> Response:
        return answer(json.dumps(document).encode(), status)

    def store_here() -> Store:
        """The store of the request's world, which a body that is refused need not have made."""
        return world().store

    @routes.post("/reset")
    def reset_world() -> Response:
        seed = None
        if request.get_data():
            _, document = read_json(MAX_SEED, SEED_DEPTH)
            try:
                seed = make_seed(document, max_projects=max_projects)
            except SeedError as error:
                raise InvalidBody(error.errors) from None
        reset(seed)
        return no_content()

    @routes.put("/deployments/<deployment_id>")
    def put_deployment(deployment_id: str) -> Response:
        _, document = read_json()
        while True:
            refuse(check_deployment(deployment_id, document, store_here))
            store = store_here()
            with suppress(UnknownProject):  # if it was there a moment ago, look again
                deployment, is_new = store.put_deployment(
                    deployment_id, read_timeline(document), document.get("project_id")
                )
                return answer(deployment.representation(store.now()), 201 if is_new else 200)

    @routes.post("/clock")
    def turn_clock() -> Response:
        _, document = read_json()
        while True:
            refuse(check_clock(document, world))
            clock = world().clock
            if clock.advance(document["advance"]):  # else another was quicker: look again
                return tell({"now": timestamp(clock())})

    @routes.get("/faults")
    def list_faults() -> Response:
        return tell({"faults": world().faults.documents()})

    @routes.post("/faults")
    def add_fault() -> Response:
        _, document = read_json()
        refuse(check_fault(document))
        fault = world().faults.add(document)
        if fault is None:
            refuse([FieldError("", f"is one more than {MAX_FAULTS}: drop some")])
        return tell(fault, 201)

    @routes.delete("/faults")
    def clear_faults() -> Response:
        world().faults.clear()
        return no_content()

    @routes.delete("/faults/<fault_id>")
    def remove_fault(fault_id: str) -> Response:
        world().faults.remove(fault_id)
        return no_content()

    @routes.get("/grease")
    def tell_grease() -> Response:
        return tell(world().greasing.document())

    @routes.put("/grease")
    def switch_grease() -> Response:
        _, document = read_json()
        refuse(check_grease(document))
        greasing = world().greasing
        seed = int(document.get("seed", greasing.seed))
        greasing.switch(in_order(document["axes"]), seed)
        return tell(greasing.document())

    @routes.get("/requests")
    def list_requests() -> Response:
        filters = request.args.to_dict()
        operation, status = filters.pop("operation", None), filters.pop("status", None)
        if filters or (status is not None and not re.fullmatch("[1-5][0-9][0-9]", status)):
            raise UnknownFilter
        entries, dropped = world().journal.documents(operation, int(status) if status else None)
        return tell({"requests": entries, "dropped": dropped})

    @routes.delete("/requests")
    def clear_requests() -> Response:
        world().journal.clear()
        return no_content()

    @routes.get("/coverage")
    def tell_coverage() -> Response:
        return tell(world().coverage.document())

    @routes.post("/pact")
    def change_state() -> Response:
        state, params, action = read_change()
        if action == "teardown" or not state:
            return tell({})
        # Never 5xx here: the verifier would ask again for two minutes.
        try:
            return tell(states.set_up(state, params, store_here, records))
        except StoreFull:
            raise InvalidBody([FieldError("/params", "asks for more than there is room")]) from None
        except HTTPException as error:
            if error.code == 507:
                raise InvalidBody([FieldError("", str(error.description))]) from None
            raise

    return routes


def no_content() -> Response:
    response = Response(status=204, headers={"Cache-Control": "no-store"})
    del response.headers["Content-Type"]
    return response


def check_deployment(
    deployment_id: str, document: dict[str, Any], store: Callable[[], Store]
) -> Iterator[FieldError]:
    if not is_id(deployment_id):
        yield FieldError("", f"has no place at this path, whose id {ID_RULE}")
    yield from unknown_members(document, ("project_id", "status", "timeline"))
    yield from check_project_id(document.get("project_id"), store)
    yield from check_timeline(document)


def check_clock(document: dict[str, Any], world: Callable[[], World]) -> Iterator[FieldError]:
    yield from unknown_members(document, ("advance",))
    seconds: Any = document.get("advance")
    if not is_number(seconds, 0, MAX_AHEAD.total_seconds()):
        yield FieldError("/advance", f"must be 0 to {MAX_AHEAD.total_seconds():.0f} seconds")
    elif not world().clock.has_room(seconds):
        yield FieldError("/advance", f"must end at most {MAX_AHEAD.days} days from now")


def read_change() -> tuple[str, dict[str, Any], str]:
    """State, params and action of a provider-state change, in either of its two forms.

    The verifier sends a JSON body, or everything in the query and then no body.
    """
    if request.get_data():
        _, document = read_json()
    else:
        # It has no null: what is empty there is not given.
        query = {name: value for name, value in request.args.items() if value or name == "state"}
        document = {name: query.pop(name) for name in ("state", "action") if name in query}
        document["params"] = query
    state, action = document.get("state"), document.get("action")
    params = document.get("params")
    if params is None:
        params = {}
    errors = []
    if not isinstance(state, str):
        errors.append(FieldError("/state", "must be a string"))
    if not isinstance(params, dict):
        errors.append(FieldError("/params", "must be a JSON object"))
    if action not in (None, "", "setup", "teardown"):
        errors.append(FieldError("/action", "must be setup or teardown"))
    refuse(errors)
    return str(state), params, action or "setup"
