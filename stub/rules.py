"""The rules of a seed document, and of the deployments that the control routes take."""

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from records import Stage, Timeline, round_to_microseconds
from web.problems import NOT_AN_OBJECT, FieldError
from web.validation import check_project, is_number, is_string, pointer, under, unknown_members

FOREVER = 10**12  # seconds; a float of more has too few digits to subtract an age

_ID = re.compile("[^\x00-\x1f\x7f-\x9f\ufffd]{1,255}")
ID_RULE = "must be a string of 1 to 255 characters, none a control or U+FFFD, other than . and .."
_STATUS = re.compile(r"[a-z0-9_-]{1,64}")
STATUS_RULE = "must be a string of 1 to 64 of a-z 0-9 _ -"
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):([0-5]\d))", re.ASCII
)


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
    if "created_at" in document and parse_time(document["created_at"]) is None:
        yield FieldError("/created_at", "must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    *stages, last = document.get("timeline", [document])
    return (
        *(
            Stage(stage["status"], round_to_microseconds(min(stage["seconds"], FOREVER)))
            for stage in stages
        ),
        Stage(last["status"]),
    )


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
    # `.` and `..` are taken out of a path before a request is sent (RFC 3986 §5.2.4). U+FFFD
    # stands for what is not UTF-8 in a path.
    return is_string(value, _ID) and value not in (".", "..")


def parse_time(value: object) -> datetime | None:
    """The time, UTC, of RFC 3339, or None. A leap second is taken as the next second."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    date, time, fraction, sign, hours, minutes = match.groups(default="0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    leap = timedelta(seconds=time.endswith(":60"))
    try:
        moment = datetime.fromisoformat(f"{date}T{time.replace(':60', ':59')}")
        zone = timezone(-offset if sign == "-" else offset)
        moment = moment.replace(tzinfo=zone).astimezone(timezone.utc) + leap
        return moment + timedelta(milliseconds=int(f"{fraction[:3]:0<3}"))
    except (ValueError, OverflowError):
        return None
