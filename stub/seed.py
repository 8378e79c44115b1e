"""The seed document: one JSON form of a state, for the sample, `--seed`, and whoever resets."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from body import MAX_BYTES, MAX_DEPTH, Fault, check_project, parse_json, pointer
from store import MAX_PROJECTS, Deployment, Project, Stage, Timeline, unused_id

SAMPLE = Path(__file__).with_name("sample.json")
"""A few projects, and one deployment pinned in each status under a fixed id."""

_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_ID_RULE = "must be a string of 1 to 255 of A-Z a-z 0-9 . _ ~ - other than . and .."
_STATUS = re.compile(r"[a-z0-9_-]{1,64}")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):([0-5]\d))", re.ASCII
)


class SeedError(ValueError):
    """A document that is no seed, with all its faults; as text a line for each."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(f"{each.pointer or '/'}: {each.detail}" for each in faults))
        self.faults = faults


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

    def records(
        self, now: datetime, new_id: Callable[[str], str], timeline: Timeline
    ) -> tuple[list[Project], list[Deployment]]:
        """New records, the projects oldest first; what the document leaves open is given here.

        A project's latest deployment is the last that names it; where none does, one is queued
        with `timeline`, as POST does it.
        """
        deployments = {
            each.id: Deployment(each.id, each.project_id, each.created_at or now, each.timeline)
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
                deployments[deployment_id] = Deployment(deployment_id, project_id, now, timeline)
            projects.append(
                Project(project_id, each.name, each.created_at or now, deployment_id, each.sent)
            )
        projects.sort(key=lambda project: project.created_at)
        return projects, list(deployments.values())


def parse_seed(text: str, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a JSON text, or `json.JSONDecodeError`, or `SeedError` with all its faults."""
    # A project may be as deep here as `/v1` lets it be, under a document and an array.
    document = parse_json(text, MAX_DEPTH + 2)
    if faults := list(check_seed(document, max_projects)):
        raise SeedError(faults)
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


def read_seed(path: Path, *, max_projects: int = MAX_PROJECTS) -> Seed:
    """The seed of a file, or `ValueError`: a line for each reason, with the file and the place."""
    try:
        return parse_seed(path.read_text("utf-8"), max_projects=max_projects)
    except OSError as error:
        reasons = [error.strerror or "cannot be read"]
    except UnicodeDecodeError as error:
        reasons = [f"byte {error.start + 1}: not UTF-8"]
    except json.JSONDecodeError as error:
        reasons = [f"line {error.lineno}, column {error.colno}: {error.msg}"]
    except SeedError as error:
        reasons = str(error).splitlines()
    raise ValueError("\n".join(f"{path}: {reason}" for reason in reasons))


def check_seed(document: Any, max_projects: int) -> Iterator[Fault]:
    """All faults of a seed document."""
    if not isinstance(document, dict):
        yield Fault("", "must be a JSON object")
        return
    yield from unknown_members(document, ("projects", "deployments"))
    projects = document.get("projects", [])
    if not isinstance(projects, list):
        yield Fault("/projects", "must be an array")
        projects = []
    if len(projects) > max_projects:
        yield Fault("/projects", f"must have at most {max_projects} items")
    for index, project in enumerate(projects):
        yield from _under(("projects", index), _check_seed_project(project))
    yield from _repeated("projects", projects, "id")
    yield from _repeated("projects", projects, "name")
    deployments = document.get("deployments", [])
    if not isinstance(deployments, list):
        yield Fault("/deployments", "must be an array")
        deployments = []
    project_ids = {each["id"] for each in projects if _is_id(_member(each, "id"))}
    for index, deployment in enumerate(deployments):
        yield from _under(("deployments", index), _check_deployment(deployment, project_ids))
    yield from _repeated("deployments", deployments, "id")


def _check_seed_project(project: Any) -> Iterator[Fault]:
    yield from check_project(project, reserved=("latest_deployment_id",))
    if not isinstance(project, dict):
        return
    if "id" in project and not _is_id(project["id"]):
        yield Fault("/id", _ID_RULE)
    yield from _check_time(project)
    if len(_without_given(project).encode()) > MAX_BYTES:
        yield Fault("", f"must have at most {MAX_BYTES} bytes")


def _check_deployment(deployment: Any, project_ids: set[str]) -> Iterator[Fault]:
    if not isinstance(deployment, dict):
        yield Fault("", "must be a JSON object")
        return
    known = ("id", "project_id", "created_at", "status", "timeline")
    yield from unknown_members(deployment, known)
    if "id" not in deployment:
        yield Fault("/id", "is required")
    elif not _is_id(deployment["id"]):
        yield Fault("/id", _ID_RULE)
    project_id = deployment.get("project_id")
    if project_id is not None and not (isinstance(project_id, str) and project_id in project_ids):
        yield Fault("/project_id", "must be the id of a project of this document")
    yield from _check_time(deployment)
    yield from check_timeline(deployment)


def check_timeline(document: dict[str, Any]) -> Iterator[Fault]:
    """The faults of what says how a deployment moves: its `status` or its `timeline`."""
    if ("status" in document) == ("timeline" in document):
        yield Fault("", "must have either `status` or `timeline`")
    if "status" in document:
        yield from _check_status(document)
    stages = document.get("timeline", [{"status": "queued"}])
    if not isinstance(stages, list) or not stages:
        yield Fault("/timeline", "must be an array of at least one stage")
        return
    for index, stage in enumerate(stages):
        yield from _under(("timeline", index), _check_stage(stage, last=index == len(stages) - 1))


def _check_stage(stage: Any, *, last: bool) -> Iterator[Fault]:
    if not isinstance(stage, dict):
        yield Fault("", "must be a JSON object")
        return
    yield from unknown_members(stage, ("status", "seconds"))
    yield from _check_status(stage)
    if last and "seconds" in stage:
        yield Fault("/seconds", "must be left out: the last stage has no end")
    if not last and not is_number(stage.get("seconds"), 0, math.inf):
        yield Fault("/seconds", "must be a number of seconds, 0 or more")


def _check_status(document: dict[str, Any]) -> Iterator[Fault]:
    status = document.get("status")
    if not (isinstance(status, str) and _STATUS.fullmatch(status)):
        yield Fault("/status", "must be a string of 1 to 64 of a-z 0-9 _ -")


def _check_time(document: dict[str, Any]) -> Iterator[Fault]:
    if "created_at" in document and _time(document["created_at"]) is None:
        yield Fault("/created_at", "must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without faults; a lone `status` is pinned."""
    stages = document.get("timeline", [document])
    return tuple(Stage(stage["status"], stage.get("seconds")) for stage in stages)


def unknown_members(document: Iterable[str], known: Iterable[str]) -> Iterator[Fault]:
    """A fault for each member that is not `known`."""
    for member in document:
        if member not in known:
            yield Fault(pointer(member), "is unknown here")


def is_number(value: object, least: float, most: float) -> bool:
    """Whether a JSON value is a number (a boolean is none) in this range, ends included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most


def _under(path: tuple[str | int, ...], faults: Iterable[Fault]) -> Iterator[Fault]:
    for fault in faults:
        yield Fault(pointer(*path) + fault.pointer, fault.detail)


def _repeated(name: str, entries: list[Any], member: str) -> Iterator[Fault]:
    seen = set()
    for index, entry in enumerate(entries):
        value = _member(entry, member)
        if isinstance(value, str):
            if value in seen:
                yield Fault(pointer(name, index, member), "is used twice in this document")
            seen.add(value)


def _member(entry: Any, member: str) -> Any:
    return entry.get(member) if isinstance(entry, dict) else None


def _is_id(value: object) -> bool:
    # `.` and `..` are taken out of a path before a request is sent (RFC 3986 §5.2.4).
    return isinstance(value, str) and bool(_ID.fullmatch(value)) and value not in (".", "..")


def _time(value: object) -> datetime | None:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    date, time, fraction, sign, hours, minutes = match.groups(default="0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        moment = datetime.fromisoformat(f"{date}T{time}.{fraction[:3]:0<3}")
        zone = timezone(-offset if sign == "-" else offset)
        return moment.replace(tzinfo=zone).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def _without_given(project: dict[str, Any]) -> str:
    """The JSON text of a project as a client would send it."""
    kept = {name: value for name, value in project.items() if name not in ("id", "created_at")}
    return json.dumps(kept, ensure_ascii=False)
