"""The seed document: one JSON form of a state, for the sample, `--seed`, a reset and an export."""

import json
from collections.abc import Container, Iterator
from datetime import datetime
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from records import (
    Deployment,
    Project,
    Stage,
    timestamp,
    truncate_to_milliseconds,
    with_members,
)
from web.documents import explain_errors
from web.files import read_file, read_user_file
from web.problems import FieldError
from web.schemas import find_errors
from web.strict_json import MAX_BYTES, MAX_DEPTH, parse_json
from web.times import parse_time
from web.validation import make_error, prefix_errors, require_valid

from . import rules
from .ids import MakeId, make_unused_id
from .store import AT_START, Records
from .timelines import TimelineFor, rest_of_timeline

if TYPE_CHECKING:
    from profiles.profile import Profile

# A project may be as deep here as `/v1` lets it be, under a document and an array.
SEED_DEPTH = MAX_DEPTH + 2

GIVEN = ("id", "created_at")


class SeedProject(NamedTuple):
    """A project of a seed; `sent` is JSON text: its members without what a service gives."""

    id: str | None
    name: str
    created_at: datetime | None
    sent: str


class Seed(NamedTuple):
    """A checked document, from which records can be made any number of times."""

    projects: tuple[SeedProject, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    def records(self, now: datetime, new_id: MakeId, timeline_for: TimelineFor) -> Records:
        """New records, with the ids and times that the document lacks.

        A project's latest deployment is the last that names it; where none does, one is queued
        as POST does it. A deployment without a time is as old as the state of its store.
        """
        now = truncate_to_milliseconds(now)
        deployments = {each.id: each for each in self.deployments}
        latest = {each.project_id: each.id for each in self.deployments}
        projects = []
        taken = {each.id for each in self.projects if each.id}
        for given_id, name, created_at, sent in self.projects:
            project_id = given_id or make_unused_id(new_id, "prj", name, taken)
            taken.add(project_id)
            deployment_id = latest.get(project_id)
            if deployment_id is None:
                deployment_id = make_unused_id(new_id, "dpl", project_id, deployments)
                timeline = timeline_for(name)
                deployments[deployment_id] = Deployment(
                    deployment_id, project_id, AT_START, timeline
                )
            projects.append(Project(project_id, name, created_at or now, deployment_id, sent))
        return Records(tuple(projects), tuple(deployments.values()))


EMPTY = Seed()


# Reading


def make_seed(document: Any, like: "Profile | None" = None) -> Seed:
    """Return the seed of a JSON value. Raises `InvalidBody` with all its errors.

    With a profile it may have the statuses and the ids of the service.
    """
    ids_to_texts(document, like)
    require_valid(check_seed(document, like))
    return read_valid(document)


def read_sample() -> Seed:
    """A few projects, and one deployment pinned in each status under a fixed id."""
    _, document = parse_json(read_file("stub/sample.json"), SEED_DEPTH)
    return read_valid(document)


def read_seed(path: Path, like: "Profile | None" = None) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    with explain_errors(path):
        _, document = parse_json(read_user_file(path), SEED_DEPTH)
        return make_seed(document, like)


def read_states(path: Path, like: "Profile | None" = None) -> dict[str, Seed]:
    """The provider states of a file, a seed document for each name; `ValueError` as for a seed."""
    with explain_errors(path):
        _, documents = parse_json(read_user_file(path), SEED_DEPTH + 1)
        require_valid(find_errors(documents, {"type": "object"}))
        require_valid(check_states(documents, like))
        return {name: read_valid(document) for name, document in documents.items()}


def read_valid(document: dict[str, Any]) -> Seed:
    """Return the seed of a document without errors."""
    projects = map(seed_project, document.get("projects", ()))
    deployments = map(read_deployment, document.get("deployments", ()))
    return Seed(tuple(projects), tuple(deployments))


def seed_project(document: dict[str, Any]) -> SeedProject:
    """Return the project of a document without errors."""
    created_at = parse_time(document.get("created_at"))
    sent = json.dumps(without_given(document), ensure_ascii=False)
    return SeedProject(document.get("id"), document["name"], created_at, sent)


def without_given(project: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in project.items() if name not in GIVEN}


def read_deployment(document: dict[str, Any]) -> Deployment:
    created_at = parse_time(document.get("created_at")) or AT_START
    timeline = rules.read_timeline(document)
    return Deployment(document["id"], document.get("project_id"), created_at, timeline)


# Checking


def check_states(documents: dict[str, Any], like: "Profile | None") -> Iterator[FieldError]:
    for name, document in documents.items():
        ids_to_texts(document, like)
        yield from prefix_errors([name], check_seed(document, like))


def check_seed(document: Any, like: "Profile | None" = None) -> Iterator[FieldError]:
    """All errors of a seed document, whose ids are texts."""
    words = like.words if like else ()
    yield from rules.check(document, "Seed", words)
    known = {value for _, value in given(document, "projects", "id")}
    for index, value in given(document, "deployments", "project_id"):
        if value not in known:
            detail = "must be the id of a project of this document"
            yield make_error(detail, "deployments", index, "project_id")
    yield from check_unique(document, "projects", "id")
    if like is None or like.has_unique_names:
        yield from check_unique(document, "projects", "name")
    yield from check_unique(document, "deployments", "id")
    for index, project in enumerate(items(document, "projects")):
        kept = without_given(project)
        sent = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
        if len(sent) > MAX_BYTES:
            yield make_error(f"must have at most {MAX_BYTES} bytes", "projects", index)


def check_unique(document: Any, array: str, member: str) -> Iterator[FieldError]:
    seen = set()
    for index, value in given(document, array, member):
        if value in seen:
            yield make_error("is used twice in this document", array, index, member)
        seen.add(value)


def ids_to_texts(document: Any, like: "Profile | None") -> None:
    """Replace the numbers that are ids, where those of the service are numbers."""
    for project in items(document, "projects"):
        id_to_text(project, "id", "projects", like)
    for deployment in items(document, "deployments"):
        id_to_text(deployment, "id", "deployments", like)
        id_to_text(deployment, "project_id", "projects", like)


def id_to_text(document: dict[str, Any], member: str, kind: str, like: "Profile | None") -> None:
    """Replace a number that is the id of a kind of record, where the service has numbers."""
    value = document.get(member)
    if type(value) is int and like and like.has_integers(kind):
        document[member] = str(value)


def given(document: Any, array: str, member: str) -> Iterator[tuple[int, str]]:
    """The member of each object of an array, with its index; none that is no string."""
    for index, item in enumerate(items(document, array)):
        if isinstance(item.get(member), str):
            yield index, item[member]


def items(document: Any, array: str) -> list[dict[str, Any]]:
    """The items of an array, and an empty object for what is none."""
    found = document.get(array) if isinstance(document, dict) else None
    if not isinstance(found, list):
        return []
    return [item if isinstance(item, dict) else {} for item in found]


# The sample


def sample_of(like: "Profile | None") -> Seed:
    """The sample: of a profile it has ids of the profile's forms, the same in every run, and a
    deployment in each status of its run.
    """
    sample = read_sample()
    if like is None:
        return sample
    source = Random(0)
    ids: dict[str | None, str] = {}
    names: dict[str, str] = {}
    projects = []
    for project in sample.projects:
        own = str(project.id)
        ids[own] = sample_id(like, source, "projects", project.name, ids.values(), own)
        names[ids[own]] = project.name
        projects.append(project._replace(id=ids[own]))
    deployments: dict[str, Deployment] = {}
    for each in pinned_deployments(like, sample):
        owner = ids[each.project_id]
        name = names[owner]
        deployment_id = sample_id(like, source, "deployments", name, deployments, each.id, owner)
        deployments[deployment_id] = each._replace(id=deployment_id, project_id=owner)
    return Seed(tuple(projects), tuple(deployments.values()))


def pinned_deployments(like: "Profile", sample: Seed) -> list[Deployment]:
    """A deployment in each status of a profile's run, at least one of each project; those of the
    plain sample, if the profile has no run.
    """
    if not like.run:
        return list(sample.deployments)
    owners = [project.id for project in sample.projects]
    # The last status is that of the first project, whose latest deployment comes last.
    words = list(reversed(like.run))
    while len(words) < len(owners):
        words.append(words[0])
    pinned: list[Deployment] = []
    for word, owner in zip(words, cycle(owners), strict=False):
        pinned.insert(0, Deployment("", owner, AT_START, (Stage(word),)))
    return pinned


def sample_id(
    like: "Profile",
    source: Random,
    kind: str,
    name: str,
    taken: Container[str],
    own: str,
    owner: str = "",
) -> str:
    """An unused id of the profile's form; without one, the sample's own, or an opaque one.

    `name` is that of the project, and `owner` the id of the project of a deployment.
    """
    from profiles.ids import choose_base  # most starts need none

    form = like.ids.get(kind)
    if form is None:
        return own or f"dpl_{source.getrandbits(64):016x}"

    def new_id(prefix: str, base: str, attempt: int) -> str:
        return form.make(source, base, attempt)

    return make_unused_id(new_id, "", choose_base(form, name, owner), taken)


# Writing


def write_seed(records: Records, now: datetime) -> str:
    """The seed document of a state.

    A deployment that is still to change has what is left of its timeline, so that a world which
    starts with the document continues it. The latest deployment of each project comes last.
    """
    latest = {project.latest_deployment_id for project in records.projects}
    earlier: list[str] = []
    last: list[str] = []
    for each in records.deployments:
        found = last if each.id in latest else earlier
        found.append(write_deployment(each, now))
    projects = ",".join(f"\n{export_project(project)}" for project in records.list)
    deployments = ",".join([*earlier, *last])
    return f'{{"projects": [{projects}],\n"deployments": [{deployments}]}}\n'


def export_project(project: Project) -> str:
    members = {"id": project.id, "created_at": timestamp(project.created_at)}
    return with_members(project.sent, members)


def write_deployment(deployment: Deployment, now: datetime) -> str:
    *running, last = rest_of_timeline(deployment, now)
    document: dict[str, Any] = {"id": deployment.id, "project_id": deployment.project_id}
    end = {"status": last.status}
    if running:
        stages = [stage._asdict() for stage in running]
        document["timeline"] = [*stages, end]
    else:
        document["created_at"] = timestamp(deployment.created_at)
        document |= end
    return f"\n{json.dumps(document)}"
