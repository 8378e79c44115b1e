"""Pact's provider states: what a verifier sets up before it replays an interaction."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from flask import request

from records import Deployment, Project, Stage
from store import NameTaken, Store
from web.problems import FieldError, Problem
from web.strict_json import read_json
from web.validation import check_name, require_valid, under

from . import rules
from .seed import Seed, SeedProject, id_to_text
from .worlds import SetUp, Stub, World

Values = dict[str, str]
Params = dict[str, Any]
Change = Callable[[World], Values]
Check = Callable[[Params, tuple[str, ...]], Iterable[FieldError]]

MAX_SET_UPS = 20  # of a world, that a teardown can take back


def read_change() -> tuple[bool, str, Params]:
    """Whether a provider-state change is a teardown, its state, and its params, in either of its
    two forms.

    The verifier sends a JSON body, or everything in the query and then no body. A param that is
    null is not given. Where there is nothing to set up, the state is empty.
    """
    if request.get_data():
        _, document = read_json()
    else:
        params = request.args.to_dict()
        document = {name: params.pop(name) for name in ("state", "action") if name in params}
        document["params"] = params
    require_valid(rules.check(document, "StateChange"))
    params = document.get("params") or {}
    given = {name: value for name, value in params.items() if value is not None}
    return document.get("action") == "teardown", document["state"], given


def find_state(stub: Stub, name: str, params: Params) -> Change:
    """What sets up the state of this name, a built-in one or a team's own, once its params are
    checked. Each may be set up repeatedly.
    """
    own = stub.options.states
    if name in own:
        change = partial(add_seed, own[name])
    elif name in BUILT_IN:
        check, change_by = BUILT_IN[name]
        checked = {**params}
        if stub.like:
            for member, kind in (("id", "deployments"), ("project_id", "projects")):
                if stub.like.has_integers(kind):
                    id_to_text(checked, member)
        require_valid(under(("params",), check(checked, stub.words)))
        change = partial(change_by, checked)
    else:
        known = ", ".join(f'"{each}"' for each in [*BUILT_IN, *own])
        detail = f"No provider state has this name. These are known: {known}."
        raise Problem(404, "not_found", detail)

    def set_up(world: World) -> Values:
        before = world.store.records()
        values = change(world)
        world.set_ups.append(SetUp(name, params, before))
        del world.set_ups[:-MAX_SET_UPS]
        return values

    return set_up


def take_back(name: str, params: Params, world: World) -> Values:
    """Bring back the records of before the latest set-up of this state with these params, if there
    was one. What was set up after it, and what its requests changed, goes, too.
    """
    for index, each in reversed([*enumerate(world.set_ups)]):
        if (each.name, each.params) == (name, params):
            world.store.restore(each.before)
            del world.set_ups[index:]
            break
    return {}


def add_seed(seed: Seed, world: World) -> Values:
    """Add the records of a seed that are not in the store, and leave those that are.

    Raises `InvalidBody` if the store has others of the same ids: the state would not be set up.
    """
    store = world.store
    existing = {each.name: each.id for each in store.list_projects()}
    new = [each for each in seed.projects if each.name not in existing]
    # A deployment is of the project that has the name.
    moved = {each.id: existing.get(each.name, each.id) for each in seed.projects} | {None: None}
    deployments = [each._replace(project_id=moved[each.project_id]) for each in seed.deployments]
    require_valid(find_others(new, deployments, store))
    store.add(world.records_of(Seed(tuple(new), tuple(deployments))))
    values: Values = {}
    own = {each.name for each in seed.projects}
    for project in store.list_projects():
        if project.name in own:
            values |= project_values(project)
    for each in deployments:
        if deployment := store.get_deployment(each.id):
            values |= deployment_values(deployment, world)
    return values


def find_others(
    projects: Iterable[SeedProject], deployments: Iterable[Deployment], store: Store
) -> Iterator[FieldError]:
    """The records of a state whose ids the store has for others."""
    names = {each.id: each.name for each in store.list_projects()}
    for project in projects:
        if project.id in names:
            other = names[project.id]
            yield FieldError(
                "/state", f"its project {project.name} has the id {project.id}, as has {other} here"
            )
    for each in deployments:
        found = store.get_deployment(each.id)
        if found and (found.project_id, found.timeline) != (each.project_id, each.timeline):
            reason = f"its deployment {each.id} exists with another project or other statuses"
            yield FieldError("/state", f"{reason}: use a teardown, or reset the world")


def no_projects(params: Params, world: World) -> Values:
    world.store.remove_projects()
    return {}


def a_project(params: Params, world: World) -> Values:
    """Create the project of this name unless it exists; one with a new name if none is given."""
    name = params.get("name") or world.ids("project")
    try:
        return project_values(world.store.create_project(name, json.dumps({"name": name})))
    except NameTaken:
        projects = world.store.list_projects()
        return next(project_values(each) for each in projects if each.name == name)


def a_deployment(params: Params, world: World) -> Values:
    """Create or replace a deployment."""
    project = world.store.list_projects().by_id.get(params.get("project_id", ""))
    final = world.timeline_for(project.name if project else "")[-1]
    timeline = (Stage(params.get("status", final.status)),)
    wanted = params.get("id"), timeline, params.get("project_id")
    return deployment_values(world.store.put_deployment(*wanted)[0], world)


# With the check of its params, all of which are optional.
BUILT_IN: dict[str, tuple[Check, Callable[[Params, World], Values]]] = {
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
