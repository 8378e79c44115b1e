"""The control routes: everything under `/_stub`."""

import json
from collections.abc import Collection, Iterator
from importlib.resources import files
from typing import Any, NamedTuple

from flask import Blueprint, Response, current_app, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from records import timestamp
from store import StoreFull, UnknownProject
from web.problems import FieldError, InvalidBody, Problem, respond
from web.redaction import Redactor
from web.routing import CONTROLS, is_control_path
from web.strict_json import JSON, read_json
from web.validation import is_number, require_valid, unknown_members

from .clock import MAX_ADVANCE
from .export import write_seed
from .faults import MAX_FAULTS, check_fault
from .grease.axes import check_grease
from .grease.parts import Parts
from .journal import read_filters
from .pact import NO_SUCH_PROJECT, States, check_project_id, read_change
from .rules import ID_RULE, check_timeline, is_id, read_timeline
from .seed import SEED_DEPTH, make_seed
from .verdict import KINDS, Finding, Verdict, parse_kinds
from .worlds import TooManyWorlds, World, Worlds, WorldStore

CONTRACT = files(__package__) / "openapi.json"
MAX_SEED_BYTES = 64 * 1024 * 1024  # bytes

routes = Blueprint("stub", __name__, url_prefix=CONTROLS.rstrip("/"))


class Stub(NamedTuple):
    """What the control routes work on: `app.extensions["stub"]`."""

    worlds: Worlds
    states: States
    redactor: Redactor
    max_projects: int
    operations: tuple[str, ...]  # the ids of the contract
    parts: Parts

    def judge(
        self,
        fail_on: Collection[str] = (),
        allowed: Collection[str] = (),
        more: Collection[Finding] = (),
    ) -> Verdict:
        """The verdict of all requests so far, to all worlds.

        `more` are findings that the requests alone do not show.
        """
        return Verdict(
            self.worlds.coverage_of_the_run(),
            self.worlds.unused_faults(),
            self.worlds.rejections.values(),
            self.redactor,
            fail_on,
            allowed,
            more,
            self.worlds.dropped(),
        )


def current_stub() -> Stub:
    stub: Stub = current_app.extensions["stub"]
    return stub


def open_world() -> World:
    """The world of the request. Opened late, so that an invalid request makes none."""
    world: World = current_stub().worlds.open(g.world_name)
    return world


def open_store() -> WorldStore:
    return open_world().store


def json_response(document: Any, status: int = 200) -> ResponseReturnValue:
    return json.dumps(document) + "\n", status, JSON


def not_found(error: HTTPException) -> ResponseReturnValue:
    """The response for an unknown path, which names the document that lists the known ones."""
    if is_control_path(request.path):
        detail = "There is nothing at this path. /_stub/openapi.json lists the paths that exist."
        return respond(Problem(404, "not_found", detail))
    return respond(error)


def no_content() -> Response:
    response = Response(status=204, headers={"Cache-Control": "no-store"})
    del response.headers["Content-Type"]
    return response


@routes.get("/health")
def health() -> ResponseReturnValue:
    return json_response({"status": "ok"})


@routes.get("/ready")
def readiness() -> ResponseReturnValue:
    current_stub().worlds.open("").clock.change(0, freeze=None)  # which a store on a server writes
    return json_response({"status": "ok"})


@routes.get("/openapi.json")
def contract() -> ResponseReturnValue:
    return CONTRACT.read_bytes(), 200, JSON


@routes.post("/reset")
def reset() -> Response:
    seed = None
    if request.get_data():
        text, document = read_json(MAX_SEED_BYTES, SEED_DEPTH)
        seed = make_seed(text, document, max_projects=current_stub().max_projects)
    current_stub().worlds.reset(g.world_name, seed)
    return no_content()


@routes.get("/state")
def show_state() -> ResponseReturnValue:
    store = open_store()
    return Response(write_seed(store.records(), store.now()), headers=JSON)


@routes.get("/worlds")
def list_worlds() -> ResponseReturnValue:
    return json_response(current_stub().worlds.document())


# Deployments and time


@routes.put("/deployments/<deployment_id>")
def put_deployment(deployment_id: str) -> ResponseReturnValue:
    _, document = read_json()
    require_valid(check_put(deployment_id, document))
    store = open_store()
    timeline, project_id = read_timeline(document), document.get("project_id")
    try:
        deployment, is_new = store.put_deployment(deployment_id, timeline, project_id)
    except UnknownProject:
        raise InvalidBody([NO_SUCH_PROJECT]) from None
    status = deployment.status(store.now())
    return deployment.representation(status), 201 if is_new else 200, JSON


def check_put(deployment_id: str, document: dict[str, Any]) -> Iterator[FieldError]:
    if not is_id(deployment_id):
        yield FieldError("", f"cannot be created at this path: the id {ID_RULE}")
    yield from unknown_members(document, ("project_id", "status", "timeline"))
    yield from check_project_id(document)
    yield from check_timeline(document)


@routes.get("/clock")
def show_clock() -> ResponseReturnValue:
    clock = open_world().clock
    clock.refresh()
    now, is_frozen = clock.reading()
    return json_response({"now": timestamp(now), "frozen": is_frozen})


@routes.post("/clock")
def change_clock() -> ResponseReturnValue:
    _, document = read_json()
    require_valid(check_clock(document))
    if not open_world().clock.change(document.get("advance", 0), freeze=document.get("frozen")):
        days = MAX_ADVANCE.days
        raise InvalidBody([FieldError("/advance", f"must add up to at most {days} days")])
    return show_clock()


def check_clock(document: dict[str, Any]) -> Iterator[FieldError]:
    yield from unknown_members(document, ("advance", "frozen"))
    if not document.keys() & {"advance", "frozen"}:
        yield FieldError("", "must have `advance` or `frozen`")
    if not isinstance(document.get("frozen", True), bool):
        yield FieldError("/frozen", "must be true or false")
    seconds: Any = document.get("advance", 0)
    if not is_number(seconds, 0, MAX_ADVANCE.total_seconds()):
        days = MAX_ADVANCE.days
        yield FieldError("/advance", f"must be a number of seconds from 0 to those of {days} days")


# Faults and grease


@routes.get("/faults")
def list_faults() -> ResponseReturnValue:
    return json_response({"faults": open_world().faults.documents()})


@routes.post("/faults")
def add_fault() -> ResponseReturnValue:
    _, document = read_json()
    require_valid(check_fault(document, current_stub().operations))
    fault = open_world().faults.add(document)
    if fault is None:
        raise InvalidBody([FieldError("", f"exceeds the maximum of {MAX_FAULTS:,} faults")])
    return json_response(fault, 201)


@routes.delete("/faults")
def clear_faults() -> Response:
    open_world().faults.remove()
    return no_content()


@routes.delete("/faults/<fault_id>")
def remove_fault(fault_id: str) -> Response:
    open_world().faults.remove(fault_id)
    return no_content()


@routes.get("/grease")
def show_grease() -> ResponseReturnValue:
    return json_response(open_world().grease.current.document())


@routes.put("/grease")
def switch_grease() -> ResponseReturnValue:
    _, document = read_json()
    by_axis = current_stub().parts.by_axis
    require_valid(check_grease(document, by_axis))
    return json_response(open_world().grease.change(document, by_axis).document())


# The journal and the coverage


@routes.get("/requests")
def list_requests() -> ResponseReturnValue:
    filters = read_filters(request.args, current_stub().operations)
    return json_response(open_world().journal.document(**filters))


@routes.delete("/requests")
def clear_requests() -> Response:
    open_world().journal.clear()
    return no_content()


@routes.get("/coverage")
def show_coverage() -> ResponseReturnValue:
    return json_response(open_world().coverage.document())


@routes.get("/verdict")
def show_verdict() -> ResponseReturnValue:
    stub, world = current_stub(), open_world()
    try:
        if unknown := request.args.keys() - {"fail_on", "allow"}:
            raise ValueError(f"{min(unknown)!r} is unknown: there are fail_on and allow")
        kinds = parse_kinds(request.args.getlist("fail_on")) or KINDS
    except ValueError as error:
        raise Problem(400, "unknown_query", f"{error}.") from None
    allowed = request.args.getlist("allow")
    unused = world.faults.unused()
    verdict = Verdict(world.coverage, unused, (), stub.redactor, kinds, allowed)
    return json_response(verdict.gate())


# Pact


@routes.post("/pact")
def change_state() -> ResponseReturnValue:
    state, params, action = read_change()
    if action == "teardown" or not state:
        return json_response({})
    try:
        return json_response(current_stub().states.set_up(state, params, open_store))
    # 422, as the verifier would repeat a 5xx for two minutes.
    except TooManyWorlds as error:
        raise InvalidBody([FieldError("", str(error.description))]) from None
    except StoreFull:
        reason = "needs more records than the store has room for"
        raise InvalidBody([FieldError("/params", reason)]) from None
