"""The seed document: one JSON form of a state, for the sample, `--seed`, and a reset."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from records import Deployment, Project, Records, timeline_of, truncate_to_milliseconds
from store import MAX_PROJECTS, NewId, unused_id
from web.problems import FieldError
from web.strict_json import (
    MAX_BYTES,
    MAX_DEPTH,
    find_members,
    item_texts,
    parse_json,
    place,
    without_members,
)
from web.validation import MAX_ERRORS, pointer, under

from .rules import check_seed, parse_time, read_timeline

Made = TypeVar("Made")

# A project may be as deep here as `/v1` lets it be, under a document and an array.
SEED_DEPTH = MAX_DEPTH + 2

SAMPLE = files(__package__) / "sample.json"
"""A few projects, and one deployment pinned in each status under a fixed id."""

GIVEN = {"id", "created_at"}
_WRITTEN = re.compile(r'\{"id": "[^"\\]*", "created_at": "[^"\\]*", ')


class Readable(Protocol):
    """A path, or a file in a package."""

    def read_text(self, encoding: str) -> str: ...


class SeedError(ValueError):
    """A document that is no seed, with all its errors; as text a line for each."""

    def __init__(self, errors: list[FieldError]) -> None:
        places = [json.dumps(each.pointer)[1:-1] or "the document" for each in errors]
        super().__init__(
            "\n".join(f"{at}: {each.detail}" for at, each in zip(places, errors, strict=True))
        )
        self.errors = errors


class SeedProject(NamedTuple):
    """A project of a seed; `sent` is its JSON without what a service gives."""

    id: str | None
    name: str
    created_at: datetime | None
    sent: str


class Seed(NamedTuple):
    """A checked document, from which records can be made any number of times."""

    projects: tuple[SeedProject, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    def records(self, now: datetime, new_id: NewId, pace: float) -> Records:
        """New records, with the ids and times that the document lacks.

        A project's latest deployment is the last that names it; where none does, one is queued
        as POST does it, with `pace`. A deployment without a time is as old as its store's
        state.
        """
        now, timeline = truncate_to_milliseconds(now), timeline_of(pace)
        deployments = {each.id: each for each in self.deployments}
        latest = {each.project_id: each.id for each in self.deployments}
        projects = []
        taken = {each.id for each in self.projects if each.id}
        for each in self.projects:
            project_id = each.id or unused_id(new_id, "prj", taken)
            taken.add(project_id)
            deployment_id = latest.get(project_id)
            if deployment_id is None:
                deployment_id = unused_id(new_id, "dpl", deployments)
                deployments[deployment_id] = Deployment(deployment_id, project_id, None, timeline)
            created_at = each.created_at or now
            projects.append(Project(project_id, each.name, created_at, deployment_id, each.sent))
        return Records(tuple(projects), tuple(deployments.values()))


EMPTY_SEED = Seed()


def room_for(max_projects: int, start: Seed) -> int:
    """The most projects of a document: those of a store, or of its start if these are more.

    So what is exported can be read again.
    """
    return max(max_projects, len(start.projects))


def make_seed(text: str, document: Any, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a JSON text and of the value in it, or `SeedError` with all its errors."""
    parts = project_texts(text, document, max_projects)
    if errors := list(islice(errors_of(parts, document, max_projects), MAX_ERRORS)):
        raise SeedError(errors)
    return seed_of_valid(parts, document)


def errors_of(parts: list[str], document: Any, max_projects: int) -> Iterator[FieldError]:
    """All errors of a seed document with these texts of its projects."""
    yield from check_seed(document, max_projects)
    for index, part in enumerate(parts):
        if is_too_large(part, document["projects"][index]):
            yield FieldError(pointer("projects", index), f"must have at most {MAX_BYTES} bytes")


def is_too_large(text: str, project: Any) -> bool:
    """Whether `/v1` would reject this project for its size, also if all else is right."""
    if len(text) <= MAX_BYTES // 4 or not isinstance(project, dict) or "name" not in project:
        return False  # a character has up to four bytes
    return len(_without_given(text, project).encode()) > MAX_BYTES


def seed_of_valid(parts: list[str], document: dict[str, Any]) -> Seed:
    """The seed of a document without errors, with these texts of its projects."""
    return Seed(
        tuple(
            SeedProject(
                each.get("id"),
                each["name"],
                parse_time(each.get("created_at")),
                _without_given(sent, each),
            )
            for sent, each in zip(parts, document.get("projects", ()), strict=True)
        ),
        tuple(
            Deployment(
                each["id"],
                each.get("project_id"),
                parse_time(each.get("created_at")),
                read_timeline(each),
            )
            for each in document.get("deployments", ())
        ),
    )


def project_texts(text: str, document: Any, most: int, at: int = 0) -> list[str]:
    """The texts of the projects of the seed document at a position of a text.

    The list is empty if the document has no array of projects, or more than `most`.
    """
    projects = document.get("projects") if isinstance(document, dict) else None
    if not isinstance(projects, list) or len(projects) > most:
        return []
    start = next(each.value for each in find_members(text, at) if each.name == "projects")
    return list(item_texts(text, start))


def parse_seed(text: str, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a JSON text, or `json.JSONDecodeError`, or `SeedError`."""
    return make_seed(text, parse_json(text, SEED_DEPTH), max_projects=max_projects)


def read_seed(path: Readable, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    return read_file(path, lambda text: parse_seed(text, max_projects=max_projects))


def read_states(path: Readable, *, max_projects: int = MAX_PROJECTS) -> dict[str, Seed]:
    """The provider states of a file, a seed document for each name; `ValueError` as for a seed."""

    def make(text: str) -> dict[str, Seed]:
        document = parse_json(text, SEED_DEPTH + 1)
        if not isinstance(document, dict):
            raise SeedError([FieldError("", "must be a JSON object of seed documents by name")])
        parts = {
            name: project_texts(text, document[name], max_projects, value)
            for name, _, value in find_members(text)
        }
        errors = [
            error
            for name, each in parts.items()
            for error in under((name,), errors_of(each, document[name], max_projects))
        ]
        if errors:
            raise SeedError(errors)
        return {name: seed_of_valid(each, document[name]) for name, each in parts.items()}

    return read_file(path, make)


def read_file(path: Readable, make: Callable[[str], Made]) -> Made:
    """What `make` makes of the text of a file, or `ValueError`."""
    try:
        return make(path.read_text("utf-8"))
    except OSError as error:
        reasons = [error.strerror or "cannot be read"]
    except UnicodeDecodeError as error:
        reasons = [f"byte {error.start + 1}: not UTF-8"]
    except json.JSONDecodeError as error:
        reasons = [place(error)]
    except SeedError as error:
        reasons = str(error).split("\n")
    raise ValueError("\n".join(f"{path}: {reason}" for reason in reasons))


def _without_given(text: str, project: dict[str, Any]) -> str:
    """The text of a project as a client would send it, to the letter."""
    if GIVEN.isdisjoint(project):
        return text
    if match := _WRITTEN.match(text):  # by write_seed(); quicker
        return "{" + text[match.end() :]
    return without_members(text, GIVEN)
