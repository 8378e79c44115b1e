"""Makes the profile of a service from what a run has exchanged: its bodies with markers."""

import copy
from datetime import UTC, datetime
from typing import Any

from profiles.check import errors_in
from profiles.markers import CHOICE, RECORD, places_of_projects, values_below
from profiles.markers import replaced as with_text
from web.validation import pointer

from .constants import Constants
from .errors import common_form, rejections, without_echo
from .exchange import Exchange
from .forms import example_of, ids_form
from .marks import ListMarks, named
from .observation import Observation, Part
from .places import has_status_name, is_of_deployment, texts_of_status
from .readings import Reading, Readings, id_of
from .run import DEPLOYMENTS, LISTS, Run
from .values import (
    NEWEST,
    Path,
    at,
    first_of,
    is_same,
    order_of,
    parse_seconds,
    replaced,
    scalars,
    text_at,
)

STATUSES_OF_CREATION = (200, 201, 202)


def observe(run: Run) -> Observation:
    """Observe a service in what a run has exchanged."""
    last = run.exchanges[-1]
    day = datetime.fromtimestamp(last.sent_at, UTC)
    readings = Readings(run)
    own = readings.own()
    others = list(readings.others())
    constants = Constants(run.redactor, others, own, readings.names())
    observation = Observation(run, readings, constants, {"observed_at": f"{day:%Y-%m-%d}"})
    listed = list_form(observation)
    parts = {
        "list": listed,
        "create": create_form(observation),
        "deployment": deployment_form(observation, listed),
        "errors": error_forms(observation),
        "ids": examples_of_ids(observation),
    }
    parts = {"statuses": statuses_of(observation), **parts}
    for name, part in parts.items():
        if part:
            observation.profile[name] = part
    if "statuses" not in observation.profile and listed:
        listed["body"] = with_text(listed["body"], CHOICE, "text")
    remove_invalid(observation)
    hoist_content_type(observation.profile)
    for place, value in constants.kept.items():
        _, name, _ = place.split("/", 2)
        if name in observation.profile:
            observation.kept[place] = value
    if constants.signed:
        places = ", ".join(constants.signed)
        observation.cannot_say(f"URLs with a signature or a password: {places}")
    if observation.left_out:
        names = ", ".join(sorted(observation.left_out))
        observation.cannot_say(f"header fields that vary: {names}")
    return observation


def statuses_of(observation: Observation) -> Part | None:
    """The statuses of the run of the created deployment, or the one that another has."""
    words = [*observation.readings.words, observation.word]
    run = list(dict.fromkeys(word for word in words if word))
    return {"run": run} if run else None


def created_body(observation: Observation, kind: str, readings: list[Reading], place: str) -> Any:
    """The body of the created project, or of its deployment, of what was read of it."""
    marks = observation.readings.marks_of_created(kind)
    marks.status_paths += observation.readings.status_paths(readings)
    status_path = first_of(marks.status_paths)
    bodies = []
    for reading in readings:
        word = text_at(reading.body, status_path)
        if not word:  # this body has no status: that of the deployment counts
            word = reading.before
        bodies.append((word, marks.mark(reading.body)))
    observation.note_times(readings[-1].body, place)
    return observation.clean(bodies, place)


# The list


def list_form(observation: Observation) -> Part | None:
    path = observation.run.items_path
    lists = lists_with_projects(observation)
    if path is None or not lists:
        return None
    last = lists[-1]
    marks = list_marks(observation, last, path)
    place = "/list/body"
    item_place = place + pointer(*path, 0)
    bodies = [("", marks.mark(each.json)) for each in lists]
    around = observation.clean(bodies, place)
    if marks.is_sure:
        item = created_body(observation, "project", observation.readings.of_project(), item_place)
    else:
        item = hidden_project(observation, last)
    body = replaced(around, path, [item])
    form = observation.form("list", lists, body, marks.mark_field)
    if is_newest_first(observation, last):
        form["order"] = NEWEST
    observation.note_status("list", last)
    return form


def lists_with_projects(observation: Observation) -> list[Exchange]:
    """The lists with the created project, or with any; none if a profile cannot have them."""
    run = observation.run
    asked = run.accepted(*LISTS)
    if not asked:
        return []
    last = asked[-1]
    if not observation.is_strict(last, "list"):
        return []
    if run.items_path is None:
        observation.unreadable.append("list")
    mine = list(observation.readings.mine)
    return mine or [each for each in asked if run.items_of(each)]


def list_marks(observation: Observation, exchange: Exchange, path: Path) -> ListMarks:
    run = observation.run
    items = run.items_of(exchange)
    first = run.own_id(items[0])
    last = run.own_id(items[-1])
    return ListMarks(
        items_path=path,
        size=len(items),
        ids=named({"first.id": first, "last.id": last}),
        is_map=observation.constants.is_map,
        is_sure=exchange in observation.readings.mine,
    )


def hidden_project(observation: Observation, exchange: Exchange) -> Any:
    """The form of each project, without the values of any."""
    first, *others = observation.run.items_of(exchange)
    marks = observation.readings.marks_of_other("project", first)
    if others:  # a name may be a value, as in a map by the names of environments
        marks.names = names_in(others)
    for path, _ in scalars(first):
        if has_status_name(path) and is_of_deployment(path[:-1]):
            marks.status_paths.append(path)
    return marks.mark(first)


def is_newest_first(observation: Observation, exchange: Exchange) -> bool:
    items = observation.run.items_of(exchange)
    first = items[0]
    mine = observation.readings.mine.get(exchange)
    if mine is not None:
        return len(items) > 1 and first is mine
    for path, value in scalars(first):
        if parse_seconds(value) is not None:
            times = [parse_seconds(at(item, path)) for item in items]
            return order_of(times) == NEWEST
    return False


# The creation and the deployment


def create_form(observation: Observation) -> Part | None:
    run = observation.run
    readings = observation.readings
    creation = run.creation
    if creation is None or not observation.is_strict(creation, "create"):
        return None
    request = observation.constants.clean(run.request, "/create/request")
    body = created_body(observation, "project", readings.of_creation(), "/create/body")
    marks = readings.marks_of_created("project")
    form = observation.form("create", [creation], body, marks.mark_field)
    status = creation.status
    if status in STATUSES_OF_CREATION:
        form["status"] = status
    else:
        observation.cannot_say(f"the status of a creation: {status}")
    return {"request": request, **tolerance_of(run), **form}


def deployment_form(observation: Observation, listed: Part | None) -> Part | None:
    run = observation.run
    readings = observation.readings
    asked = run.accepted(*DEPLOYMENTS)
    exchanges = run.followed or readings.other_deployment or asked
    if not exchanges:
        return None
    first = exchanges[0]
    last = exchanges[-1]
    if not observation.is_strict(last, "deployment"):
        return None
    observation.note_status("deployment", first)
    if not run.followed:
        return other_deployment(observation, exchanges, listed or {})
    body = created_body(observation, "deployment", readings.of_deployment(), "/deployment/body")
    marks = readings.marks_of_created("deployment")
    return observation.form("deployment", exchanges, body, marks.mark_field)


def other_deployment(observation: Observation, exchanges: list[Exchange], listed: Part) -> Part:
    """The form of a deployment that was not created, with its values only if it was given.

    Without them it has the header fields that the list has, too.
    """
    readings = observation.readings
    first = exchanges[0]
    marks = readings.marks_of_other("deployment", readings.project_of(first))
    marks.is_shown = readings.is_given(first)
    texts = texts_of_status(first.json)
    status_path = first_of(path for path in texts if has_status_name(path))
    if status_path is not None:
        marks.status_paths.append(status_path)
        observation.word = texts[status_path]
    place = "/deployment/body"
    bodies = [("", marks.mark(each.json)) for each in exchanges]
    if marks.is_shown:
        observation.cannot_say("the run of a deployment: the one that was named is over")
        body = observation.clean(bodies, place)
        return observation.form("deployment", exchanges, body, marks.mark_field)
    body = observation.merge(bodies, place)
    form = observation.form("deployment", exchanges, body, marks.mark_field)
    known = listed.get("headers", {}).items()
    headers = form.get("headers", {}).items()
    form["headers"] = {name: value for name, value in headers if (name, value) in known}
    return form


# Errors and ids


def error_forms(observation: Observation) -> Part:
    forms: Part = {}
    for code, exchanges in rejections(observation.run).items():
        part = f"errors/{code}"
        first = exchanges[0]
        if not observation.is_strict(first, part):
            continue
        bodies = [("", without_echo(each)) for each in exchanges]
        body = observation.clean(bodies, f"/{part}/body")
        form = observation.form(part, exchanges, body, str)
        forms[code] = {"status": first.status, **form}
    default = common_form(list(forms.values()))
    if default:
        forms["default"] = default
    return forms


def examples_of_ids(observation: Observation) -> Part:
    run = observation.run
    names = {run.created_id: run.created_name}
    for project in run.listed:
        names[run.own_id(project)] = run.name_of(project)
    names.pop(None, None)
    kinds = {"projects": names, "deployments": deployment_ids(observation)}
    examples = {}
    for kind, ids in kinds.items():
        form = ids if "made from" in ids else ids_form(ids)
        if form:
            observation.ids[kind] = form
            examples[kind] = example_of(ids, form)
    return examples


def deployment_ids(observation: Observation) -> Part:
    """The id of the deployment that was read, without a name, or what it is made from."""
    run = observation.run
    deployment = run.followed or observation.readings.other_deployment
    if not deployment:
        return {}
    own_id = id_of(deployment)
    owner_id = run.created_id
    if not run.followed:
        owner = observation.readings.project_of(deployment[0])
        owner_id = run.own_id(owner)
    name = run.created_name
    if own_id == owner_id:
        return {"made from": "{project.id}"}
    if name and name in str(own_id):
        observation.cannot_say("ids of deployments that are made from the name")
        return {}
    return {own_id: ""}


def names_in(records: list[Any]) -> set[str | int]:
    names: set[str | int] = set()
    for path, _ in values_below(records):
        names.update(path)
    return names


def tolerance_of(run: Run) -> Part:
    """What invalid bodies have shown of a creation."""
    accepted = {each.name for each in run.exchanges if each.is_success}
    found: Part = {}
    if "no name" in accepted:
        found["optional"] = True
    if "the created name again" in accepted:
        found["unique"] = False
    return found


def remove_invalid(observation: Observation) -> None:
    """Leave out the parts that a profile cannot have."""
    profile = observation.profile
    for error in errors_in(profile):
        _, name, *rest = error.pointer.split("/")
        holder = profile
        part = name
        if name in ("errors", "ids"):
            holder = profile[name]
            part = rest[0]
        if part in holder:
            observation.cannot_say(f"/{name}: {error.pointer} {error.detail}")
            del holder[part]


# The form of the document


def hoist_content_type(profile: Part) -> None:
    """Name the content type of the successes once, for all that have it, too."""
    responses = [profile[name] for name in ("list", "create", "deployment") if name in profile]
    responses += profile.get("errors", {}).values()
    types = [each["content_type"] for each in responses if "content_type" in each]
    if not types:
        return
    usual, *_ = types
    profile["content_type"] = usual
    for each in responses:
        if each.get("content_type") == usual:
            del each["content_type"]


def with_record(profile: Part) -> tuple[Part, list[str]]:
    """A profile in which the project of the list stands once, and the places where it was."""
    changed = copy.deepcopy(profile)
    record = next(iter(items_in(changed)), None)
    places = []
    for name in ("list", "create", "deployment"):
        body = changed.get(name, {}).get("body")
        for path, value in list(values_below(body)):
            if isinstance(record, dict) and is_same(value, record):
                places.append(pointer(name, "body", *path))
                changed[name]["body"] = replaced(changed[name]["body"], path, RECORD)
    if len(places) < 2:
        return profile, []
    return {"record": record, **changed}, places


def items_in(profile: Part) -> list[Any]:
    """The form of a project in the list of a profile."""
    body = profile.get("list", {}).get("body")
    for path in places_of_projects(body):
        found: list[Any] = at(body, path)
        return found
    return []
