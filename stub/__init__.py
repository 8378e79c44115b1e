"""What makes the service a good stub, all of it under `/_stub`: the service runs without."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import HTTPException

from body import FieldError
from store import Clock, NewId, NewStore, Store

from .contract import Contract
from .control import control_routes
from .cors import allow_origins, check_origins, grants
from .coverage import Coverage
from .faults import Fault, Forced, preferred_status
from .grease import MAX_SEED, Greasing, parse_axes, vary
from .journal import Describer, Entry, Redact
from .pact import Records, States
from .seed import Seed
from .world import TooManyWorlds, World, WorldClock, Worlds

__all__ = ["MAX_SEED", "OPEN_PATHS", "check_origins", "grants", "install", "parse_axes"]

OPEN_PATHS = {"/_stub/health", "/_stub/openapi.json"}
CONTRACT = Path(__file__).with_name("openapi.json")
INJECTED = "This outcome was asked for: see `Prefer` and `/_stub/faults` in the README."


def own(proxy: Any) -> Any:
    """What one of Flask's proxies stands for: a proxy looks it up anew each time it is touched."""
    return proxy._get_current_object()


def is_recorded(path: str) -> bool:
    """Whether a request to this path is of the interface, or tries to be."""
    return not (path.startswith("/_stub/") or path in ("/openapi.json", "/"))


@lru_cache(maxsize=1024)
def status_in(deployment: bytes) -> str:
    """The status in the representation of a deployment."""
    status: str = json.loads(deployment)["status"]
    return status


class NoWorld(HTTPException):
    code = 507
    problem = "too_many_worlds"
    description = "There are 1,000 worlds. Reset one that is done, which frees it."


@dataclass(frozen=True)
class Stub:
    """What the app gets of it: the store of the request's world, and a report at the end."""

    store: Callable[[], Store]
    report: Callable[[], str]


def install(
    app: Flask,
    *,
    contract: bytes,
    answer: Callable[[bytes, int], Response],
    redact: Redact,
    clock: Clock,
    new_store: NewStore,
    new_id: NewId,
    records: Records,
    seed: Seed,
    states: Mapping[str, Seed],
    cors_origins: Collection[str],
    grease: tuple[str, ...],
    grease_seed: int,
    max_projects: int,
    sleep: Callable[[float], None],
) -> Stub:
    """Add worlds, control routes, faults, journal and coverage to an app with the bearer check.

    `contract` is openapi.json, `answer` makes a JSON response, `redact` takes tokens out of a text,
    and `records` makes the records of a seed at a time.
    """
    v1 = Contract(json.loads(contract))

    def make(of: Seed | None) -> World:
        world_clock, greasing = WorldClock(clock), Greasing(grease, grease_seed)

        def id_of_world(prefix: str) -> str:
            given, on = new_id(prefix), greasing.on
            return on.new_id(given) if on else given

        store = new_store(world_clock, id_of_world)
        store.reset(*records(seed if of is None else of, world_clock()))
        return World(world_clock, store, Coverage(v1), greasing)

    worlds = Worlds(make)
    describer = Describer(redact)

    def enter(environ: dict[str, Any]) -> World:
        """The world of a request, which holds on to it whatever becomes of that."""
        entered: World | None = environ.get("stub.world")
        if entered is None:
            try:
                entered = environ["stub.world"] = worlds.open(environ.get("app.world", ""))
            except TooManyWorlds:
                raise NoWorld from None
        return entered

    def world() -> World:
        return enter(own(request).environ)

    def reset(of: Seed | None) -> None:
        try:
            worlds.reset(request.environ["app.world"], of)
        except TooManyWorlds:
            raise NoWorld from None

    @app.before_request
    def force_outcome() -> None:
        environ = own(request).environ
        path = environ["PATH_INFO"]
        if not path.startswith("/v1/"):
            if is_recorded(path):
                enter(environ)
            return
        faults = enter(environ).faults
        if not faults and "HTTP_PREFER" not in environ:
            return
        fault = faults.take(request.method, request.path) if faults else None
        if fault is not None:
            environ["stub.fault"] = fault
            if fault.status is not None:
                raise forced(fault.status, "injected_fault", INJECTED)
            return
        status = preferred_status(environ["HTTP_PREFER"]) if "HTTP_PREFER" in environ else None
        if status:
            problem = v1.problem(v1.operation(request), status) or {}
            preferred = forced(
                status, problem.get("code", "injected_fault"), problem.get("detail", INJECTED)
            )
            preferred.headers["Preference-Applied"] = f"code={status}"
            preferred.errors = [FieldError(**error) for error in problem.get("errors", ())]
            raise preferred

    def forced(status: int, code: str, detail: str) -> Forced:
        error = Forced(status, code, detail)
        if status == 401:
            error.headers["WWW-Authenticate"] = v1.challenge
        if status == 405:
            methods = app.url_map.bind("", subdomain="").allowed_methods(request.path)
            error.headers["Allow"] = ", ".join(methods)
        return error

    @app.after_request
    def record(response: Response) -> Response:
        asked = own(request)
        environ = asked.environ
        if not is_recorded(environ["PATH_INFO"]) or "stub.preflight" in environ:
            return response
        entered: World = environ.get("stub.world") or worlds.open("")
        operation = v1.operation(asked)
        outcome = response.status_code
        code = json.loads(response.get_data())["code"] if outcome >= 400 else None
        shown = None
        is_shown = outcome == 200 and asked.method == "GET"
        if is_shown and operation and operation.id == "getDeployment":
            shown = status_in(b"".join(response.response))  # type: ignore[arg-type]
        greasing = entered.greasing.on
        applied = vary(greasing, response, v1, asked) if greasing else ()
        fault: Fault | None = environ.get("stub.fault")
        if fault is not None:
            fault.spoil(response, sleep, environ.get("server.close", lambda: None))
        entry = Entry(
            entered.clock(),
            describer.describe(asked, operation, "app.world" in environ),
            response.status_code,
            code,
            operation.id if operation else None,
            fault.id if fault else None,
            (time.perf_counter() - environ["app.started"]) * 1000,
            applied,
        )
        entered.coverage.count(entered.journal.append(entry), entry, outcome, shown)
        return response

    routes = Blueprint("stub", __name__, url_prefix="/_stub")
    own_contract = CONTRACT.read_bytes().rstrip()

    @routes.get("/health")
    def health() -> Response:
        return answer(b'{"status": "ok"}', 200)

    @routes.get("/openapi.json")
    def stub_contract() -> Response:
        return answer(own_contract, 200)

    app.register_blueprint(routes)
    app.register_blueprint(
        control_routes(
            world=world,
            reset=reset,
            states=States(states),
            records=records,
            max_projects=max_projects,
            answer=answer,
        )
    )
    if cors_origins:
        allow_origins(app, cors_origins)
    return Stub(lambda: world().store, lambda: worlds.open("").coverage.table())
