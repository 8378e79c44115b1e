"""The seed document: one JSON form of a state, for the sample, `--seed`, a reset and an export."""

import json
from collections.abc import Container, Iterator
from datetime import datetime
from functools import partial
from importlib.resources import files
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from records import (
    Deployment,
    Project,
    Records,
    Stage,
    TimelineFor,
    timestamp,
    truncate_to_milliseconds,
)
from store import NewId, unused_id
from web.problems import FieldError
from web.strict_json import MAX_BYTES, MAX_DEPTH, parse_json
from web.validation import pointer, require_valid, under

from . import rules
from .documents import (
    Readable,
    content_of,
    explained,
    texts_of_items,
    texts_of_members,
    without_members,
)
from .like.ids import make_id
from .like.profile import Profile
from .rules import parse_time

# A project may be as deep here as `/v1` lets it be, under a document and an array.
SEED_DEPTH = MAX_DEPTH + 2

SAMPLE = files(__package__) / "sample.json"
"""A few projects, and one deployment pinned in each status under a fixed id."""

GIVEN = ("id", "created_at")


class SeedProject(NamedTuple):
    """A project of a seed; `sent` is its JSON text without what a service gives."""

    id: str | None
    name: str
    created_at: datetime | None
    sent: str


class Seed(NamedTuple):
    """A checked document, from which records can be made any number of times."""

    projects: tuple[SeedProject, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    def records(self, now: datetime, new_id: NewId, timeline_for: TimelineFor) -> Records:
        """New records, with the ids and times that the document lacks.

        A project's latest deployment is the last that names it; where none does, one is queued
        as POST does it. A deployment without a time is as old as its store's
        state.
        """
        now = truncate_to_milliseconds(now)
        deployments = {each.id: each for each in self.deployments}
        latest = {each.project_id: each.id for each in self.deployments}
        projects = []
        taken = {each.id for each in self.projects if each.id}
        for each in self.projects:
            project_id = each.id or unused_id(new_id, "prj", each.name, taken)
            taken.add(project_id)
            deployment_id = latest.get(project_id)
            if deployment_id is None:
                deployment_id = unused_id(new_id, "dpl", project_id, deployments)
                timeline = timeline_for(each.name)
                deployments[deployment_id] = Deployment(deployment_id, project_id, None, timeline)
            created_at = each.created_at or now
            projects.append(Project(project_id, each.name, created_at, deployment_id, each.sent))
        return Records(tuple(projects), tuple(deployments.values()))


# Reading


def make_seed(text: str, document: Any, like: Profile | None = None) -> Seed:
    """The seed of a JSON text and of the value in it, or `InvalidBody` with all its errors.

    With a profile it may have the statuses and the ids of the service.
    """
    ids_to_texts(document, like)
    require_valid(check_seed(document, like))
    return seed_of_valid(document, text)


def read_seed(path: Readable, like: Profile | None = None) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    with explained(path):
        return make_seed(*parse_json(content_of(path), SEED_DEPTH), like)


def read_states(path: Readable, like: Profile | None = None) -> dict[str, Seed]:
    """The provider states of a file, a seed document for each name; `ValueError` as for a seed."""
    with explained(path):
        text, documents = parse_json(content_of(path), SEED_DEPTH + 1)
        require_valid(rules.errors_of(documents, {"type": "object"}))
        for document in documents.values():
            ids_to_texts(document, like)
        errors = (under((x,), check_seed(each, like)) for x, each in documents.items())
        require_valid(chain.from_iterable(errors))
        texts = texts_of_members(text)
        return {name: seed_of_valid(documents[name], texts[name]) for name in documents}


def seed_of_valid(document: dict[str, Any], text: str) -> Seed:
    """The seed of a document without errors, and of its text, of which the projects are kept."""
    texts = texts_of_items(texts_of_members(text).get("projects", "[]"))
    projects = (
        SeedProject(
            each.get("id"),
            each["name"],
            parse_time(each.get("created_at")),
            without_members(project_text, GIVEN),
        )
        for each, project_text in zip(document.get("projects", ()), texts, strict=True)
    )
    deployments = (
        Deployment(
            each["id"],
            each.get("project_id"),
            parse_time(each.get("created_at")),
            rules.read_timeline(each),
        )
        for each in document.get("deployments", ())
    )
    return Seed(tuple(projects), tuple(deployments))


# Checking


def check_seed(document: Any, like: Profile | None = None) -> Iterator[FieldError]:
    """All errors of a seed document, whose ids are texts."""
    yield from rules.check(document, "Seed", like.words if like else ())
    known = {value for _, value in given(document, "projects", "id")}
    for index, value in given(document, "deployments", "project_id"):
        if value not in known:
            detail = "must be the id of a project of this document"
            yield FieldError(pointer("deployments", index, "project_id"), detail)
    unique = [("projects", "id"), ("projects", "name"), ("deployments", "id")]
    if like and not like.has_unique_names:
        unique.remove(("projects", "name"))
    for array, member in unique:
        seen = set()
        for index, value in given(document, array, member):
            if value in seen:
                yield FieldError(pointer(array, index, member), "is used twice in this document")
            seen.add(value)
    for index, project in enumerate(items(document, "projects")):
        sent = {name: value for name, value in project.items() if name not in GIVEN}
        if len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_BYTES:
            yield FieldError(pointer("projects", index), f"must have at most {MAX_BYTES} bytes")


def ids_to_texts(document: Any, like: Profile | None) -> None:
    """Replace the numbers that are ids, where those of the service are numbers."""
    for array, member, kind in (
        ("projects", "id", "projects"),
        ("deployments", "id", "deployments"),
        ("deployments", "project_id", "projects"),
    ):
        if like and like.has_integers(kind):
            for item in items(document, array):
                id_to_text(item, member)


def id_to_text(document: dict[str, Any], member: str) -> None:
    if type(document.get(member)) is int:
        document[member] = str(document[member])


def given(document: Any, array: str, member: str) -> Iterator[tuple[int, str]]:
    """The member of each object of an array, with its index; none that is no string."""
    for index, item in enumerate(items(document, array)):
        if isinstance(item.get(member), str):
            yield index, item[member]


def items(document: Any, array: str) -> list[dict[str, Any]]:
    """The items of an array, and an empty object for what is none."""
    found = document.get(array) if isinstance(document, dict) else None
    return [x if isinstance(x, dict) else {} for x in (found if isinstance(found, list) else ())]


# The sample


def sample_of(like: Profile | None) -> Seed:
    """The sample: of a profile it has ids of the profile's forms, the same in every run, and a
    deployment in each status of its run.
    """
    sample = read_seed(SAMPLE)
    if like is None:
        return sample
    new_id = SampleIds(like).new_id
    ids: dict[str | None, str] = {}
    for project in sample.projects:
        ids[project.id] = new_id("prj", project.name, ids.values(), str(project.id))
    projects = tuple(each._replace(id=ids[each.id]) for each in sample.projects)
    pinned = pinned_deployments(like, sample)
    deployments: dict[str, Deployment] = {}
    for each in pinned:
        owner = ids[each.project_id]
        deployment_id = new_id("dpl", owner, deployments, each.id)
        deployments[deployment_id] = each._replace(id=deployment_id, project_id=owner)
    return Seed(projects, tuple(deployments.values()))


def pinned_deployments(like: Profile, sample: Seed) -> list[Deployment]:
    """A deployment in each status of a profile's run, at least one of each project; those of the
    plain sample, if the profile has no run.
    """
    if not like.run:
        return [*sample.deployments]
    owners = [each.id for each in sample.projects]
    words = [*like.run]
    words = [words[-1]] * (len(owners) - len(words)) + words
    # The last status is that of the first project, whose latest deployment comes last.
    return [
        Deployment("", owners[-number % len(owners)], None, (Stage(word),))
        for number, word in enumerate(words, 1 - len(words))
    ]


class SampleIds:
    """Makes the ids of the sample of a profile, from a fixed seed."""

    def __init__(self, like: Profile) -> None:
        self._forms = like.ids
        self._source = Random(0)

    def new_id(self, prefix: str, base: str, taken: Container[str], own: str) -> str:
        """An unused id of the profile's form; without one, the sample's own, or an opaque one."""
        kind = {"prj": "projects", "dpl": "deployments"}[prefix]
        if kind in self._forms:
            make = partial(self._make, self._forms[kind])
            return unused_id(make, prefix, base, taken)
        return own or f"{prefix}_{self._source.getrandbits(64):016x}"

    def _make(self, form: dict[str, Any], prefix: str, base: str, attempt: int) -> str:
        return make_id(form, self._source, attempt, base, attempt)


# Writing


def write_seed(records: Records, now: datetime) -> bytes:
    """The seed document of a state.

    A deployment that is still to change has what is left of its timeline, so that a world which
    starts with the document continues it. The latest deployment of each project comes last.
    """
    latest = {project.latest_deployment_id for project in records.projects}
    deployments = sorted(records.deployments, key=lambda each: each.id in latest)
    return b'{"projects": [%b],\n"deployments": [%b]}\n' % (
        b",".join(b"\n" + write_project(each) for each in records.list),
        b",".join(b"\n" + write_deployment(each, now) for each in deployments),
    )


def write_project(project: Project) -> bytes:
    member = f'"latest_deployment_id": {json.dumps(project.latest_deployment_id)}, '.encode()
    return project.representation[:-1].replace(member, b"", 1)


def write_deployment(deployment: Deployment, now: datetime) -> bytes:
    *running, last = deployment.rest_of_timeline(now)
    document: dict[str, Any] = {"id": deployment.id, "project_id": deployment.project_id}
    if running:
        document["timeline"] = [*(each._asdict() for each in running), {"status": last.status}]
    else:
        document["created_at"] = timestamp(deployment.created_at)
        document["status"] = last.status
    return json.dumps(document).encode()
