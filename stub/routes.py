"""The control routes: everything under `/_stub`."""

import json
from collections.abc import Callable, Collection
from functools import partial
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
from web.validation import require_valid, under

from . import rules
from .clock import MAX_ADVANCE
from .faults import check_fault
from .grease.axes import Parts, check_grease
from .journal import read_filters
from .pact import States, find_state, read_change
from .seed import SEED_DEPTH, make_seed, write_seed
from .verdict import KINDS, Finding, Verdict, parse_kinds
from .worlds import TooManyWorlds, World, Worlds

CONTRACT = files(__package__) / "openapi.json"
MAX_SEED_BYTES = 64 * 1024 * 1024  # bytes

CLOCK = {
    "frozen": rules.rule(lambda value: isinstance(value, bool), "must be true or false"),
    "advance": rules.seconds(MAX_ADVANCE.total_seconds()),
}

controls = Blueprint("stub", __name__, url_prefix=CONTROLS.rstrip("/"))


class Stub(NamedTuple):
    """What the control routes work on: `app.extensions["stub"]`."""

    worlds: Worlds
    states: States
    redactor: Redactor
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


@controls.app_errorhandler(404)
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


@controls.get("/openapi.json")
def contract() -> ResponseReturnValue:
    return CONTRACT.read_bytes(), 200, JSON


@controls.post("/reset")
def reset() -> Response:
    seed = make_seed(*read_json(MAX_SEED_BYTES, SEED_DEPTH)) if request.get_data() else None
    current_stub().worlds.reset(g.world_name, seed)
    return no_content()


@controls.get("/state")
def show_state() -> ResponseReturnValue:
    store = open_world().store
    return write_seed(store.records(), store.now()), 200, JSON


@controls.put("/deployments/<deployment_id>")
def put_deployment(deployment_id: str) -> ResponseReturnValue:
    _, document = read_json()
    of_path = under(("id",), rules.ID(deployment_id))
    require_valid([*of_path, *rules.check_deployment(document, {"project_id": rules.PROJECT})])
    store = open_world().store
    timeline, project_id = rules.read_timeline(document), document.get("project_id")
    try:
        deployment, is_new = store.put_deployment(deployment_id, timeline, project_id)
    except UnknownProject:
        raise InvalidBody([FieldError("/project_id", rules.NO_SUCH_PROJECT)]) from None
    status = deployment.status(store.now())
    return deployment.representation(status), 201 if is_new else 200, JSON


@controls.post("/clock")
def change_clock() -> ResponseReturnValue:
    _, document = read_json()
    require_valid(rules.check_object(document, CLOCK))
    if not open_world().clock.change(document.get("advance", 0), freeze=document.get("frozen")):
        days = MAX_ADVANCE.days
        raise InvalidBody([FieldError("/advance", f"must add up to at most {days} days")])
    return json_response(show_clock())


@controls.post("/faults")
def add_fault() -> ResponseReturnValue:
    _, document = read_json()
    require_valid(check_fault(document, current_stub().operations))
    return json_response(open_world().faults.add(document), 201)


@controls.delete("/faults")
@controls.delete("/faults/<fault_id>")
def remove_faults(fault_id: str | None = None) -> Response:
    open_world().faults.remove(fault_id)
    return no_content()


@controls.put("/grease")
def switch_grease() -> ResponseReturnValue:
    _, document = read_json()
    by_axis = current_stub().parts.by_axis
    require_valid(check_grease(document, by_axis))
    return json_response(open_world().grease.change(document, by_axis).document())


@controls.delete("/requests")
def clear_requests() -> Response:
    open_world().journal.clear()
    return no_content()


@controls.post("/pact")
def change_state() -> ResponseReturnValue:
    state, params = read_change()
    if not state:
        return json_response({})
    set_up = find_state(current_stub().states, state, params)
    try:
        return json_response(set_up(open_world(), params))
    except (StoreFull, TooManyWorlds):  # no 5xx, which the verifier would repeat for two minutes
        reason = "needs more records or worlds than there is room for"
        raise InvalidBody([FieldError("", reason)]) from None


# What GET shows


def readiness() -> dict[str, Any]:
    current_stub().worlds.open("").clock.change(0, freeze=None)  # which a store on a server writes
    return {"status": "ok"}


def show_clock() -> dict[str, Any]:
    clock = open_world().clock
    clock.refresh()
    now, is_frozen = clock.reading()
    return {"now": timestamp(now), "frozen": is_frozen}


def show_profile() -> dict[str, Any]:
    like = current_stub().parts.like
    return {"observed_at": like.get("observed_at"), "not_imitated": like.get("not_imitated", [])}


def show_requests() -> dict[str, Any]:
    filters = read_filters(request.args, current_stub().operations)
    return open_world().journal.document(**filters)


def show_verdict() -> dict[str, Any]:
    try:
        if unknown := request.args.keys() - {"fail_on", "allow"}:
            raise ValueError(f"{min(unknown)!r} is unknown: there are fail_on and allow")
        kinds = parse_kinds(request.args.getlist("fail_on")) or KINDS
    except ValueError as error:
        raise Problem(400, "unknown_query", f"{error}.") from None
    world, redactor = open_world(), current_stub().redactor
    allowed = request.args.getlist("allow")
    return Verdict(world.coverage, world.faults.unused(), (), redactor, kinds, allowed).gate()


SHOWN: dict[str, Callable[[], dict[str, Any]]] = {
    "health": lambda: {"status": "ok"},
    "ready": readiness,
    "worlds": lambda: current_stub().worlds.document(),
    "clock": show_clock,
    "faults": lambda: {"faults": open_world().faults.documents()},
    "grease": lambda: open_world().grease.current.document(),
    "like": show_profile,
    "requests": show_requests,
    "coverage": lambda: open_world().coverage.document(),
    "verdict": show_verdict,
}


def show(document: Callable[[], dict[str, Any]]) -> ResponseReturnValue:
    return json_response(document())


for name, document in SHOWN.items():
    controls.add_url_rule(f"/{name}", name, partial(show, document))
