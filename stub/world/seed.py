"""The seed document: the JSON form of a state, for the sample, `--seed`, a reset and an export.

It looks like `{"projects": [{"name": "shop"}], "deployments": [{"id": "d1", "status": "failed"}]}`.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from records import Deployment, Project, timestamp, truncate_to_milliseconds, with_members
from web import files, strict_json, validation
from web.documents import explain_errors
from web.problems import FieldError
from web.schemas import find_errors
from web.times import parse_time

from . import ids, rules, store

if TYPE_CHECKING:
    from profiles.profile import Profile

# A project may be as deep as in `/v1`. In a seed it is inside an object and an array.
SEED_DEPTH = strict_json.MAX_DEPTH + 2


class SeedProject(NamedTuple):
    """A project of a seed; `sent` is JSON, without the members that a service sets."""

    id: str | None
    name: str
    created_at: datetime | None
    sent: str


class Seed(NamedTuple):
    """A valid document. Worlds make their records from it, any number of times."""

    projects: tuple[SeedProject, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    def make_records(
        self, now: datetime, new_id: ids.MakeId, timeline_for: store.TimelineFor
    ) -> store.Records:
        """Make records, with the ids and times that the document lacks.

        The latest deployment of a project is the last that names the project. If the document has
        no deployment of the project, it is queued as by a POST. A deployment without a time is as
        old as the state of its store.
        """
        now = truncate_to_milliseconds(now)
        projects = []
        project_ids = {each.id for each in self.projects if each.id}
        deployments = {each.id: each for each in self.deployments}
        latest = {each.project_id: each.id for each in self.deployments}
        for given_id, name, created_at, sent in self.projects:
            project_id = given_id or ids.make_unused_id(new_id, project_ids, "prj", name)
            project_ids.add(project_id)
            latest_id = latest.get(project_id)
            if latest_id is None:
                latest_id = ids.make_unused_id(new_id, deployments, "dpl", name, project_id)
                timeline = timeline_for(name)
                queued = Deployment(latest_id, project_id, store.AT_START, timeline)
                deployments[latest_id] = queued
            projects.append(Project(project_id, name, created_at or now, latest_id, sent))
        return store.Records(tuple(projects), tuple(deployments.values()))


# Read


def make_seed(document: Any, like: "Profile | None" = None) -> Seed:
    """Make the seed of a JSON value. Raises `InvalidBody` with all errors.

    With a profile the document has the statuses and the ids of the service.
    """
    validation.require_valid(check_seed(document, like))
    return build_seed(document)


def read_sample() -> Seed:
    """Read the sample. It has a deployment in every status, with a fixed id: `dpl_building`."""
    _, document = strict_json.parse_json(files.read_file("stub/sample.json"), SEED_DEPTH)
    return build_seed(document)


def read_seed(path: Path, like: "Profile | None" = None) -> Seed:
    """Read the seed in a file. Raises `ValueError` with a line for every error.

    A line is `seed.json: /projects/0/name: is required`.
    """
    with explain_errors(path):
        _, document = strict_json.parse_json(files.read_user_file(path), SEED_DEPTH)
        return make_seed(document, like)


def read_states(path: Path, like: "Profile | None" = None) -> dict[str, Seed]:
    """Read a file of provider states: `{"a project exists": {"projects": [{"name": "shop"}]}}`.

    Raises `ValueError` like `read_seed`.
    """
    with explain_errors(path):
        _, documents = strict_json.parse_json(files.read_user_file(path), SEED_DEPTH + 1)
        validation.require_valid(find_errors(documents, {"type": "object"}))
        errors: list[FieldError] = []
        for name, document in documents.items():
            errors += validation.prefix_errors([name], check_seed(document, like))
        validation.require_valid(errors)
        return {name: build_seed(document) for name, document in documents.items()}


def build_seed(document: dict[str, Any]) -> Seed:
    """Build the seed of a document without errors."""
    projects = [build_project(each) for each in document.get("projects", ())]
    deployments = []
    for each in document.get("deployments", ()):
        created_at = parse_time(each.get("created_at")) or store.AT_START
        timeline = rules.parse_timeline(each)
        deployments.append(Deployment(each["id"], each.get("project_id"), created_at, timeline))
    return Seed(tuple(projects), tuple(deployments))


def build_project(document: dict[str, Any]) -> SeedProject:
    """Build the project of a document without errors: `{"name": "shop"}`."""
    members = {name: each for name, each in document.items() if name not in ("id", "created_at")}
    created_at = parse_time(document.get("created_at"))
    sent = json.dumps(members, ensure_ascii=False)
    return SeedProject(document.get("id"), document["name"], created_at, sent)


# Check


def check_seed(document: Any, like: "Profile | None" = None) -> Iterator[FieldError]:
    """Replace ids that are numbers by texts, and yield all errors of a seed document."""
    convert_ids(document, like)
    yield from rules.check_value(document, "Seed", like.statuses if like else ())
    known = {project_id for _, project_id in list_texts(document, "projects", "id")}
    for index, project_id in list_texts(document, "deployments", "project_id"):
        if project_id not in known:
            detail = "must be the id of a project of this document"
            yield validation.make_error(detail, "deployments", index, "project_id")
    yield from check_unique(document, "projects", "id")
    if like is None or like.has_unique_names:
        yield from check_unique(document, "projects", "name")
    yield from check_unique(document, "deployments", "id")


def check_unique(document: Any, array: str, member: str) -> Iterator[FieldError]:
    seen = set()
    for index, value in list_texts(document, array, member):
        if value in seen:
            yield validation.make_error("is used twice in this document", array, index, member)
        seen.add(value)


def convert_ids(document: Any, like: "Profile | None") -> None:
    """Replace numbers that are ids by texts, if the ids of the service are numbers."""
    for project in list_objects(document, "projects"):
        convert_id(project, "id", "projects", like)
    for deployment in list_objects(document, "deployments"):
        convert_id(deployment, "id", "deployments", like)
        convert_id(deployment, "project_id", "projects", like)


def convert_id(document: dict[str, Any], member: str, kind: str, like: "Profile | None") -> None:
    """Replace the id 48151623 by `"48151623"`, if the ids of the service are numbers.

    `kind` is `projects` or `deployments`.
    """
    value = document.get(member)
    if type(value) is int and like and like.has_integers(kind):
        document[member] = str(value)


def list_texts(document: Any, array: str, member: str) -> Iterator[tuple[int, str]]:
    """Yield the index of an object in an array, and the text of its member: `(0, "prj_shop")`."""
    for index, item in enumerate(list_objects(document, array)):
        if isinstance(item.get(member), str):
            yield index, item[member]


def list_objects(document: Any, array: str) -> list[dict[str, Any]]:
    """Return the items of an array; an invalid item becomes `{}`."""
    found = document.get(array) if isinstance(document, dict) else None
    if not isinstance(found, list):
        return []
    return [item if isinstance(item, dict) else {} for item in found]


# Write


def write_seed(records: store.Records, now: datetime) -> str:
    """Write the seed document of a state.

    A world that starts from it continues the deployments: a running deployment has the rest of its
    timeline. The latest deployments of the projects come last.
    """
    projects = []
    for project in records.list:
        members = {"id": project.id, "created_at": timestamp(project.created_at)}
        projects.append("\n" + with_members(project.sent, members))
    latest = {project.latest_deployment_id for project in records.projects}
    earlier: list[str] = []
    last: list[str] = []
    for deployment in records.deployments:
        group = last if deployment.id in latest else earlier
        group.append("\n" + json.dumps(export_deployment(deployment, now)))
    deployments = ",".join(earlier + last)
    return f'{{"projects": [{",".join(projects)}],\n"deployments": [{deployments}]}}\n'


def export_deployment(deployment: Deployment, now: datetime) -> dict[str, Any]:
    document: dict[str, Any] = {"id": deployment.id, "project_id": deployment.project_id}
    index, age = deployment.stage(now)
    stages = [stage._asdict() for stage in deployment.timeline[index:]]
    current = stages[0]
    del stages[-1]["seconds"]  # The last stage does not end.
    if len(stages) == 1:
        document["created_at"] = timestamp(deployment.created_at)
        document["status"] = current["status"]
    else:
        current["seconds"] = round(current["seconds"] - age, 6)
        document["timeline"] = stages
    return document
