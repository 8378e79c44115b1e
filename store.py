"""The narrow `Store` that the three views use, and the one in memory.

Another store has the four methods of `Store`, and passes the suite in tests/test_store.py.
"""

import random
from collections.abc import Callable, Container
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Protocol

from records import (
    OLDEST_FIRST,
    Deployment,
    Project,
    ProjectList,
    timeline_of,
    truncate_to_milliseconds,
)

PACE = 2.0  # default seconds of a created deployment in each running stage
MAX_PROJECTS = 100_000
MAX_TRIES = 1000  # of an id

Clock = Callable[[], datetime]
"""Returns the time, UTC."""

utc_now: Clock = partial(datetime.now, UTC)
"""The default clock."""

NewId = Callable[[str], str]
"""Makes an id with a prefix: `prj` or `dpl`."""


class NameTaken(Exception):
    """A project of that name exists."""


class StoreFull(Exception):
    """The store has its maximum number of projects, or of deployments."""


class StoreUnavailable(Exception):
    """A store outside the process cannot be used now."""


class Store(Protocol):
    """What the views need of a store. Every method is atomic; nothing it returns changes.

    A store outside the process raises `StoreUnavailable` when it cannot be used.
    """

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


def random_id(prefix: str) -> str:
    """The default source of ids: opaque, 64 random bits."""
    return f"{prefix}_{random.getrandbits(64):016x}"


def unused_id(new_id: Callable[[], str], taken: Container[str]) -> str:
    """An id that is not `taken`. Raises `StoreFull` where hardly any is left."""
    for _ in range(MAX_TRIES):
        if (new := new_id()) not in taken:
            return new
    raise StoreFull


class MemoryStore:
    """A `Store` of dictionaries under one lock. A subclass may make its records another way."""

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
        self._timeline = timeline_of(pace)
        self._max_projects = max_projects
        self._lock = Lock()
        self._projects: dict[str, Project] = {}  # by id
        self._deployments: dict[str, Deployment] = {}  # by id
        self._names: set[str] = set()
        self._list: ProjectList | None = None  # cache

    def list_projects(self) -> ProjectList:
        with self._lock:
            if self._list is None:
                self._list = ProjectList(sorted(self._projects.values(), key=OLDEST_FIRST))
            return self._list

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if self._is_taken(name):
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            project, deployment = self._make(name, sent, truncate_to_milliseconds(self.now()))
            self._deployments[deployment.id] = deployment
            self._projects[project.id] = project
            self._names.add(name)
            self._list = None
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            return self._deployments.get(deployment_id)

    def _is_taken(self, name: str) -> bool:
        return name in self._names

    def _make(self, name: str, sent: str, now: datetime) -> tuple[Project, Deployment]:
        """A project, and its first deployment."""
        project_id = unused_id(partial(self._new_id, "prj"), self._projects)
        deployment_id = unused_id(partial(self._new_id, "dpl"), self._deployments)
        deployment = Deployment(deployment_id, project_id, now, self._timeline)
        return Project(project_id, name, now, deployment_id, sent), deployment
