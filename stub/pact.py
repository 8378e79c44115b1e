"""Pact's provider states: what a verifier sets up before it replays an interaction."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from flask import request

from records import Deployment, Project, Records, Stage, truncate_to_milliseconds
from store import NameTaken, UnknownProject
from web.problems import FieldError, InvalidBody, Problem
from web.strict_json import read_json
from web.validation import check_project, require_valid, under

from .rules import ID, NO_SUCH_PROJECT, PROJECT, STATUS, Check, check_members, or_null, rule
from .seed import Seed
from .worlds import WorldStore

Values = dict[str, str]
MakeRecords = Callable[[Seed, datetime], Records]
SetUp = Callable[[WorldStore, dict[str, Any]], Values]

CHANGE = {
    "state": rule(lambda value: isinstance(value, str), "must be a string"),
    "params": or_null(rule(lambda value: isinstance(value, dict), "must be a JSON object")),
    "action": rule(
        lambda value: value in (None, "", "setup", "teardown"), "must be setup or teardown"
    ),
}

any_params = partial(check_members, checks={})
DEPLOYMENT = {"id": ID, "status": STATUS, "project_id": PROJECT}


class States:
    """The provider states: the built-in ones and a team's `own`. Each may be set up repeatedly.

    `make_records` makes the records of a seed at a time.
    """

    def __init__(self, own: Mapping[str, Seed], make_records: MakeRecords) -> None:
        self._make_records = make_records
        self._states: dict[str, tuple[Check, SetUp]] = {
            **BUILT_IN,
            **{name: (any_params, partial(self._add, seed)) for name, seed in own.items()},
        }

    def find(self, state: str, params: dict[str, Any]) -> Callable[[WorldStore], Values]:
        """What sets the state up in a store, and returns its values, for the verifier to inject."""
        if state not in self._states:
            known = ", ".join(f'"{name}"' for name in self._states)
            detail = f"No provider state has this name. These are known: {known}."
            raise Problem(404, "not_found", detail)
        check, set_up = self._states[state]
        given = {name: value for name, value in params.items() if value is not None}
        require_valid(under(("params",), check(given)))
        return lambda store: set_up(store, given)

    def _add(self, seed: Seed, store: WorldStore, params: dict[str, Any]) -> Values:
        """Add the records of a seed that are not in the store, and leave those that are."""
        existing = {each.name: each.id for each in store.list_projects()}
        taken = {*existing.values()}
        new = [each for each in seed.projects if each.name not in existing and each.id not in taken]
        moved = {each.id: existing.get(each.name, each.id) for each in seed.projects}
        deployments = [
            each._replace(project_id=each.project_id and moved[each.project_id])
            for each in seed.deployments
        ]
        made_at = truncate_to_milliseconds(store.now())
        store.add(self._make_records(Seed(tuple(new), tuple(deployments)), made_at), made_at)
        values: Values = {}
        names = {each.name for each in seed.projects}
        ids = {each.id for each in seed.projects}
        for project in store.list_projects():
            if project.name in names or project.id in ids:
                values |= project_values(project)
        for each in deployments:
            deployment = store.get_deployment(each.id)
            if deployment is not None and deployment.project_id == each.project_id:
                values |= deployment_values(deployment, store)
        return values


def no_projects(store: WorldStore, params: dict[str, Any]) -> Values:
    store.remove_projects()
    return {}


def a_project(store: WorldStore, params: dict[str, Any]) -> Values:
    """Create the project of this name unless it exists."""
    name = params.get("name") or unused_name(store)
    try:
        return project_values(store.create_project(name, json.dumps({"name": name})))
    except NameTaken:
        return next(project_values(each) for each in store.list_projects() if each.name == name)


def check_optional_name(params: dict[str, Any]) -> Iterator[FieldError]:
    return check_project({"name": "any", **params}, reserved=())


def unused_name(store: WorldStore) -> str:
    names = {project.name for project in store.list_projects()}
    numbers = count(len(names) + 1)
    return next(name for number in numbers if (name := f"project {number}") not in names)


def a_deployment(store: WorldStore, params: dict[str, Any]) -> Values:
    """Create or replace a deployment."""
    timeline = (Stage(params.get("status", "succeeded")),)
    try:
        deployment, _ = store.put_deployment(params.get("id"), timeline, params.get("project_id"))
    except UnknownProject:
        raise InvalidBody([FieldError("/params/project_id", NO_SUCH_PROJECT)]) from None
    return deployment_values(deployment, store)


# With the check of its params, all of which are optional.
BUILT_IN: dict[str, tuple[Check, SetUp]] = {
    "no projects exist": (any_params, no_projects),
    "a project exists": (check_optional_name, a_project),
    "a deployment exists": (partial(check_members, checks=DEPLOYMENT), a_deployment),
}


def project_values(project: Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def deployment_values(deployment: Deployment, store: WorldStore) -> Values:
    status, project_id = deployment.status(store.now()), deployment.project_id
    values = {"id": deployment.id, "deployment_id": deployment.id, "status": status}
    return values if project_id is None else {**values, "project_id": project_id}


def read_change() -> tuple[str, dict[str, Any], str]:
    """State, params and action of a provider-state change, in either of its two forms.

    The verifier sends a JSON body, or everything in the query and then no body.
    """
    if request.get_data():
        _, document = read_json()
    else:
        # The query has no null: what is empty there is not given.
        query = {name: value for name, value in request.args.items() if value or name == "state"}
        document = {name: query.pop(name) for name in ("state", "action") if name in query}
        document["params"] = query
    require_valid(check_members(document, CHANGE, ("state",)))
    return document["state"], document.get("params") or {}, document.get("action") or "setup"
