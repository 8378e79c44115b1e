"""Pact's provider states: what a verifier sets up before it replays an interaction."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from flask import request

from records import Deployment, Project, Stage
from store import NameTaken
from web.problems import FieldError, Problem
from web.strict_json import read_json
from web.validation import check_name, require_valid, under

from . import rules
from .seed import Seed, id_to_text
from .worlds import Stub, World

Values = dict[str, str]
SetUp = Callable[[World, dict[str, Any]], Values]
Check = Callable[[dict[str, Any], tuple[str, ...]], Iterable[FieldError]]


def read_change() -> tuple[str, dict[str, Any]]:
    """State and params of a provider-state change, in either of its two forms.

    The verifier sends a JSON body, or everything in the query and then no body. A param that is
    null or empty is not given. Where there is nothing to set up, the state is empty.
    """
    if request.get_data():
        _, document = read_json()
    else:
        params = request.args.to_dict()
        document = {name: params.pop(name) for name in ("state", "action") if name in params}
        document["params"] = params
    require_valid(rules.check(document, "StateChange"))
    params = document.get("params") or {}
    given = {name: value for name, value in params.items() if value not in (None, "")}
    return "" if document.get("action") == "teardown" else document["state"], given


def find_state(stub: Stub, name: str, params: dict[str, Any]) -> SetUp:
    """What sets up the state of this name, a built-in one or a team's own, once its params are
    checked. Each may be set up repeatedly.
    """
    own = stub.options.states
    if name in own:
        return partial(add_seed, own[name])
    if name not in BUILT_IN:
        known = ", ".join(f'"{each}"' for each in [*BUILT_IN, *own])
        detail = f"No provider state has this name. These are known: {known}."
        raise Problem(404, "not_found", detail)
    check, set_up = BUILT_IN[name]
    if stub.like:
        for member, kind in (("id", "deployments"), ("project_id", "projects")):
            if stub.like.has_integers(kind):
                id_to_text(params, member)
    require_valid(under(("params",), check(params, stub.words)))
    return set_up


def add_seed(seed: Seed, world: World, params: dict[str, Any]) -> Values:
    """Add the records of a seed that are not in the store, and leave those that are."""
    store = world.store
    existing = {each.name: each.id for each in store.list_projects()}
    taken = {*existing.values()}
    new = [each for each in seed.projects if each.name not in existing and each.id not in taken]
    # A deployment is of the project that has the name.
    moved = {each.id: existing.get(each.name, each.id) for each in seed.projects} | {None: None}
    deployments = [each._replace(project_id=moved[each.project_id]) for each in seed.deployments]
    store.add(world.records_of(Seed(tuple(new), tuple(deployments))))
    values: Values = {}
    own = {value for each in seed.projects for value in (each.name, each.id)}
    for project in store.list_projects():
        if {project.name, project.id} & own:
            values |= project_values(project)
    for each in deployments:
        deployment = store.get_deployment(each.id)
        if deployment is not None and deployment.project_id == each.project_id:
            values |= deployment_values(deployment, world)
    return values


def no_projects(world: World, params: dict[str, Any]) -> Values:
    world.store.remove_projects()
    return {}


def a_project(world: World, params: dict[str, Any]) -> Values:
    """Create the project of this name unless it exists; one with a new name if none is given."""
    name = params.get("name") or world.ids("project")
    try:
        return project_values(world.store.create_project(name, json.dumps({"name": name})))
    except NameTaken:
        projects = world.store.list_projects()
        return next(project_values(each) for each in projects if each.name == name)


def a_deployment(world: World, params: dict[str, Any]) -> Values:
    """Create or replace a deployment."""
    timeline = (Stage(params.get("status", world.timeline[-1].status)),)
    wanted = params.get("id"), timeline, params.get("project_id")
    return deployment_values(world.store.put_deployment(*wanted)[0], world)


# With the check of its params, all of which are optional.
BUILT_IN: dict[str, tuple[Check, SetUp]] = {
    "no projects exist": (lambda params, words: (), no_projects),
    "a project exists": (lambda params, words: check_name({"name": "any", **params}), a_project),
    "a deployment exists": (
        lambda params, words: rules.check(params, "DeploymentParams", words),
        a_deployment,
    ),
}


def project_values(project: Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def deployment_values(deployment: Deployment, world: World) -> Values:
    return {
        "id": deployment.id,
        "deployment_id": deployment.id,
        "status": deployment.status(world.store.now()),
    } | ({"project_id": deployment.project_id} if deployment.project_id else {})
