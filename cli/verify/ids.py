"""The forms of the ids of a service, as a profile has them."""

from .forms import Form, ids_form
from .observation import Observation, Part
from .readings import Readings, id_of


def observe_ids(readings: Readings, found: Observation) -> Part:
    """The forms of the ids that were seen."""
    forms = {
        "projects": form_of_projects(readings),
        "deployments": form_of_deployments(readings, found),
    }
    return {kind: form for kind, form in forms.items() if form}


def form_of_projects(readings: Readings) -> Form | None:
    run = readings.run
    names = {run.own_id(project): run.name_of(project) for project in run.places.listed}
    if run.creation is not None and run.places.mine is None:
        names[run.places.created_id] = run.created_name
    names.pop(None, None)
    return ids_form(list(names), list(names.values()))


def form_of_deployments(readings: Readings, found: Observation) -> Form | None:
    """The form of the id of the deployment that was read."""
    run = readings.run
    deployment = run.followed or readings.other_deployment
    if not deployment:
        return None
    own_id = id_of(deployment)
    owner_id = run.places.created_id
    if not run.followed:
        owner_id = run.own_id(readings.project_of(deployment[-1]))
    if own_id == owner_id:
        return {"same": True}
    if run.created_name and run.created_name in str(own_id):
        found.cannot_say("ids of deployments that are made from the name")
        return None
    return ids_form([own_id], [""])
