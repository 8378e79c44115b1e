"""A stub of the Project and Deployment Service: the app and its three operations."""

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from pkgutil import get_data

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))  # which `python -I` leaves out
    from startup import prepare

    prepare()

from flask import Blueprint, Flask, current_app, g, request
from flask.typing import ResponseReturnValue

import speedups
import stub
from auth import DEFAULT_TOKEN, BearerAuth, require_token
from problems import Problem, handle_errors, respond
from redaction import Redactor
from routing import route_raw_path
from store import (
    MAX_PROJECTS,
    PACE,
    Clock,
    MemoryStore,
    NameTaken,
    NewId,
    Store,
    StoreFull,
    random_id,
    utc_now,
)
from strict_json import JSON, read_json
from stub.seed import EMPTY, Seed, StoreFactory
from validation import check_project, require_valid

v1 = Blueprint("v1", __name__, url_prefix="/v1")
"""The interface's three operations (§4), and nothing else. `g.store` is the request's store."""


@v1.get("/projects")
def list_projects() -> ResponseReturnValue:
    return g.store.list_projects().representation, 200, JSON


@v1.post("/projects")
def create_project() -> ResponseReturnValue:
    text, document = read_json()
    require_valid(check_project(document, strict=current_app.config["STRICT"]))
    project = g.store.create_project(document["name"], text)
    return project.representation, 201, JSON


@v1.get("/deployments/<deployment_id>")
def get_deployment(deployment_id: str) -> ResponseReturnValue:
    store: Store = g.store
    deployment = store.get_deployment(deployment_id)
    if deployment is None:
        detail = (
            "No deployment has this id. Take one from the `latest_deployment_id` of a project in "
            "GET /v1/projects."
        )
        raise Problem(404, "deployment_not_found", detail)
    g.deployment_status = status = deployment.status(store.now())
    return deployment.representation(status), 200, JSON


@v1.errorhandler(NameTaken)
def name_taken(_: NameTaken) -> ResponseReturnValue:
    detail = "Another project has this name. Choose another: names are compared exactly."
    return respond(Problem(409, "name_taken", detail))


@v1.errorhandler(StoreFull)
def store_full(_: StoreFull) -> ResponseReturnValue:
    detail = "The store is full. Restart the service, or raise --max-projects."
    return respond(Problem(507, "store_full", detail))


def create_app(
    *,
    tokens: Collection[str] = (DEFAULT_TOKEN,),
    clock: Clock = utc_now,
    new_id: NewId = random_id,
    pace: float = PACE,
    max_projects: int = MAX_PROJECTS,
    new_store: Callable[..., Store] = MemoryStore,
    seed: Seed = EMPTY,
    strict: bool = False,
    stub_options: stub.Options | None = stub.DEFAULTS,
) -> Flask:
    """The WSGI app, empty unless there is a `seed`; two apps share nothing.

    `tokens` are all the valid ones, each a b64token (RFC 6750 §2.1), else `ValueError`. `clock`
    returns the time in UTC, `new_id` makes an id with a prefix, `pace` is in seconds, and
    `new_store` makes a store of these. `strict` rejects query parameters and unknown
    members. Without `stub_options` there are only `/v1` and the contract.
    """
    app = Flask(__name__, static_folder=None)
    speedups.install(app)  # before the first rule
    app.config.from_mapping(STRICT=strict, PROVIDE_AUTOMATIC_OPTIONS=False)
    app.url_map.merge_slashes = False
    redactor = Redactor(tokens)
    stores = StoreFactory(new_store, clock, new_id, pace, max_projects, seed)
    contract = read_contract()

    # Flask calls before_request functions in the order of their registration.
    app.before_request(route_raw_path)
    if stub_options:
        stub.prepare(app, stub_options)
        require_token(app, BearerAuth(tokens, worlds=True), {"/openapi.json", *stub.OPEN_PATHS})
        stub.install(app, stub_options, stores, contract, redactor)
    else:
        require_token(app, BearerAuth(tokens), {"/openapi.json"})
        use_one_store(app, stores.open())
    if strict:
        app.before_request(check_query)
    handle_errors(app, redactor.text)

    app.register_blueprint(v1)
    app.add_url_rule("/openapi.json", "contract", lambda: (contract, 200, JSON))
    return app


def read_contract() -> bytes:
    """openapi.json, which may be in a zip file, as this file may be."""
    contract = get_data("auth", "openapi.json")
    assert contract
    return contract


def use_one_store(app: Flask, store: Store) -> None:
    @app.before_request
    def use_store() -> None:
        g.store = store


def check_query() -> None:
    """With --strict, reject query parameters of an operation."""
    if request.blueprint == v1.name and request.args:
        detail = "No operation has query parameters (--strict). Send the path alone."
        raise Problem(400, "unknown_query", detail)


if __name__ == "__main__":
    from cli import main

    sys.exit(main(create_app))
