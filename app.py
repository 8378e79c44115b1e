"""The Project and Deployment Service. `python app.py` starts the stub around it: see the end."""

import os
import sys
from collections.abc import Callable

from flask import Blueprint, Flask, Request, current_app, g, request
from flask.typing import ResponseReturnValue

from auth import Authenticate, allow_list, require_bearer
from store import MemoryStore, NameTaken, Store, StoreFull, StoreUnavailable
from web.files import read_file
from web.problems import Problem, handle_errors
from web.routing import CREATED, PREFIX, route_raw_path
from web.strict_json import JSON, JSONRequest, read_json
from web.validation import check_project, require_valid

v1 = Blueprint("v1", __name__, url_prefix=PREFIX.rstrip("/"))
"""The interface's three operations (§4), and nothing else. `g.store` is the request's store."""


@v1.before_request
def check_query() -> None:
    """With `strict`, reject query parameters."""
    if current_app.config["STRICT"] and request.args:
        detail = "No operation has query parameters (--strict). Send the path alone."
        raise Problem(400, "unknown_query", detail)


@v1.get("/projects")
def list_projects() -> ResponseReturnValue:
    store: Store = g.store
    return store.list_projects().representation, 200, JSON


@v1.post("/projects")
def create_project() -> ResponseReturnValue:
    store: Store = g.store
    text, document = read_json()
    require_valid(check_project(document, strict=current_app.config["STRICT"]))
    project = store.create_project(document["name"], text)
    return project.representation, CREATED, JSON


@v1.get("/deployments/<deployment_id>")
def get_deployment(deployment_id: str) -> ResponseReturnValue:
    store: Store = g.store
    deployment = store.get_deployment(deployment_id)
    if deployment is None:
        raise unknown_deployment()
    status = deployment.status(store.now())
    return deployment.representation(status), 200, JSON


def unknown_deployment() -> Problem:
    """Return the 404 for an id that no deployment has."""
    detail = (
        "No deployment has this id. Take one from the `latest_deployment_id` of a project in "
        "GET /v1/projects."
    )
    return Problem(404, "deployment_not_found", detail)


STORE_PROBLEMS = {
    NameTaken: Problem(
        409,
        "name_taken",
        "Another project has this name. Choose another: names are compared exactly.",
    ),
    StoreFull: Problem(
        507, "store_full", "The store is full. Reset the world, or raise --max-projects."
    ),
    StoreUnavailable: Problem(
        503,
        "store_unavailable",
        "The external store cannot be used: the log on stderr says why. Repeat the request in a "
        "second; if it was a POST, it may have created the project.",
        headers={"Retry-After": "1"},
    ),
}


def reads_contract(request: Request) -> bool:
    """Whether a request is for the contract, which needs no token."""
    return request.path == "/openapi.json" and request.method in ("GET", "HEAD")


def create_app(
    authenticate: Authenticate | None = None,
    *,
    is_open: Callable[[Request], bool] = reads_contract,
    strict: bool = False,
    contract: bytes | None = None,
) -> Flask:
    """The WSGI app; two apps share nothing. By default `dev-token` opens one `MemoryStore`.

    `is_open` tells which requests need no token, `strict` rejects query parameters and members that
    the contract lacks, and `contract` is served in place of openapi.json.
    """
    app = Flask(__name__, static_folder=None)
    app.request_class = JSONRequest
    app.config.from_mapping(STRICT=strict, PROVIDE_AUTOMATIC_OPTIONS=False)
    route_raw_path(app)
    app.before_request(require_bearer(authenticate or allow_list(MemoryStore()), is_open))
    document = contract or read_file("openapi.json")
    app.add_url_rule("/openapi.json", "contract", lambda: (document, 200, JSON))
    app.register_blueprint(v1)
    handle_errors(app, STORE_PROBLEMS)
    return app


if __name__ == "__main__":
    from cli.main import main
    from stub import create_stub

    sys.exit(main(create_stub, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
