"""The seed document: one JSON form of a state, for the sample, `--seed`, and a reset."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.resources import files
from typing import Any, NamedTuple, Protocol, TypeVar

from records import Deployment, Project, Records, timeline_of, truncate_to_milliseconds
from store import MAX_PROJECTS, NewId, unused_id
from web.problems import FieldError, InvalidBody
from web.strict_json import MAX_BYTES, MAX_DEPTH, MalformedJSON, parse_json
from web.validation import pointer, require_valid, under

from .rules import check_seed, parse_time, read_timeline

Made = TypeVar("Made")

# A project may be as deep here as `/v1` lets it be, under a document and an array.
SEED_DEPTH = MAX_DEPTH + 2

SAMPLE = files(__package__) / "sample.json"
"""A few projects, and one deployment pinned in each status under a fixed id."""

GIVEN = {"id", "created_at"}

# Numbers are read as strings that begin with a lone surrogate, which no valid document has, and
# are written without their quotes: a project keeps them digit by digit.
_NUMBER = "\udfff"
_READER = json.JSONDecoder(parse_int=_NUMBER.__add__, parse_float=_NUMBER.__add__)
_QUOTED_NUMBER = re.compile(f'"{_NUMBER}([^"]*)"')
_WRITER = json.JSONEncoder(ensure_ascii=False)
_COMPACT_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Readable(Protocol):
    """A path, or a file in a package."""

    def read_bytes(self) -> bytes: ...


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
    """The seed of a JSON text and of the value in it, or `InvalidBody` with all its errors."""
    kept = _READER.decode(text)
    require_valid(errors_of(document, kept, max_projects))
    return seed_of_valid(document, kept)


def errors_of(document: Any, kept: Any, max_projects: int) -> Iterator[FieldError]:
    """All errors of a seed document; `kept` is the document with its numbers as text."""
    yield from check_seed(document, max_projects)
    projects = kept.get("projects") if isinstance(kept, dict) else None
    for index, project in enumerate(projects if isinstance(projects, list) else ()):
        # Without the white space that a client need not have sent, or an export would be too large.
        if isinstance(project, dict) and len(_encode(_COMPACT_WRITER, project)) > MAX_BYTES:
            yield FieldError(pointer("projects", index), f"must have at most {MAX_BYTES} bytes")


def seed_of_valid(document: dict[str, Any], kept: dict[str, Any]) -> Seed:
    """The seed of a document without errors."""
    return Seed(
        tuple(
            SeedProject(
                each.get("id"),
                each["name"],
                parse_time(each.get("created_at")),
                _encode(_WRITER, each).decode(),
            )
            for each in kept.get("projects", ())
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


def _encode(writer: json.JSONEncoder, project: dict[str, Any]) -> bytes:
    """The JSON of a project without what a service gives, with its numbers as they were sent."""
    members = {name: value for name, value in project.items() if name not in GIVEN}
    return _QUOTED_NUMBER.sub(r"\1", writer.encode(members)).encode()


def parse_seed(text: str, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a JSON text, or `MalformedJSON`, or `InvalidBody`."""
    _, document = parse_json(text.encode(), SEED_DEPTH)
    return make_seed(text, document, max_projects=max_projects)


def read_seed(path: Readable, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    return read_file(
        path, SEED_DEPTH, lambda *parsed: make_seed(*parsed, max_projects=max_projects)
    )


def read_states(path: Readable, *, max_projects: int = MAX_PROJECTS) -> dict[str, Seed]:
    """The provider states of a file, a seed document for each name; `ValueError` as for a seed."""

    def make(text: str, document: Any) -> dict[str, Seed]:
        if not isinstance(document, dict):
            raise InvalidBody([FieldError("", "must be a JSON object of seed documents by name")])
        kept = _READER.decode(text)
        require_valid(
            error
            for name, each in document.items()
            for error in under((name,), errors_of(each, kept[name], max_projects))
        )
        return {name: seed_of_valid(each, kept[name]) for name, each in document.items()}

    return read_file(path, SEED_DEPTH + 1, make)


def read_file(path: Readable, max_depth: int, make: Callable[[str, Any], Made]) -> Made:
    """What `make` makes of the JSON text of a file, and of its value, or `ValueError`."""
    try:
        return make(*parse_json(path.read_bytes(), max_depth))
    except OSError as error:
        reasons = [error.strerror or "cannot be read"]
    except MalformedJSON as error:
        reasons = [str(error)]
    except InvalidBody as error:
        reasons = [
            f"{json.dumps(each.pointer)[1:-1] or 'the document'}: {each.detail}"
            for each in error.errors
        ]
    raise ValueError("\n".join(f"{path}: {reason}" for reason in reasons))
