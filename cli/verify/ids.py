"""The forms of the ids of a service, as a profile has them."""

from collections.abc import Iterator
from typing import Any

from .forms import Form, ids_form
from .observation import Observation, Part
from .readings import Readings, id_of
from .values import at, first_of, scalars


def observe_ids(readings: Readings, found: Observation) -> Part:
    """The forms of the ids that were seen."""
    forms = {
        "projects": form_of_projects(readings),
        "deployments": form_of_deployments(readings, found),
    }
    return {kind: form for kind, form in forms.items() if form}


def form_of_projects(readings: Readings) -> Form | None:
    run = readings.run
    places = run.places
    names = {}
    for project in places.listed:
        names[run.own_id(project)] = run.name_of(project)
    if run.creation is not None and places.mine is None:
        names[places.created_id] = run.created_name
    names.pop(None, None)
    return ids_form(list(names), list(names.values()))


def form_of_deployments(readings: Readings, found: Observation) -> Form | None:
    """The form of the ids of deployments: of one, and where the projects name theirs, of all."""
    run = readings.run
    other = readings.others_deployment
    if run.followed:
        seen = readings.deployment_id
        owner_id = run.places.created_id
    elif other is not None:
        seen = id_of(other)
        owner_id = run.own_id(readings.project_of(other))
    else:
        return None
    if seen == owner_id:
        return ids_form([seen], [], project_ids=[seen])
    ids = dict.fromkeys([seen, *ids_beside(seen, run.places.listed)])
    name = run.created_name
    if name and any(name in str(each) for each in ids):
        found.cannot_say("ids of deployments that are made from the name")
        return None
    return ids_form(list(ids), [])


def ids_beside(deployment_id: Any, projects: list[Any]) -> Iterator[Any]:
    """What stands in all projects where one of them has the id of a deployment."""
    for project in projects:
        path = first_of(path for path, value in scalars(project) if value == deployment_id)
        if path is None:
            continue
        for other in projects:
            found = at(other, path)
            if type(found) is type(deployment_id):
                yield found
