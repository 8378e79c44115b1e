"""The records, the narrow `Store` that the views use, and its in-memory implementation.

Another implementation has the methods of `Store` and passes `tests/test_store.py`.
"""

import json
import random
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property, lru_cache
from operator import attrgetter
from threading import Lock
from typing import NamedTuple, Protocol

PACE = 2.0
"""Default seconds of a created deployment in each running stage."""

MAX_PROJECTS = 100_000

OLDEST_FIRST = attrgetter("created_at")
LIST_START, LIST_END = b'{"projects": [', b"]}\n"

quoted = json.JSONEncoder().encode

Clock = Callable[[], datetime]
"""Returns the time, UTC."""

NewId = Callable[[str], str]
"""Makes an id with a prefix, `prj` or `dpl`."""

TurnClock = Callable[[datetime, str], datetime]
"""Turns the time of the clock into the time of a store, which has this clock setting."""


class NameTaken(Exception):
    """A project of that name exists."""


class StoreFull(Exception):
    """The store has its maximum number of projects, or of deployments."""


class UnknownProject(Exception):
    """There is no project of that id."""


def utc_now() -> datetime:
    """The default clock."""
    return datetime.now(timezone.utc)


def random_id(prefix: str) -> str:
    """The default source of ids: opaque, 64 random bits."""
    return f"{prefix}_{random.getrandbits(64):016x}"


def unturned(now: datetime, _: str) -> datetime:
    """The default: the time of the clock."""
    return now


def unused_id(new_id: NewId, prefix: str, taken: Container[str]) -> str:
    """An id of `new_id` that is not `taken`."""
    while (new := new_id(prefix)) in taken:
        pass
    return new


def milliseconds(moment: datetime) -> datetime:
    """The time, truncated to milliseconds as a timestamp is."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@lru_cache(maxsize=256)
def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, milliseconds: `2026-01-05T09:00:00.000Z`.

    Cached, as the records of a seed may all have one time, and a client reads a record repeatedly.
    """
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Stage(NamedTuple):
    """A status, of `a-z0-9_-`, and the seconds it lasts; the last of a timeline has no end."""

    status: str
    seconds: float | None = None


Timeline = tuple[Stage, ...]


def timeline_of(pace: float) -> Timeline:
    """The timeline of a deployment that POST queues."""
    return (Stage("queued", pace), Stage("building", pace), Stage("succeeded"))


class Project(NamedTuple):
    """A project. `created_at` is UTC; `sent` is the JSON object that the client sent."""

    id: str
    name: str
    created_at: datetime
    latest_deployment_id: str
    sent: str

    @property
    def representation(self) -> bytes:
        """The wire form, which ends in a newline: the service's members, then what was sent.

        What was sent is a JSON object with a `name` and none of the service's members, so that
        putting these behind its brace is JSON again, and no digit or escape of it is touched.
        """
        text = (
            f'{{"id": {quoted(self.id)}, "created_at": "{timestamp(self.created_at)}", '
            f'"latest_deployment_id": {quoted(self.latest_deployment_id)}, '
            f"{self.sent.strip()[1:].lstrip()}\n"
        )
        return text.encode()


START = datetime.min.replace(tzinfo=timezone.utc)
"""The `created_at` of a deployment that is as old as the state of its store."""


class Deployment(NamedTuple):
    """A deployment. `created_at` is UTC; `project_id` is None for one of no project."""

    id: str
    project_id: str | None
    created_at: datetime
    timeline: Timeline

    def started(self, at: datetime) -> "Deployment":
        """This deployment, with this `created_at` if it has none of its own."""
        return self._replace(created_at=at) if self.created_at is START else self

    def status(self, now: datetime) -> str:
        """The status of the stage that its age has reached."""
        index, _ = self._stage(now)
        return self.timeline[index].status

    def rest_of_timeline(self, now: datetime) -> Timeline:
        """The current stage, shortened by its age, and the later ones."""
        index, age = self._stage(now)
        stage, *later = self.timeline[index:]
        if stage.seconds is None:
            return (stage,)
        return Stage(stage.status, round(stage.seconds - age, 6)), *later

    def _stage(self, now: datetime) -> tuple[int, float]:
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
            f'"status": "{status}", "created_at": "{timestamp(self.created_at)}"}}\n'
        )
        return text.encode()


class ProjectList(tuple[Project, ...]):
    """An immutable snapshot of the projects, oldest first."""

    previous: "ProjectList | None" = None
    """A list with its wire form, of which this one may be a continuation; dropped after use."""

    @cached_property
    def representation(self) -> bytes:
        """The wire form, which ends in a newline; cached until a project is added or changed."""
        text = self._continue(self.previous or ())
        self.previous = None  # not earlier: meanwhile a newer list may continue it, too
        return text

    def _continue(self, previous: "ProjectList | tuple[()]") -> bytes:
        """The wire form, which begins with that of `previous` if it can."""
        if not previous or self[: len(previous)] != previous:
            return LIST_START + joined(self) + LIST_END
        if len(self) == len(previous):
            return previous.representation
        known = memoryview(previous.representation)[: -len(LIST_END)]
        return b"".join((known, b", ", joined(self[len(previous) :]), LIST_END))

    def replaced_by(self, projects: Iterable[Project]) -> "ProjectList":
        """A list of these projects, which may begin with the ones in this list."""
        new = ProjectList(projects)
        new.previous = self if "representation" in vars(self) else self.previous
        return new


def joined(projects: Iterable[Project]) -> bytes:
    return b", ".join([project.representation[:-1] for project in projects])


@dataclass(frozen=True)
class Records:
    """A state that stores can start from. Many can share it: each copies what it changes."""

    projects: tuple[Project, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    @cached_property
    def projects_by_id(self) -> dict[str, Project]:
        return {project.id: project for project in self.projects}

    @cached_property
    def deployments_by_id(self) -> dict[str, Deployment]:
        return {deployment.id: deployment for deployment in self.deployments}

    @cached_property
    def names(self) -> set[str]:
        return {project.name for project in self.projects}

    @cached_property
    def list(self) -> ProjectList:
        return ProjectList(sorted(self.projects, key=OLDEST_FIRST))


class Store(Protocol):
    """What the service needs of a store. Every method is atomic; nothing it returns changes.

    A store outside the process raises `StoreUnavailable` (`problems.py`) when it cannot be used.
    """

    def now(self) -> datetime:
        """The time that dates the records and determines a status; UTC."""

    def clock_setting(self) -> str:
        """How the clock was turned, as of the last call; empty if it was not."""

    def set_clock(self, old: str, new: str) -> bool:
        """Write the clock setting if it is `old`, and return whether it was."""

    def list_projects(self) -> ProjectList:
        """All projects, oldest first."""

    def create_project(self, name: str, sent: str) -> Project:
        """Add a project and queue its first deployment.

        Raises `NameTaken` for a name in use (compared code point by code point), else `StoreFull`.
        """

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        """The deployment of that id, or None."""

    def records(self) -> Records:
        """All records; each deployment has a time of its own."""

    def reset(self, records: Records | None = None) -> None:
        """Replace all records by these, or by those of the start, and forget the clock setting."""

    def add(self, records: Records) -> None:
        """Add the records whose id and name are not in use, all or none.

        Raises `StoreFull`.
        """

    def remove_projects(self) -> None:
        """Remove all projects, and the deployments that belong to one."""

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Make or replace a deployment, whose age starts now; a replaced one keeps its project.

        Without an id it is a new one.

        With a `project_id` it becomes the latest of that project; if it was the latest of another,
        that one gets a new deployment.

        Returns the deployment, and whether it is new. Raises `UnknownProject`, or `StoreFull`:
        besides one deployment for each project there may be as many as there may be projects. The
        deployments that `reset` and `add` bring are bounded by their document.
        """


EMPTY = Records()


class MemoryStore:
    """A `Store` of dictionaries under one lock."""

    _clock_setting: str
    _list: ProjectList  # cache
    _list_is_old: bool
    _is_shared: bool  # whether the dictionaries are those of `Records`

    def __init__(
        self,
        clock: Clock = utc_now,
        new_id: NewId = random_id,
        *,
        pace: float = PACE,
        max_projects: int = MAX_PROJECTS,
        records: Records = EMPTY,
        turn: TurnClock = unturned,
        world: str = "",
    ) -> None:
        self._clock = clock
        self._turn = turn
        self._new_id = new_id
        self._timeline = timeline_of(pace)
        self._max_projects = max_projects
        self._initial = records
        self._lock = Lock()
        self.reset()

    def now(self) -> datetime:
        return self._turn(self._clock(), self._clock_setting)

    def clock_setting(self) -> str:
        return self._clock_setting

    def set_clock(self, old: str, new: str) -> bool:
        with self._lock:
            if self._clock_setting != old:
                return False
            self._clock_setting = new
            return True

    def list_projects(self) -> ProjectList:
        with self._lock:
            if self._list_is_old:
                projects = sorted(self._projects.values(), key=OLDEST_FIRST)
                self._list = self._list.replaced_by(projects)
                self._list_is_old = False
            return self._list

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if name in self._names:
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            self._prepare_change()
            now = milliseconds(self.now())
            project_id = unused_id(self._new_id, "prj", self._projects)
            project = Project(project_id, name, now, self._queue(project_id, now), sent)
            self._projects[project_id] = project
            self._names.add(name)
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            deployment = self._deployments.get(deployment_id)
            return deployment and deployment.started(self._started)

    def records(self) -> Records:
        with self._lock:
            projects = list(self._projects.values())
            deployments, started = list(self._deployments.values()), self._started
        projects.sort(key=OLDEST_FIRST)
        return Records(tuple(projects), tuple(each.started(started) for each in deployments))

    def reset(self, records: Records | None = None) -> None:
        records = self._initial if records is None else records
        with self._lock:
            self._clock_setting = ""
            self._started = milliseconds(self.now())
            self._projects = records.projects_by_id
            self._deployments = records.deployments_by_id
            self._names = records.names
            self._list = records.list
            self._list_is_old = False
            self._is_shared = True

    def _prepare_change(self) -> None:
        """Copy records that other stores may share; the list is to be made anew."""
        if self._is_shared:
            self._projects = dict(self._projects)
            self._deployments = dict(self._deployments)
            self._names = set(self._names)
            self._is_shared = False
        self._list_is_old = True

    def _queue(self, project_id: str, now: datetime) -> str:
        """Queue a deployment of a project, and return its id."""
        deployment_id = unused_id(self._new_id, "dpl", self._deployments)
        deployment = Deployment(deployment_id, project_id, now, self._timeline)
        self._deployments[deployment_id] = deployment
        return deployment_id

    def add(self, records: Records) -> None:
        with self._lock:
            now = milliseconds(self.now())
            new = {
                project.id: project
                for project in records.projects
                if project.id not in self._projects and project.name not in self._names
            }
            if new and len(self._projects) + len(new) > self._max_projects:
                raise StoreFull
            self._prepare_change()
            for project_id, project in new.items():
                if project.latest_deployment_id in self._deployments:  # one of another project
                    deployment_id = self._queue(project_id, now)
                    project = project._replace(latest_deployment_id=deployment_id)
                self._projects[project_id] = project
                self._names.add(project.name)
            for deployment in records.deployments:
                if deployment.project_id is None or deployment.project_id in self._projects:
                    self._deployments.setdefault(deployment.id, deployment.started(now))

    def remove_projects(self) -> None:
        with self._lock:
            self._prepare_change()
            self._projects, self._names = {}, set()
            self._deployments = {
                each.id: each for each in self._deployments.values() if each.project_id is None
            }

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        with self._lock:
            if project_id is not None and project_id not in self._projects:
                raise UnknownProject
            old = None if deployment_id is None else self._deployments.get(deployment_id)
            owner_id = project_id or (old.project_id if old else None)
            loser = None  # the project that loses its latest deployment
            if old is not None and old.project_id not in (None, owner_id):
                loser = self._projects[old.project_id]
                loser = loser if loser.latest_deployment_id == deployment_id else None
            room = self._max_projects + len(self._projects) - len(self._deployments)
            if (old is None or loser) and room <= 0:
                raise StoreFull
            self._prepare_change()
            now = milliseconds(self.now())
            if deployment_id is None:
                deployment_id = unused_id(self._new_id, "dpl", self._deployments)
            deployment = Deployment(deployment_id, owner_id, now, timeline)
            self._deployments[deployment_id] = deployment
            if project_id is not None:
                self._set_latest(project_id, deployment_id)
            if loser is not None:
                self._set_latest(loser.id, self._queue(loser.id, now))
            return deployment, old is None

    def _set_latest(self, project_id: str, deployment_id: str) -> None:
        project = self._projects[project_id]
        self._projects[project_id] = project._replace(latest_deployment_id=deployment_id)
