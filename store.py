"""The `Store` that the three views use, and `MemoryStore`, which keeps its records in memory.

To add a store, implement the four methods of `Store` and pass the tests in tests/test_store.py.
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
    make_timeline,
    truncate_to_milliseconds,
)

PACE = 2.0  # default seconds of a created deployment in every running stage
MAX_PROJECTS = 100_000
MAX_TRIES = 1000  # attempts to find an unused id

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
    """The methods of a store that the views call. They are atomic and return immutable values.

    A store outside the process raises `StoreUnavailable` when it cannot be used.
    """

    def now(self) -> datetime:
        """Return the time (UTC) that dates records and determines statuses."""

    def list_projects(self) -> ProjectList:
        """Return all projects, oldest first."""

    def create_project(self, name: str, sent: str) -> Project:
        """Add a project and queue its first deployment.

        Raises `NameTaken` for a name in use (compared code point by code point), else `StoreFull`.
        """

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        """Return the deployment with this id (`dpl_building`), or None."""


def random_id(prefix: str) -> str:
    """Make an opaque id of 64 random bits: `prj_0f5e1d2c3b4a5968`. The default `NewId`."""
    return f"{prefix}_{random.getrandbits(64):016x}"


def unused_id(new_id: Callable[[], str], taken: Container[str]) -> str:
    """Return a new id that is not `taken`. Raises `StoreFull` if hardly any id is left."""
    for _ in range(MAX_TRIES):
        if (new := new_id()) not in taken:
            return new
    raise StoreFull


class MemoryStore:
    """A `Store` of dictionaries under a lock."""

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
        self._timeline = make_timeline(pace)
        self._max_projects = max_projects
        self._lock = Lock()
        self._projects: dict[str, Project] = {}  # key: id
        self._deployments: dict[str, Deployment] = {}  # key: id
        self._names: set[str] = set()
        self._list: ProjectList | None = None  # cache

    def list_projects(self) -> ProjectList:
        with self._lock:
            if self._list is None:
                self._list = ProjectList(sorted(self._projects.values(), key=OLDEST_FIRST))
            return self._list

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if name in self._names:
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            now = truncate_to_milliseconds(self.now())
            project_id = unused_id(partial(self._new_id, "prj"), self._projects)
            deployment_id = unused_id(partial(self._new_id, "dpl"), self._deployments)
            deployment = Deployment(deployment_id, project_id, now, self._timeline)
            project = Project(project_id, name, now, deployment_id, sent)
            self._projects[project_id] = project
            self._deployments[deployment_id] = deployment
            self._names.add(name)
            self._list = None
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            return self._deployments.get(deployment_id)
