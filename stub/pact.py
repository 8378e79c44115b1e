"""Pact's provider states: what a verifier sets up before it replays an interaction."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import Any

from flask import request

from records import Deployment, Project, Records, Stage, truncate_to_milliseconds
from store import NameTaken, UnknownProject
from web.problems import FieldError, InvalidBody, Problem
from web.strict_json import read_json
from web.validation import check_project, require_valid, under

from .rules import ID_RULE, STATUS_RULE, is_id, is_status
from .seed import Seed
from .worlds import WorldStore

NO_SUCH_PROJECT = FieldError("/project_id", "must be the id of a project that exists")

Values = dict[str, str]
OpenStore = Callable[[], WorldStore]
"""Opens the store of the request's world. Call it after validation."""

MakeRecords = Callable[[Seed, datetime], Records]


class States:
    """The provider states: the built-in ones and a team's `own`. Each may be set up repeatedly.

    `make_records` makes the records of a seed at a time.
    """

    def __init__(self, own: Mapping[str, Seed], make_records: MakeRecords) -> None:
        self._own = own
        self._make_records = make_records
        self._built_in = {
            "no projects exist": no_projects,
            "a project exists": a_project,
            "a deployment exists": a_deployment,
        }

    def set_up(self, state: str, params: dict[str, Any], open_store: OpenStore) -> Values:
        """Set the state up, and return the values that it made, for the verifier to inject."""
        if state in self._own:
            return self.add(self._own[state], open_store())
        if state in self._built_in:
            return self._built_in[state](params, open_store)
        known = ", ".join(f'"{name}"' for name in {**self._built_in, **self._own})
        raise Problem(
            404, "not_found", f"No provider state has this name. These are known: {known}."
        )

    def add(self, seed: Seed, store: WorldStore) -> Values:
        """Add the records of a seed that are not in the store, and leave those that are."""
        existing = {each.name: each.id for each in store.list_projects()}
        taken = {*existing.values()}
        moved: dict[str | None, str] = {
            each.id: existing[each.name]
            for each in seed.projects
            if each.id is not None and each.name in existing
        }
        new = [each for each in seed.projects if each.name not in existing and each.id not in taken]
        deployments = [
            each._replace(project_id=moved.get(each.project_id, each.project_id))
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


def no_projects(params: dict[str, Any], open_store: OpenStore) -> Values:
    open_store().remove_projects()
    return {}


def a_project(params: dict[str, Any], open_store: OpenStore) -> Values:
    """`name` is optional. Create the project of that name unless it exists."""
    name = params.get("name")
    if name is None:
        name = unused_name(open_store())
    document = {"name": name}
    require_valid(under(("params",), check_project(document)))
    store = open_store()
    try:
        return project_values(store.create_project(name, json.dumps(document)))
    except NameTaken:
        for project in store.list_projects():
            if project.name == name:
                return project_values(project)
    raise InvalidBody([FieldError("/params/name", "was removed by another request meanwhile")])


def unused_name(store: WorldStore) -> str:
    projects = store.list_projects()
    names = {project.name for project in projects}
    numbers = count(len(projects) + 1)
    return next(name for number in numbers if (name := f"project {number}") not in names)


def a_deployment(params: dict[str, Any], open_store: OpenStore) -> Values:
    """`id`, `status`, `project_id` are optional. Create or replace a deployment."""
    given = {name: value for name, value in params.items() if value is not None}
    require_valid(under(("params",), check_deployment_params(given)))
    store = open_store()
    timeline = (Stage(given.get("status", "succeeded")),)
    try:
        deployment, _ = store.put_deployment(given.get("id"), timeline, given.get("project_id"))
    except UnknownProject:
        raise InvalidBody([*under(("params",), [NO_SUCH_PROJECT])]) from None
    return deployment_values(deployment, store)


def check_deployment_params(params: dict[str, Any]) -> Iterator[FieldError]:
    if "id" in params and not is_id(params["id"]):
        yield FieldError("/id", ID_RULE)
    if "status" in params and not is_status(params["status"]):
        yield FieldError("/status", STATUS_RULE)
    yield from check_project_id(params)


def check_project_id(document: dict[str, Any]) -> Iterator[FieldError]:
    """An error unless `project_id` is a string or null. The store checks that it exists."""
    if not isinstance(document.get("project_id", ""), str | None):
        yield NO_SUCH_PROJECT


def project_values(project: Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def deployment_values(deployment: Deployment, store: WorldStore) -> Values:
    values = {
        "id": deployment.id,
        "deployment_id": deployment.id,
        "status": deployment.status(store.now()),
    }
    if deployment.project_id is not None:
        values["project_id"] = deployment.project_id
    return values


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
    state, action = document.get("state"), document.get("action")
    params = {} if document.get("params") is None else document["params"]
    require_valid(check_change(state, params, action))
    return str(state), params, action or "setup"


def check_change(state: Any, params: Any, action: Any) -> Iterator[FieldError]:
    if not isinstance(state, str):
        yield FieldError("/state", "must be a string")
    if not isinstance(params, dict):
        yield FieldError("/params", "must be a JSON object")
    if action not in (None, "", "setup", "teardown"):
        yield FieldError("/action", "must be setup or teardown")
