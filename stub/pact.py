"""Pact's provider states: what a verifier has set up before it replays an interaction."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from werkzeug.exceptions import NotFound

from body import FieldError, check_project, refuse, under
from store import Deployment, NameTaken, Project, Stage, Store, UnknownProject

from .seed import ID_RULE, STATUS_RULE, Seed, is_id, is_status

Values = dict[str, str]
Records = Callable[[Seed, datetime], tuple[list[Project], list[Deployment]]]


class UnknownState(NotFound):
    problem = "not_found"


class States:
    """The provider states, the built-in ones and a team's own; each may be set up again."""

    def __init__(self, own: Mapping[str, Seed]) -> None:
        self._own = own
        self._built_in = {
            "no projects exist": no_projects,
            "a project exists": a_project,
            "a deployment exists": a_deployment,
        }

    def set_up(
        self, state: str, params: dict[str, Any], store: Callable[[], Store], records: Records
    ) -> Values:
        """Bring the state about, and give the values that it made, for the verifier to inject."""
        if state in self._own:
            return add(self._own[state], store(), records)
        if state in self._built_in:
            return self._built_in[state](params, store)
        known = ", ".join(f'"{name}"' for name in {**self._built_in, **self._own})
        raise UnknownState(f"No provider state has this name. Known are {known}.")


def no_projects(params: dict[str, Any], store: Callable[[], Store]) -> Values:
    store().remove_projects()
    return {}


def a_project(params: dict[str, Any], store: Callable[[], Store]) -> Values:
    """`name`; the project of that name, if there is one."""
    wanted = {"name": params["name"]} if "name" in params else {}
    refuse(under(("params",), check_project(wanted)))
    while True:
        with suppress(NameTaken):
            return project_values(store().create_project(wanted["name"], json.dumps(wanted)))
        for project in store().list_projects():  # if it is gone by now, it can be made
            if project.name == wanted["name"]:
                return project_values(project)


def a_deployment(params: dict[str, Any], store: Callable[[], Store]) -> Values:
    """`id`, `status` and perhaps `project_id`; it replaces one of that id."""
    project_id = params.get("project_id")
    while True:
        refuse(under(("params",), check_deployment(params, store)))
        with suppress(UnknownProject):  # if it was there a moment ago, look again
            timeline = (Stage(params["status"]),)
            deployment, _ = store().put_deployment(params["id"], timeline, project_id)
            return deployment_values(deployment, store())


def check_deployment(params: dict[str, Any], store: Callable[[], Store]) -> Iterator[FieldError]:
    if not is_id(params.get("id")):
        yield FieldError("/id", ID_RULE)
    if not is_status(params.get("status")):
        yield FieldError("/status", STATUS_RULE)
    yield from check_project_id(params.get("project_id"), store)


def check_project_id(project_id: Any, store: Callable[[], Store]) -> Iterator[FieldError]:
    """An error unless there is such a project, or none is asked for."""
    if project_id is not None and all(each.id != project_id for each in store().list_projects()):
        yield FieldError("/project_id", "must be the id of a project that exists")


def add(seed: Seed, store: Store, records: Records) -> Values:
    """A team's own state: what is not there yet is added, what is stays as it is."""
    existing = {each.name: each.id for each in store.list_projects()}
    taken = {*existing.values()}
    moved = {each.id: existing[each.name] for each in seed.projects if each.name in existing}
    new = [each for each in seed.projects if each.name not in existing and each.id not in taken]
    deployments = [
        replace(each, project_id=moved.get(each.project_id, each.project_id))
        for each in seed.deployments
    ]
    store.add(*records(Seed(tuple(new), tuple(deployments)), store.now()))
    values: Values = {}
    names = {each.name for each in seed.projects}
    ids = {each.id for each in seed.projects}
    for project in store.list_projects():
        if project.name in names or project.id in ids:
            values |= project_values(project)
    for each in deployments:
        deployment = store.get_deployment(each.id)
        if deployment is not None:
            values |= deployment_values(deployment, store)
    return values


def project_values(project: Project) -> Values:
    return {
        "id": project.id,
        "project_id": project.id,
        "name": project.name,
        "deployment_id": project.latest_deployment_id,
    }


def deployment_values(deployment: Deployment, store: Store) -> Values:
    values = {
        "id": deployment.id,
        "deployment_id": deployment.id,
        "status": deployment.status(store.now()),
    }
    if deployment.project_id is not None:
        values["project_id"] = deployment.project_id
    return values
