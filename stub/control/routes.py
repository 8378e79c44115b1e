"""The views of the control routes, under `/_stub`."""

import json
from typing import Any, cast

from flask import Response, current_app, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from records import timestamp
from store import StoreFull
from web import problems, strict_json
from web.routing import read_path
from web.times import parse_time
from web.validation import require_valid

from ..request import findings
from ..request.journal import read_filters
from ..request.paths import is_control_path
from ..world import rules, seed, worlds
from ..world.clock import MAX_ADVANCE
from ..world.store import UnknownProject
from ..world.world import Shared, World
from .operations import View, check_request
from .verdict import judge_world


def get_worlds() -> worlds.Worlds:
    return cast("worlds.Worlds", current_app.extensions["worlds"])


def get_shared() -> Shared:
    return get_worlds().shared


def open_world() -> World:
    """Open the world of the request. Call it last, so that an invalid request does not open it."""
    visit: worlds.Visit = g.store
    return visit.world


def read_input() -> dict[str, Any]:
    """Read the body, and check the request by the contract. A profile may have numbers as ids."""
    _, document = strict_json.read_json()
    options = get_shared().options
    seed.convert_id(document, "project_id", "projects", options.like)
    require_valid(check_request(document, options.statuses))
    return document


def respond_json(document: Any, status: int = 200) -> ResponseReturnValue:
    return json.dumps(document) + "\n", status, strict_json.JSON


# Errors


def explain_unknown_path(error: HTTPException) -> ResponseReturnValue:
    """Respond to an unknown path; below `/_stub`, name the document that lists the paths."""
    path = read_path(request.environ).lstrip("/")
    if is_control_path(f"/{path}"):
        detail = "There is nothing at this path. /_stub/openapi.json lists the paths that exist."
        return problems.respond(problems.Problem(404, "not_found", detail))
    return problems.respond(error)


def explain_unknown_project(error: UnknownProject) -> ResponseReturnValue:
    """Respond to a `project_id` that no project has."""
    pointer = "/params/project_id" if request.endpoint == "changeState" else "/project_id"
    reason = rules.read_schemas()["ProjectOrNull"]["x-error"]
    return problems.respond(problems.InvalidBody([problems.FieldError(pointer, reason)]))


# State and time


def reset() -> Response:
    start = None
    if request.get_data():
        options = get_shared().options
        _, document = strict_json.read_json(options.max_seed_bytes, seed.SEED_DEPTH)
        start = seed.make_seed(document, options.like)
    get_worlds().reset(g.store.name, start)
    return strict_json.no_content()


def show_state() -> ResponseReturnValue:
    store = open_world().store
    return seed.write_seed(store.records(), store.now()), 200, strict_json.JSON


def put_deployment(deployment_id: str) -> ResponseReturnValue:
    document = read_input()
    store = open_world().store
    timeline = rules.parse_timeline(document)
    project_id = document.get("project_id")
    deployment, is_new = store.put_deployment(deployment_id, timeline, project_id)
    status = deployment.status(store.now())
    return deployment.representation(status), 201 if is_new else 200, strict_json.JSON


def change_state() -> ResponseReturnValue:
    from .pact import find_state, read_change

    state, params, is_teardown = read_change()
    if not state or is_teardown:
        return respond_json({})
    try:
        set_up = find_state(get_shared(), state, params)
        return respond_json(set_up(open_world()))
    except StoreFull:  # The verifier would repeat a request with a 5xx for two minutes.
        reason = "needs more projects or deployments than the world may have"
        raise problems.InvalidBody([problems.FieldError("", reason)]) from None


def show_clock() -> ResponseReturnValue:
    clock = open_world().clock
    clock.refresh()
    now, is_frozen = clock.read()
    tick = clock.setting.tick
    return respond_json({"now": timestamp(now), "frozen": is_frozen, "tick": tick})


def change_clock() -> ResponseReturnValue:
    document = read_input()
    clock = open_world().clock
    is_changed = clock.change(
        document.get("advance", 0),
        at=parse_time(document.get("now")),
        freeze=document.get("frozen"),
        tick=document.get("tick"),
    )
    if not is_changed:
        reason = f"would advance the clock by more than {MAX_ADVANCE.days} days in total"
        raise problems.InvalidBody([problems.FieldError("/advance", reason)])
    return show_clock()


def list_worlds() -> ResponseReturnValue:
    return respond_json(get_worlds().document())


# Faults and grease


def list_faults() -> ResponseReturnValue:
    return respond_json({"faults": open_world().faults.documents()})


def add_fault() -> ResponseReturnValue:
    document = read_input()
    return respond_json(open_world().faults.add(document), 201)


def remove_faults(fault_id: str | None = None) -> Response:
    open_world().faults.remove(fault_id)
    return strict_json.no_content()


def show_grease() -> ResponseReturnValue:
    return respond_json(open_world().grease.current.document())


def switch_grease() -> ResponseReturnValue:
    from ..grease.parts import check_grease, read_document

    document = read_input()
    by_axis = get_shared().parts.by_axis
    require_valid(check_grease(document, by_axis))
    switch = open_world().grease
    switch.current = read_document(document, switch.current.seed, by_axis)
    return respond_json(switch.current.document())


# Requests


def list_requests() -> ResponseReturnValue:
    filters = read_filters(request.args, get_shared().contract.operation_ids)
    return respond_json(open_world().journal.document(**filters))


def clear_requests() -> Response:
    open_world().journal.clear()
    return strict_json.no_content()


def show_coverage() -> ResponseReturnValue:
    return respond_json(open_world().coverage.document())


def show_verdict() -> ResponseReturnValue:
    query = request.args
    if query.keys() - {"fail_on", "allow"}:
        raise problems.Problem(
            400, "unknown_query", "Send only the query parameters fail_on and allow."
        )
    try:
        kinds = findings.parse_kinds(query.getlist("fail_on")) or findings.CHOICES
    except ValueError as error:
        raise problems.Problem(400, "unknown_query", f"{error}.") from None
    verdict = judge_world(open_world(), get_shared(), kinds, query.getlist("allow"))
    return respond_json(verdict)


# The program


def show_health() -> ResponseReturnValue:
    return respond_json({"status": "ok"})


def show_readiness() -> ResponseReturnValue:
    get_worlds().open(worlds.MAIN).clock.change()  # A change is written to an external store.
    return respond_json({"status": "ok"})


def show_contract() -> ResponseReturnValue:
    return respond_json(rules.read_contract(get_shared().options.statuses))


def show_profile() -> ResponseReturnValue:
    like = get_shared().options.like
    if like is None:
        return respond_json({"profile": None, "lacks": [], "unobserved_errors": []})
    from profiles.profile import find_unobserved_errors, list_missing_parts

    document = {
        "profile": like.document,
        "lacks": list_missing_parts(like),
        "unobserved_errors": find_unobserved_errors(like),
    }
    return respond_json(document)


VIEWS: dict[str, View] = {
    "getHealth": show_health,
    "getReadiness": show_readiness,
    "getStubContract": show_contract,
    "reset": reset,
    "putDeployment": put_deployment,
    "getState": show_state,
    "getClock": show_clock,
    "turnClock": change_clock,
    "listFaults": list_faults,
    "addFault": add_fault,
    "clearFaults": remove_faults,
    "removeFault": remove_faults,
    "getLike": show_profile,
    "getGrease": show_grease,
    "switchGrease": switch_grease,
    "listWorlds": list_worlds,
    "listRequests": list_requests,
    "clearRequests": clear_requests,
    "getCoverage": show_coverage,
    "getVerdict": show_verdict,
    "changeState": change_state,
}
"""The views by the `operationId` in stub/openapi.json, which has the paths and the methods."""
