"""The control routes: everything under `/_stub`."""

import json
from collections.abc import Collection
from importlib.resources import files
from typing import Any, NamedTuple, cast

from flask import Blueprint, Response, current_app, g, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from records import timestamp
from store import StoreFull, UnknownProject
from web.problems import FieldError, InvalidBody, Problem, respond
from web.redaction import Redactor
from web.routing import CONTROLS, is_control_path
from web.strict_json import JSON, read_json
from web.validation import require_valid

from . import rules
from .clock import MAX_ADVANCE
from .faults import check_fault
from .grease.axes import check_grease
from .grease.parts import Parts
from .journal import read_filters
from .pact import States, read_change
from .seed import SEED_DEPTH, make_seed, write_seed
from .verdict import KINDS, Finding, Verdict, parse_kinds
from .worlds import TooManyWorlds, World, Worlds

CONTRACT = files(__package__) / "openapi.json"
MAX_SEED_BYTES = 64 * 1024 * 1024  # bytes

CLOCK = {
    "frozen": rules.rule(lambda value: isinstance(value, bool), "must be true or false"),
    "advance": rules.seconds(MAX_ADVANCE.total_seconds()),
}

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
            self.worlds.run,
            self.worlds.unused_faults(),
            self.worlds.rejections.values(),
            self.redactor,
            fail_on,
            allowed,
            more,
            self.worlds.dropped(),
        )


def current_stub() -> Stub:
    return cast("Stub", current_app.extensions["stub"])


def open_world() -> World:
    """The world of the request. Opened late, so that an invalid request makes none."""
    return current_stub().worlds.open(g.world_name)


def json_response(document: Any, status: int = 200) -> ResponseReturnValue:
    return json.dumps(document) + "\n", status, JSON


def not_found(error: HTTPException) -> ResponseReturnValue:
    """The response for an unknown path, which names the document that lists the known ones."""
    if is_control_path(request.path):
        detail = "There is nothing at this path. /_stub/openapi.json lists the paths that exist."
        return respond(Problem(404, "not_found", detail))
    return respond(error)


def no_content(**headers: str) -> Response:
    response = Response(status=204, headers={"Cache-Control": "no-store", **headers})
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
    store = open_world().store
    return write_seed(store.records(), store.now()), 200, JSON


@routes.get("/worlds")
def list_worlds() -> ResponseReturnValue:
    return json_response(current_stub().worlds.document())


# Deployments and time


@routes.put("/deployments/<deployment_id>")
def put_deployment(deployment_id: str) -> ResponseReturnValue:
    _, document = read_json()
    of_path = [
        FieldError("", f"cannot be created at this path: the id {error.detail}")
        for error in rules.ID(deployment_id)
    ]
    of_body = rules.check_deployment(document, {"project_id": rules.PROJECT})
    require_valid([*of_path, *of_body])
    store = open_world().store
    timeline, project_id = rules.read_timeline(document), document.get("project_id")
    try:
        deployment, is_new = store.put_deployment(deployment_id, timeline, project_id)
    except UnknownProject:
        raise InvalidBody([FieldError("/project_id", rules.NO_SUCH_PROJECT)]) from None
    status = deployment.status(store.now())
    return deployment.representation(status), 201 if is_new else 200, JSON


@routes.get("/clock")
def show_clock() -> ResponseReturnValue:
    clock = open_world().clock
    clock.refresh()
    now, is_frozen = clock.reading()
    return json_response({"now": timestamp(now), "frozen": is_frozen})


@routes.post("/clock")
def change_clock() -> ResponseReturnValue:
    _, document = read_json()
    errors = [*rules.check_object(document, CLOCK)]
    if not document.keys() & CLOCK:
        errors.append(FieldError("", "must have `advance` or `frozen`"))
    require_valid(errors)
    if not open_world().clock.change(document.get("advance", 0), freeze=document.get("frozen")):
        days = MAX_ADVANCE.days
        raise InvalidBody([FieldError("/advance", f"must add up to at most {days} days")])
    return show_clock()


# Faults and grease


@routes.get("/faults")
def list_faults() -> ResponseReturnValue:
    return json_response({"faults": open_world().faults.documents()})


@routes.post("/faults")
def add_fault() -> ResponseReturnValue:
    _, document = read_json()
    require_valid(check_fault(document, current_stub().operations))
    return json_response(open_world().faults.add(document), 201)


@routes.delete("/faults")
@routes.delete("/faults/<fault_id>")
def remove_faults(fault_id: str | None = None) -> Response:
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


@routes.get("/like")
def show_profile() -> ResponseReturnValue:
    like = current_stub().parts.like
    found = {"observed_at": like.get("observed_at"), "not_imitated": like.get("not_imitated", [])}
    return json_response(found)


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
    set_up = current_stub().states.find(state, params)
    try:
        return json_response(set_up(open_world().store))
    # 422, as the verifier would repeat a 5xx for two minutes.
    except TooManyWorlds as error:
        raise InvalidBody([FieldError("", str(error.description))]) from None
    except StoreFull:
        reason = "needs more records than the store has room for"
        raise InvalidBody([FieldError("/params", reason)]) from None
