"""The records, the narrow `Store` that the views use, and its in-memory implementation.

Another implementation has the methods of `Store` and passes `tests/test_store.py`.
"""

import json
import random
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from threading import Lock
from typing import Protocol

PACE = 2.0
"""Default seconds of a created deployment in each running stage."""

MAX_PROJECTS = 100_000

LIST_START, LIST_END = b'{"projects": [', b"]}\n"

quoted = json.JSONEncoder().encode

Clock = Callable[[], datetime]
"""Returns the time, UTC."""

NewId = Callable[[str], str]
"""Makes an id with a prefix, `prj` or `dpl`."""


class NameTaken(Exception):
    """A project of that name exists."""


class StoreFull(Exception):
    """The store has its maximum number of projects."""


class UnknownProject(Exception):
    """There is no project of that id."""


def utc_now() -> datetime:
    """The default clock."""
    return datetime.now(timezone.utc)


def random_id(prefix: str) -> str:
    """The default source of ids: opaque, 64 random bits."""
    return f"{prefix}_{random.getrandbits(64):016x}"


def unused_id(new_id: NewId, prefix: str, taken: Container[str]) -> str:
    """An id of `new_id` that is not `taken`."""
    while (new := new_id(prefix)) in taken:
        pass
    return new


def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, milliseconds: `2026-01-05T09:00:00.000Z`."""
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


@dataclass(frozen=True, slots=True)
class Stage:
    """A status, of `a-z0-9_-`, and the seconds it lasts; the last of a timeline has no end."""

    status: str
    seconds: float | None = None


Timeline = tuple[Stage, ...]


def running(pace: float) -> Timeline:
    """The timeline of a deployment that POST queues."""
    return (Stage("queued", pace), Stage("building", pace), Stage("succeeded"))


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `created_at` is UTC; `sent` is the JSON object that the client sent."""

    id: str
    name: str
    created_at: datetime
    latest_deployment_id: str
    sent: str
    representation: bytes = field(init=False, repr=False, compare=False)
    """The wire form, which ends in a newline; made once, as a list contains it again and again."""

    def __post_init__(self) -> None:
        """Write the wire form: the service's members, then the very text that was sent.

        The text is a JSON object with a `name` and none of the service's members, so that putting
        these behind its brace is JSON again, and no digit or escape of the client's is touched.
        """
        text = (
            f'{{"id": {quoted(self.id)}, "created_at": "{timestamp(self.created_at)}", '
            f'"latest_deployment_id": {quoted(self.latest_deployment_id)}, '
            f"{self.sent.strip()[1:].lstrip()}\n"
        )
        object.__setattr__(self, "representation", text.encode())


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment. `created_at` is UTC; `project_id` is None for one of no project."""

    id: str
    project_id: str | None
    created_at: datetime
    timeline: Timeline

    def status(self, now: datetime) -> str:
        """The status of the stage that its age has reached."""
        age = (now - self.created_at).total_seconds()
        for stage in self.timeline:
            if stage.seconds is None or age < stage.seconds:
                break
            age -= stage.seconds
        return stage.status

    def representation(self, status: str) -> bytes:
        """The wire form in this status, which ends in a newline."""
        text = (
            f'{{"id": {quoted(self.id)}, "project_id": {quoted(self.project_id)}, '
            f'"status": "{status}", "created_at": "{timestamp(self.created_at)}"}}\n'
        )
        return text.encode()


class ProjectList(tuple[Project, ...]):
    """An immutable snapshot of the projects, oldest first."""

    prefix: "ProjectList | None" = None
    """Cache: a list of the first of these, with its wire form; dropped once this has its own."""

    @cached_property
    def representation(self) -> bytes:
        """The wire form, which ends in a newline; cached until a project is added or changed."""
        prefix, self.prefix = self.prefix or (), None
        new = b", ".join([project.representation[:-1] for project in self[len(prefix) :]])
        if not prefix:
            return LIST_START + new + LIST_END
        known = memoryview(prefix.representation)[: -len(LIST_END)]
        return b"".join((known, b", ", new, LIST_END))

    def extended(self, projects: Iterable[Project]) -> "ProjectList":
        """A list of `projects`, which begin with the ones in this list."""
        extended = ProjectList(projects)
        extended.prefix = self if "representation" in vars(self) else self.prefix
        return extended


class Store(Protocol):
    """What the service needs of a store. Every method is atomic; nothing it returns changes."""

    def now(self) -> datetime:
        """The time that dates the records and determines a status; UTC."""

    def list_projects(self) -> ProjectList:
        """All projects, oldest first."""

    def create_project(self, name: str, sent: str) -> Project:
        """Add a project and queue its first deployment.

        Raises `NameTaken` for a name in use (compared code point by code point), else `StoreFull`.
        """

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        """The deployment of that id, or None."""

    def reset(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        """Replace all records by these; the projects are in the order of the list."""

    def add(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        """Add the records whose id and name are not in use, all or none.

        Raises `StoreFull`.
        """

    def remove_projects(self) -> None:
        """Remove all projects, and the deployments that belong to one."""

    def put_deployment(
        self, deployment_id: str, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Make or replace a deployment whose age starts now, as the latest of its project.

        Returns the deployment, and whether it is new. Raises `UnknownProject`.
        """


NewStore = Callable[[Clock, NewId], Store]
"""Makes an empty store of a clock and a source of ids."""


class MemoryStore:
    """A `Store` of dictionaries under one lock."""

    def __init__(
        self,
        clock: Clock = utc_now,
        new_id: NewId = random_id,
        *,
        pace: float = PACE,
        max_projects: int = MAX_PROJECTS,
    ) -> None:
        self.now = clock
        self._new_id = new_id
        self._timeline = running(pace)
        self._max_projects = max_projects
        self._lock = Lock()
        self._list: ProjectList | None = None  # cache; may lack the projects created since
        self.reset((), ())

    def list_projects(self) -> ProjectList:
        with self._lock:
            if self._list is None:
                self._list = ProjectList(self._projects.values())
            elif len(self._list) < len(self._projects):
                self._list = self._list.extended(self._projects.values())
            return self._list

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if name in self._names:
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            project_id = unused_id(self._new_id, "prj", self._projects)
            deployment_id = unused_id(self._new_id, "dpl", self._deployments)
            project = Project(project_id, name, self.now(), deployment_id, sent)
            deployment = Deployment(deployment_id, project_id, project.created_at, self._timeline)
            self._projects[project_id] = project
            self._deployments[deployment_id] = deployment
            self._names.add(name)
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            return self._deployments.get(deployment_id)

    def reset(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        by_id = {project.id: project for project in projects}
        names = {project.name for project in by_id.values()}
        deployments_by_id = {deployment.id: deployment for deployment in deployments}
        with self._lock:
            self._projects = by_id
            self._names = names
            self._deployments = deployments_by_id
            self._list = None

    def add(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        with self._lock:
            by_id, names = dict(self._projects), set(self._names)
            for project in projects:
                if project.id not in by_id and project.name not in names:
                    by_id[project.id] = project
                    names.add(project.name)
            if len(by_id) > max(self._max_projects, len(self._projects)):
                raise StoreFull
            oldest_first = sorted(by_id.values(), key=lambda project: project.created_at)
            self._projects = {project.id: project for project in oldest_first}
            self._names = names
            self._deployments = {each.id: each for each in deployments} | self._deployments
            self._list = None

    def remove_projects(self) -> None:
        with self._lock:
            self._projects, self._names = {}, set()
            self._deployments = {
                each.id: each for each in self._deployments.values() if each.project_id is None
            }
            self._list = None

    def put_deployment(
        self, deployment_id: str, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        with self._lock:
            if project_id is not None:
                project = self._projects.get(project_id)
                if project is None:
                    raise UnknownProject
                self._projects[project_id] = replace(project, latest_deployment_id=deployment_id)
                self._list = None
            is_new = deployment_id not in self._deployments
            deployment = Deployment(deployment_id, project_id, self.now(), timeline)
            self._deployments[deployment_id] = deployment
            return deployment, is_new
