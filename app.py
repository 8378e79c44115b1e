"""A stub of the Project and Deployment Service: the app and its three operations."""

import os
import sys

if __name__ == "__main__":
    # `python -I` leaves it out.
    sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    try:
        from cli.startup import prepare
    except KeyboardInterrupt:
        sys.exit(130)
    prepare()

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

from flask import Blueprint, Flask, Response, current_app, g, request
from flask.typing import ResponseReturnValue

from auth import DEFAULT_TOKEN, BearerAuth, bearer_check, read_token
from records import NO_RECORDS, timelines_of
from store import (
    MAX_PROJECTS,
    PACE,
    Clock,
    MemoryStore,
    NameTaken,
    NewId,
    Store,
    StoreFull,
    StoreUnavailable,
    random_id,
    utc_now,
)
from web.access_log import note_time
from web.files import read_file
from web.problems import Problem, handle_errors
from web.redaction import Redactor
from web.routing import CREATED, OPERATIONS, route_raw_path
from web.speedups import QuickFlask
from web.strict_json import JSON, read_json
from web.validation import check_project, require_valid

if TYPE_CHECKING:
    from stub import Seed, StubOptions

v1 = Blueprint("v1", __name__, url_prefix=OPERATIONS.rstrip("/"))
"""The interface's three operations (§4), and nothing else. `g.store` is the request's store."""


@v1.get("/projects")
def list_projects() -> ResponseReturnValue:
    return g.store.list_projects().representation, 200, JSON


@v1.post("/projects")
def create_project() -> ResponseReturnValue:
    name, sent = current_app.config["READ_PROJECT"](strict=current_app.config["STRICT"])
    project = g.store.create_project(name, sent)
    return project.representation, CREATED, JSON


def read_project(*, strict: bool) -> tuple[str, str]:
    """The name of the project that a client sent, and its JSON text."""
    text, document = read_json()
    require_valid(check_project(document, strict=strict))
    return document["name"], text


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


def create_app(
    *,
    tokens: Collection[str] = (DEFAULT_TOKEN,),
    clock: Clock = utc_now,
    new_id: NewId = random_id,
    pace: float = PACE,
    outcomes: Sequence[tuple[str, str]] = (),
    max_projects: int = MAX_PROJECTS,
    new_store: Callable[..., Store] = MemoryStore,
    seed: "Seed | None" = None,
    strict: bool = False,
    stub_options: "StubOptions | Literal[True] | None" = True,
    log: Callable[[Response], Response] | None = None,
    redactor: Redactor | None = None,
) -> Flask:
    """The WSGI app, empty unless there is a `seed`; two apps share nothing.

    `tokens` are all the valid ones, each a b64token (RFC 6750 §2.1), or `NAME=TOKEN` for the
    worlds of the tenant of that name alone, else `ValueError`. `clock`
    returns the time in UTC, `new_id` makes an id (`store.NewId`), `pace` is in seconds,
    `outcomes` are the last statuses of deployments by a shell pattern of the name of their project,
    and `new_store` makes a store of these. `strict` rejects query parameters and unknown members.
    `stub_options` may be True, for those by default, or None: then there are only `/v1` and the
    contract, and the package `stub` is not imported. `log` is the last step. `redactor` masks more
    than the tokens, such as previous ones.
    """
    app = QuickFlask(__name__, static_folder=None)
    route_raw_path(app)
    app.config.from_mapping(
        STRICT=strict, READ_PROJECT=read_project, PROVIDE_AUTOMATIC_OPTIONS=False
    )
    app.url_map.merge_slashes = False
    auth = BearerAuth(tokens, worlds=bool(stub_options))
    app.extensions["auth"] = auth  # for whoever replaces the tokens
    redactor = redactor or Redactor()
    redactor.add(read_token(each).value for each in tokens)
    contract = read_file("openapi.json")
    app.add_url_rule("/openapi.json", "contract", lambda: (contract, 200, JSON))
    app.register_blueprint(v1)

    # What a request passes before its view, and after it, in this order.
    before: list[Callable[[], Any]]
    after: list[Callable[[Response], Response]]
    if stub_options:
        from stub import OPEN_PATHS, Cors, StubOptions, Worlds, explain_preflight, install, observed

        options = StubOptions() if stub_options is True else stub_options
        contract = observed(contract, options.like)
        worlds = Worlds(
            new_store=new_store,
            clock=clock,
            new_id=new_id,
            pace=pace,
            outcomes=outcomes,
            max_projects=max_projects,
            seed=seed,
            options=options,
            openapi=contract,
            redactor=redactor,
        )
        steps = install(app, worlds)
        cors = Cors(options.cors_origins)
        before = [
            note_time,
            *([cors.respond_to_preflight] if options.cors_origins else []),
            bearer_check(auth, {"/openapi.json", *OPEN_PATHS}, explain_preflight),
            steps.enter_world,
            steps.decide_outcome,
        ]
        after = [*([cors.add_headers] if options.cors_origins else []), steps.finish]
    else:
        check_token = bearer_check(auth, {"/openapi.json"})
        timeline_for = timelines_of(pace, outcomes=outcomes)
        records = seed.records(clock(), new_id, timeline_for) if seed else NO_RECORDS
        store = new_store(
            clock,
            new_id,
            timeline_for=timeline_for,
            max_projects=max_projects,
            records=records,
            world="",
        )
        before = [note_time, check_token, enter_store(store)]
        after = []
    if strict:
        before.append(check_query)
    if log:
        after.append(log)
    for step in before:
        app.before_request(step)
    for last_step in reversed(after):  # Flask calls these in reverse
        app.after_request(last_step)
    handle_errors(app, STORE_PROBLEMS, redactor.text)
    return app


def enter_store(store: Store) -> Callable[[], None]:
    """The step that gives every request the same store, where there are no worlds."""

    def use_store() -> None:
        g.store = store

    return use_store


def check_query() -> None:
    """With --strict, reject query parameters of an operation."""
    if request.blueprint == v1.name and request.args:
        detail = "No operation has query parameters (--strict). Send the path alone."
        raise Problem(400, "unknown_query", detail)


if __name__ == "__main__":
    from cli.main import main

    sys.exit(main(create_app, sys.argv[1:], os.environ, sys.stdout, sys.stderr))
