"""Pact's provider states. A verifier sets up a state before it replays an interaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from flask import request

import records
from web import problems, validation
from web.strict_json import read_json

from ..world import rules
from ..world.seed import Seed, SeedProject, build_project, check_seed, convert_id
from ..world.world import Shared, World
from .operations import check_request

Values = dict[str, str]
Params = dict[str, Any]
SetUp = Callable[[World], Values]
CheckParams = Callable[[Shared, Params], Iterable[problems.FieldError]]


def read_change() -> tuple[str, Params, bool]:
    """Read the name of a state, its params, and whether to tear it down.

    The verifier sends a JSON body: `{"state": "a project exists", "params": {"name": "shop"}}`. Or
    it sends everything in the query. A param that is null counts as missing. Without a state, there
    is nothing to set up, and the name is empty.
    """
    if request.get_data():
        _, document = read_json()
    else:
        params = request.args.to_dict()
        document = {name: params.pop(name) for name in ("state", "action") if name in params}
        document["params"] = params
    validation.require_valid(check_request(document))
    params = document.get("params") or {}
    given = {name: value for name, value in params.items() if value is not None}
    return document["state"], given, document.get("action") == "teardown"


def find_state(shared: Shared, name: str, params: Params) -> SetUp:
    """Find a state of `--states`, or else a built-in state, and check its params.

    Return the function that sets it up. It may be called repeatedly.
    """
    own = shared.options.states
    if name in own:
        return partial(add_seed, own[name])
    if name in BUILT_IN:
        check, set_up = BUILT_IN[name]
        checked = dict(params)
        validation.require_valid(validation.prefix_errors(["params"], check(shared, checked)))
        return partial(set_up, checked)
    known = ", ".join(f'"{each}"' for each in {**BUILT_IN, **own})
    raise problems.Problem(
        404, "not_found", f"No provider state has this name. The states are {known}."
    )


def add_seed(seed: Seed, world: World) -> Values:
    """Add the records of a seed. A project whose name exists is left out.

    A deployment whose id exists is left out, too. Raises `InvalidBody` if a project with another
    name has the id of a new project.
    """
    store = world.store
    projects = store.list_projects()
    existing = {project.name: project.id for project in projects}
    new = [project for project in seed.projects if project.name not in existing]
    check_new_ids(new, {project.id: project.name for project in projects})
    # A deployment belongs to the existing project with the name.
    owners = {project.id: existing.get(project.name, project.id) for project in seed.projects}
    owners[None] = None
    deployments = [each._replace(project_id=owners[each.project_id]) for each in seed.deployments]
    missing = Seed(tuple(new), tuple(deployments))
    store.add(world.make_records(missing))
    # The values show the store. The last project and the last deployment win.
    values: Values = {}
    own = {project.name for project in seed.projects}
    for project in store.list_projects():
        if project.name in own:
            values |= show_project(project)
    for each in deployments:
        deployment = store.get_deployment(each.id)
        if deployment:
            values |= show_deployment(deployment, world)
    return values


def check_new_ids(new: Iterable[SeedProject], names: Mapping[str | None, str]) -> None:
    """Raise `InvalidBody` if new projects have the ids of others: `{"prj_website": "website"}`."""
    validation.require_valid(
        validation.make_error(
            f"cannot be set up: in this world the id {project.id} belongs to the project "
            f'"{problems.shorten(names[project.id])}", not to "{problems.shorten(project.name)}"',
            "state",
        )
        for project in new
        if project.id in names
    )


def remove_projects(params: Params, world: World) -> Values:
    world.store.remove_projects()
    return {}


def add_project(params: Params, world: World) -> Values:
    """Add a project, unless its name exists. Without a name, a new name is made."""
    name = params.get("name") or world.ids("project")
    project = build_project({**params, "name": name})
    return add_seed(Seed((project,)), world)


def put_deployment(params: Params, world: World) -> Values:
    store = world.store
    project_id = params.get("project_id")
    names: dict[Any, str] = {project.id: project.name for project in store.list_projects()}
    *_, last = world.timeline_for(names.get(project_id, ""))
    status = params.get("status", last.status)
    deployment, _ = store.put_deployment(params.get("id"), (records.Stage(status),), project_id)
    return show_deployment(deployment, world)


# These check params. All params are optional, and the ids of a profile may be numbers.


def check_no_params(shared: Shared, params: Params) -> Iterator[problems.FieldError]:
    for name in params:
        yield validation.make_error("is not a param of this state", name)


def check_project(shared: Shared, params: Params) -> Iterator[problems.FieldError]:
    convert_id(params, "id", "projects", shared.options.like)
    document = {"projects": [{"name": "any", **params}]}
    for error in check_seed(document, shared.options.like):
        yield problems.FieldError(error.pointer.removeprefix("/projects/0"), error.detail)


def check_deployment(shared: Shared, params: Params) -> Iterator[problems.FieldError]:
    convert_id(params, "id", "deployments", shared.options.like)
    convert_id(params, "project_id", "projects", shared.options.like)
    yield from rules.check_value(params, "DeploymentParams", shared.options.statuses)


BUILT_IN: dict[str, tuple[CheckParams, Callable[[Params, World], Values]]] = {
    "no projects exist": (check_no_params, remove_projects),
    "a project exists": (check_project, add_project),
    "a deployment exists": (check_deployment, put_deployment),
}


def show_project(project: records.Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def show_deployment(deployment: records.Deployment, world: World) -> Values:
    values = {
        "id": deployment.id,
        "deployment_id": deployment.id,
        "status": deployment.status(world.store.now()),
    }
    if deployment.project_id:
        values["project_id"] = deployment.project_id
    return values
