"""The seed document: one JSON form of a state, for the sample, `--seed`, and whoever resets."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from importlib.resources import files
from itertools import islice
from typing import Any, Protocol, TypeVar

from problems import NOT_AN_OBJECT, FieldError
from store import (
    MAX_PROJECTS,
    START,
    Clock,
    Deployment,
    NewId,
    Project,
    Records,
    Stage,
    Store,
    Timeline,
    milliseconds,
    running,
    unused_id,
)
from strict_json import MAX_BYTES, MAX_DEPTH, parse_json, place
from validation import (
    MAX_ERRORS,
    check_project,
    is_number,
    is_string,
    pointer,
    under,
    unknown_members,
)

Made = TypeVar("Made")

# A project may be as deep here as `/v1` lets it be, under a document and an array.
SEED_DEPTH = MAX_DEPTH + 2

SAMPLE = files(__package__) / "sample.json"
"""A few projects, and one deployment pinned in each status under a fixed id."""

_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")
ID_RULE = "must be a string of 1 to 255 of A-Z a-z 0-9 . _ ~ - other than . and .."
_STATUS = re.compile(r"[a-z0-9_-]{1,64}")
STATUS_RULE = "must be a string of 1 to 64 of a-z 0-9 _ -"
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):([0-5]\d))", re.ASCII
)


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


@dataclass(frozen=True, slots=True)
class SeedProject:
    """A project of a seed; `sent` is its JSON without what a service gives."""

    id: str | None
    name: str
    created_at: datetime | None
    sent: str


@dataclass(frozen=True, slots=True)
class SeedDeployment:
    id: str
    project_id: str | None
    created_at: datetime | None
    timeline: Timeline


@dataclass(frozen=True, slots=True)
class Seed:
    """A checked document, from which records can be made any number of times."""

    projects: tuple[SeedProject, ...] = ()
    deployments: tuple[SeedDeployment, ...] = ()

    def records(self, now: datetime, new_id: NewId, timeline: Timeline) -> Records:
        """New records, with the ids and times that the document lacks.

        A project's latest deployment is the last that names it; where none does, one is queued
        with `timeline`, as POST does it. A deployment without a time is as old as its store's
        state.
        """
        deployments = {
            each.id: Deployment(each.id, each.project_id, each.created_at or START, each.timeline)
            for each in self.deployments
        }
        latest = {each.project_id: each.id for each in self.deployments}
        projects = []
        taken = {each.id for each in self.projects if each.id}
        for each in self.projects:
            project_id = each.id or unused_id(new_id, "prj", taken)
            taken.add(project_id)
            deployment_id = latest.get(project_id)
            if deployment_id is None:
                deployment_id = unused_id(new_id, "dpl", deployments)
                deployments[deployment_id] = Deployment(deployment_id, project_id, START, timeline)
            created_at = each.created_at or milliseconds(now)
            projects.append(Project(project_id, each.name, created_at, deployment_id, each.sent))
        return Records(tuple(projects), tuple(deployments.values()))


EMPTY = Seed()


@dataclass(frozen=True)
class StoreFactory:
    """Makes stores, which start with the records of a seed and share them."""

    new_store: Callable[..., Store]  # of a clock, a source of ids, a pace and a maximum
    clock: Clock
    new_id: NewId
    pace: float
    max_projects: int
    seed: Seed

    def open(
        self, clock: Clock | None = None, new_id: NewId | None = None, seed: Seed | None = None
    ) -> Store:
        """A new store; what is not given is the factory's own."""
        clock, new_id = clock or self.clock, new_id or self.new_id
        store = self.new_store(clock, new_id, pace=self.pace, max_projects=self.max_projects)
        if seed is None:
            store.reset(self.initial_records)
        else:
            store.reset(seed.records(clock(), new_id, running(self.pace)))
        return store

    @cached_property
    def initial_records(self) -> Records:
        return self.seed.records(self.clock(), self.new_id, running(self.pace))


def make_seed(document: Any, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed that a JSON value describes, or `SeedError` with all its errors."""
    if errors := list(islice(check_seed(document, max_projects), MAX_ERRORS)):
        raise SeedError(errors)
    return Seed(
        tuple(
            SeedProject(
                each.get("id"), each["name"], _time(each.get("created_at")), _without_given(each)
            )
            for each in document.get("projects", ())
        ),
        tuple(
            SeedDeployment(
                each["id"],
                each.get("project_id"),
                _time(each.get("created_at")),
                read_timeline(each),
            )
            for each in document.get("deployments", ())
        ),
    )


def parse_seed(text: str, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a JSON text, or `json.JSONDecodeError`, or `SeedError`."""
    return make_seed(parse_json(text, SEED_DEPTH), max_projects=max_projects)


def read_seed(path: Readable, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    return read_file(path, lambda document: make_seed(document, max_projects=max_projects))


def read_states(path: Readable, *, max_projects: int = MAX_PROJECTS) -> dict[str, Seed]:
    """The provider states of a file, a seed document for each name; `ValueError` as for a seed."""

    def make(document: Any) -> dict[str, Seed]:
        if not isinstance(document, dict):
            raise SeedError([FieldError("", "must be a JSON object of seed documents by name")])
        errors = [
            error
            for name, each in document.items()
            for error in under((name,), check_seed(each, max_projects))
        ]
        if errors:
            raise SeedError(errors)
        return {name: make_seed(each, max_projects=max_projects) for name, each in document.items()}

    return read_file(path, make)


def read_file(path: Readable, make: Callable[[Any], Made]) -> Made:
    """What `make` makes of the JSON value of a file, or `ValueError`."""
    try:
        return make(parse_json(path.read_text("utf-8"), SEED_DEPTH + 1))
    except OSError as error:
        reasons = [error.strerror or "cannot be read"]
    except UnicodeDecodeError as error:
        reasons = [f"byte {error.start + 1}: not UTF-8"]
    except json.JSONDecodeError as error:
        reasons = [place(error)]
    except SeedError as error:
        reasons = str(error).split("\n")
    raise ValueError("\n".join(f"{path}: {reason}" for reason in reasons))


def check_seed(document: Any, max_projects: int) -> Iterator[FieldError]:
    """All errors of a seed document."""
    if not isinstance(document, dict):
        yield NOT_AN_OBJECT
        return
    yield from unknown_members(document, ("projects", "deployments"))
    projects = document.get("projects", [])
    if not isinstance(projects, list):
        yield FieldError("/projects", "must be an array")
        projects = []
    if len(projects) > max_projects:
        yield FieldError("/projects", f"must have at most {max_projects} items")
    for index, project in enumerate(projects):
        yield from under(("projects", index), _check_seed_project(project))
    yield from _repeated("projects", projects, "id")
    yield from _repeated("projects", projects, "name")
    deployments = document.get("deployments", [])
    if not isinstance(deployments, list):
        yield FieldError("/deployments", "must be an array")
        deployments = []
    project_ids = {each["id"] for each in projects if is_id(_member(each, "id"))}
    for index, deployment in enumerate(deployments):
        yield from under(("deployments", index), _check_deployment(deployment, project_ids))
    yield from _repeated("deployments", deployments, "id")


def _check_seed_project(project: Any) -> Iterator[FieldError]:
    yield from check_project(project, reserved=("latest_deployment_id",))
    if not isinstance(project, dict):
        return
    if "id" in project and not is_id(project["id"]):
        yield FieldError("/id", ID_RULE)
    yield from _check_time(project)
    if len(json.dumps(project, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_BYTES:
        yield FieldError("", f"must have at most {MAX_BYTES} bytes")


def _check_deployment(deployment: Any, project_ids: set[str]) -> Iterator[FieldError]:
    if not isinstance(deployment, dict):
        yield NOT_AN_OBJECT
        return
    known = ("id", "project_id", "created_at", "status", "timeline")
    yield from unknown_members(deployment, known)
    if "id" not in deployment:
        yield FieldError("/id", "is required")
    elif not is_id(deployment["id"]):
        yield FieldError("/id", ID_RULE)
    project_id = deployment.get("project_id")
    if project_id is not None and not (isinstance(project_id, str) and project_id in project_ids):
        yield FieldError("/project_id", "must be the id of a project of this document")
    yield from _check_time(deployment)
    yield from check_timeline(deployment)


def check_timeline(document: dict[str, Any]) -> Iterator[FieldError]:
    """The errors of what says how a deployment moves: its `status` or its `timeline`."""
    if ("status" in document) == ("timeline" in document):
        yield FieldError("", "must have either `status` or `timeline`")
    if "status" in document:
        yield from _check_status(document)
    if "timeline" not in document:
        return
    stages = document["timeline"]
    if not isinstance(stages, list) or not stages:
        yield FieldError("/timeline", "must be an array of at least one stage")
        return
    for index, stage in enumerate(stages):
        yield from under(("timeline", index), _check_stage(stage, last=index == len(stages) - 1))


def _check_stage(stage: Any, *, last: bool) -> Iterator[FieldError]:
    if not isinstance(stage, dict):
        yield NOT_AN_OBJECT
        return
    yield from unknown_members(stage, ("status", "seconds"))
    yield from _check_status(stage)
    if last and "seconds" in stage:
        yield FieldError("/seconds", "must be left out: the last stage has no end")
    if not last and not is_number(stage.get("seconds"), 0, math.inf):
        yield FieldError("/seconds", "must be a number of seconds, 0 or more")


def _check_status(document: dict[str, Any]) -> Iterator[FieldError]:
    if not is_status(document.get("status")):
        yield FieldError("/status", STATUS_RULE)


def _check_time(document: dict[str, Any]) -> Iterator[FieldError]:
    if "created_at" in document and _time(document["created_at"]) is None:
        yield FieldError("/created_at", "must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    stages = document.get("timeline", [document])
    return tuple(Stage(stage["status"], stage.get("seconds")) for stage in stages)


def _repeated(name: str, entries: list[Any], member: str) -> Iterator[FieldError]:
    seen = set()
    for index, entry in enumerate(entries):
        value = _member(entry, member)
        if isinstance(value, str):
            if value in seen:
                yield FieldError(pointer(name, index, member), "is used twice in this document")
            seen.add(value)


def _member(entry: Any, member: str) -> Any:
    return entry.get(member) if isinstance(entry, dict) else None


def is_status(value: object) -> bool:
    """Whether a value can be a status; a team may try one of its own."""
    return is_string(value, _STATUS)


def is_id(value: object) -> bool:
    """Whether a value can be the id of a record that a seed or a control route makes."""
    # `.` and `..` are taken out of a path before a request is sent (RFC 3986 §5.2.4).
    return is_string(value, _ID) and value not in (".", "..")


def _time(value: object) -> datetime | None:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    date, time, fraction, sign, hours, minutes = match.groups(default="0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    is_leap_second = time.endswith(":60")  # taken as the next second
    try:
        moment = datetime.fromisoformat(
            f"{date}T{time[:-2]}{'59' if is_leap_second else time[-2:]}"
        )
        zone = timezone(-offset if sign == "-" else offset)
        moment = moment.replace(tzinfo=zone).astimezone(timezone.utc)
        if is_leap_second:
            moment += timedelta(seconds=1)
            if (moment.hour, moment.minute) != (0, 0):
                return None  # leap seconds end a day, in UTC
        return moment + timedelta(milliseconds=int(f"{fraction[:3]:0<3}"))
    except (ValueError, OverflowError):
        return None


def _without_given(project: dict[str, Any]) -> str:
    """The JSON text of a project as a client would send it."""
    kept = {name: value for name, value in project.items() if name not in ("id", "created_at")}
    return json.dumps(kept, ensure_ascii=False)
