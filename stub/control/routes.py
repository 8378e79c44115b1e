"""The control routes: everything under `/_stub`."""

import json
from typing import Any, cast

from flask import Response, current_app, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from records import timestamp
from store import StoreFull
from web.problems import FieldError, InvalidBody, Problem, respond
from web.routing import read_path
from web.strict_json import JSON, no_content, read_json
from web.times import parse_time
from web.validation import require_valid

from ..grease.axes import check_grease
from ..request.findings import CHOICES, parse_kinds
from ..request.journal import read_filters
from ..request.paths import is_control_path
from ..world import rules
from ..world.clock import MAX_ADVANCE
from ..world.seed import SEED_DEPTH, convert_id, make_seed, write_seed
from ..world.store import UnknownProject
from ..world.tokens import MAIN
from ..world.world import Common, WorldState
from ..world.worlds import Visit, Worlds
from .verdict import judge_world


def all_worlds() -> Worlds:
    return cast("Worlds", current_app.extensions["worlds"])


def common() -> Common:
    """What all worlds have in common."""
    return all_worlds().common


def open_world() -> WorldState:
    """The world of the request. Opened late, so that an invalid request makes none."""
    visit: Visit = g.store
    return visit.world


def json_response(document: Any, status: int = 200) -> ResponseReturnValue:
    return json.dumps(document) + "\n", status, JSON


def not_found(error: HTTPException) -> ResponseReturnValue:
    """The response for an unknown path, which names the document that lists the known ones."""
    path = read_path(request.environ).lstrip("/")
    if is_control_path(f"/{path}"):
        detail = "There is nothing at this path. /_stub/openapi.json lists the paths that exist."
        return respond(Problem(404, "not_found", detail))
    return respond(error)


def unknown_project(error: UnknownProject) -> ResponseReturnValue:
    pointer = "/params/project_id" if request.endpoint == "changeState" else "/project_id"
    reason = rules.read_schemas()["ProjectOrNull"]["x-error"]
    return respond(InvalidBody([FieldError(pointer, reason)]))


def show_contract() -> ResponseReturnValue:
    """Show the contract of the controls, in which the statuses of a profile are valid, too."""
    return json_response(rules.read_contract(common().options.words))


def reset() -> Response:
    seed = None
    if request.get_data():
        _, document = read_json(common().options.max_seed_bytes, SEED_DEPTH)
        seed = make_seed(document, common().options.like)
    all_worlds().reset(g.store.name, seed)
    return no_content()


def show_state() -> ResponseReturnValue:
    store = open_world().store
    return write_seed(store.records(), store.now()), 200, JSON


def put_deployment(deployment_id: str) -> ResponseReturnValue:
    _, document = read_json()
    shared = common()
    convert_id(document, "project_id", "projects", shared.options.like)
    require_valid(rules.check_request(document, shared.options.words))
    store = open_world().store
    timeline = rules.parse_timeline(document)
    project_id = document.get("project_id")
    deployment, is_new = store.put_deployment(deployment_id, timeline, project_id)
    status = deployment.status(store.now())
    return deployment.representation(status), 201 if is_new else 200, JSON


def read_input() -> dict[str, Any]:
    """The body of a request, which keeps the contract."""
    _, document = read_json()
    require_valid(rules.check_request(document))
    return document


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
        reason = f"must add up to at most {MAX_ADVANCE.days} days"
        raise InvalidBody([FieldError("/advance", reason)])
    return show_clock()


def add_fault() -> ResponseReturnValue:
    document = read_input()
    return json_response(open_world().faults.add(document), 201)


def remove_faults(fault_id: str | None = None) -> Response:
    open_world().faults.remove(fault_id)
    return no_content()


def switch_grease() -> ResponseReturnValue:
    document = read_input()
    by_axis = common().parts.by_axis
    require_valid(check_grease(document, by_axis))
    grease = open_world().grease.change(document, by_axis)
    return json_response(grease.document())


def clear_requests() -> Response:
    open_world().journal.clear()
    return no_content()


def change_state() -> ResponseReturnValue:
    from .pact import find_state, read_change  # few programs need this

    state, params, is_teardown = read_change()
    if not state or is_teardown:
        return json_response({})
    try:
        change = find_state(common(), state, params)
        return json_response(change(open_world()))
    except StoreFull:  # no 5xx, which the verifier would repeat for two minutes
        reason = "needs more records than there is room for"
        raise InvalidBody([FieldError("", reason)]) from None


# What GET shows.


def health() -> ResponseReturnValue:
    return json_response({"status": "ok"})


def ready() -> ResponseReturnValue:
    all_worlds().open(MAIN).clock.change()  # which a store on a server writes
    return json_response({"status": "ok"})


def list_worlds() -> ResponseReturnValue:
    return json_response(all_worlds().document())


def show_clock() -> ResponseReturnValue:
    clock = open_world().clock
    clock.refresh()
    now, is_frozen = clock.reading()
    return json_response({"now": timestamp(now), "frozen": is_frozen, "tick": clock.setting.tick})


def list_faults() -> ResponseReturnValue:
    return json_response({"faults": open_world().faults.documents()})


def show_grease() -> ResponseReturnValue:
    return json_response(open_world().grease.current.document())


def show_profile() -> ResponseReturnValue:
    like = common().options.like
    if like is None:
        return json_response({"profile": None, "lacks": [], "unobserved_errors": []})
    from profiles.profile import find_unobserved_errors, list_missing_parts

    document = {
        "profile": like.document,
        "lacks": list_missing_parts(like),
        "unobserved_errors": find_unobserved_errors(like),
    }
    return json_response(document)


def list_requests() -> ResponseReturnValue:
    filters = read_filters(request.args, common().contract.operation_ids)
    return json_response(open_world().journal.document(**filters))


def show_coverage() -> ResponseReturnValue:
    return json_response(open_world().coverage.document())


def show_verdict() -> ResponseReturnValue:
    query = request.args
    try:
        unknown = query.keys() - {"fail_on", "allow"}
        if unknown:
            raise ValueError(f"{min(unknown)!r} is unknown: there are fail_on and allow")
        kinds = parse_kinds(query.getlist("fail_on")) or CHOICES
    except ValueError as error:
        raise Problem(400, "unknown_query", f"{error}.") from None
    verdict = judge_world(open_world(), common(), kinds, query.getlist("allow"))
    return json_response(verdict)


VIEWS: dict[str, rules.View] = {
    "getHealth": health,
    "getReadiness": ready,
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
"""By the `operationId` of stub/openapi.json, which has the paths and the methods."""
