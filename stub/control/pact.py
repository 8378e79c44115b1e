"""Pact's provider states: what a verifier sets up before it replays an interaction."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from flask import request

from records import Deployment, Project, Stage
from web.problems import FieldError, Problem
from web.strict_json import read_json
from web.validation import make_error, prefix_errors, require_valid

from ..world import rules
from ..world.seed import Seed, build_project, check_seed, convert_id
from ..world.world import Common, WorldState

Values = dict[str, str]
Params = dict[str, Any]
SetUp = Callable[[WorldState], Values]
CheckParams = Callable[[Common, Params], Iterable[FieldError]]


def read_change() -> tuple[str, Params, bool]:
    """Read the state of a provider-state change, its params, and whether it is a teardown.

    The verifier sends a JSON body, or everything in the query and then no body. A param that is
    null is not given. Where there is nothing to set up, the state is empty.
    """
    if request.get_data():
        _, document = read_json()
    else:
        params = request.args.to_dict()
        document = {name: params.pop(name) for name in ("state", "action") if name in params}
        document["params"] = params
    require_valid(rules.check_request(document))
    params = document.get("params") or {}
    given = {name: value for name, value in params.items() if value is not None}
    return document["state"], given, document.get("action") == "teardown"


def find_state(common: Common, name: str, params: Params) -> SetUp:
    """What sets up the state of this name, a built-in one or a team's own, once its params are
    checked. Each may be set up repeatedly.
    """
    own = common.options.states
    if name in own:
        return partial(add_seed, own[name])
    if name in BUILT_IN:
        check, change = BUILT_IN[name]
        checked = dict(params)
        require_valid(prefix_errors(["params"], check(common, checked)))
        return partial(change, checked)
    known = ", ".join(f'"{each}"' for each in [*BUILT_IN, *own])
    detail = f"No provider state has this name. These are known: {known}."
    raise Problem(404, "not_found", detail)


def add_seed(seed: Seed, world: WorldState) -> Values:
    """Add the records of a seed, but for those whose name or id is in the store."""
    store = world.store
    existing = {project.name: project.id for project in store.list_projects()}
    new = [project for project in seed.projects if project.name not in existing]
    # A deployment is of the project that has the name.
    owners = {project.id: existing.get(project.name, project.id) for project in seed.projects}
    owners[None] = None
    deployments = [each._replace(project_id=owners[each.project_id]) for each in seed.deployments]
    missing = Seed(tuple(new), tuple(deployments))
    store.add(world.records_of(missing))
    # Of all that is in the store now; the last one wins.
    values: Values = {}
    own = {project.name for project in seed.projects}
    for project in store.list_projects():
        if project.name in own:
            values |= project_values(project)
    for each in deployments:
        deployment = store.get_deployment(each.id)
        if deployment:
            values |= deployment_values(deployment, world)
    return values


def no_projects(params: Params, world: WorldState) -> Values:
    world.store.remove_projects()
    return {}


def a_project(params: Params, world: WorldState) -> Values:
    """Add the project of a seed unless its name exists; with a new name if none is given."""
    name = params.get("name") or world.ids("project")
    project = build_project({**params, "name": name})
    return add_seed(Seed((project,)), world)


def a_deployment(params: Params, world: WorldState) -> Values:
    store = world.store
    project_id = params.get("project_id")
    projects = {project.id: project for project in store.list_projects()}
    name = ""
    if project_id in projects:
        name = projects[project_id].name
    *_, last = world.timeline_for(name)
    status = params.get("status", last.status)
    deployment, _ = store.put_deployment(params.get("id"), (Stage(status),), project_id)
    return deployment_values(deployment, world)


# The checks of params, all of which are optional. The ids of a profile may be numbers.


def check_none(common: Common, params: Params) -> Iterator[FieldError]:
    for name in params:
        yield make_error("is not a known parameter", name)


def check_project(common: Common, params: Params) -> Iterator[FieldError]:
    convert_id(params, "id", "projects", common.options.like)
    document = {"projects": [{"name": "any", **params}]}
    for error in check_seed(document, common.options.like):
        yield FieldError(error.pointer.removeprefix("/projects/0"), error.detail)


def check_deployment(common: Common, params: Params) -> Iterator[FieldError]:
    convert_id(params, "id", "deployments", common.options.like)
    convert_id(params, "project_id", "projects", common.options.like)
    yield from rules.check(params, "DeploymentParams", common.options.words)


BUILT_IN: dict[str, tuple[CheckParams, Callable[[Params, WorldState], Values]]] = {
    "no projects exist": (check_none, no_projects),
    "a project exists": (check_project, a_project),
    "a deployment exists": (check_deployment, a_deployment),
}


def project_values(project: Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def deployment_values(deployment: Deployment, world: WorldState) -> Values:
    values = {
        "id": deployment.id,
        "deployment_id": deployment.id,
        "status": deployment.status(world.store.now()),
    }
    if deployment.project_id:
        values["project_id"] = deployment.project_id
    return values
