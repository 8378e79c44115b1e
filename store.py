"""The narrow `Store` that the three views use, and the one in memory.

Another store has the four methods of `Store` and passes the suite in tests/test_store.py.
"""

import random
from collections.abc import Callable, Container
from datetime import datetime, timezone
from functools import partial
from threading import Lock
from typing import Protocol

from records import (
    NO_RECORDS,
    OLDEST_FIRST,
    Deployment,
    Project,
    ProjectList,
    Records,
    Timeline,
    TimelineFor,
    timelines_of,
    truncate_to_milliseconds,
)

PACE = 2.0
"""Default seconds of a created deployment in each running stage."""

TIMELINES = timelines_of(PACE)
"""Default stages of created deployments."""

MAX_PROJECTS = 100_000
MAX_TRIES = 1000  # of an id

Clock = Callable[[], datetime]
"""Returns the time, UTC."""

utc_now: Clock = partial(datetime.now, timezone.utc)
"""The default clock."""

NewId = Callable[[str, str, int], str]
"""Makes an id: of a prefix, `prj` or `dpl`; of what an id may be made from, the name of the project
or the id of the deployment's project, if any; and of how many such ones were in use.
"""


class NameTaken(Exception):
    """A project of that name exists."""


class StoreFull(Exception):
    """The store has its maximum number of projects, or of deployments."""


class UnknownProject(Exception):
    """There is no project of that id."""


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


def random_id(prefix: str, base: str, attempt: int) -> str:
    """The default source of ids: opaque, 64 random bits."""
    return f"{prefix}_{random.getrandbits(64):016x}"


def unused_id(new_id: NewId, prefix: str, base: str, taken: Container[str]) -> str:
    """An id of `new_id` that is not `taken`. Raises `StoreFull` where hardly any is left."""
    for attempt in range(MAX_TRIES):
        if (new := new_id(prefix, base, attempt)) not in taken:
            return new
    raise StoreFull


class MemoryStore:
    """A `Store` of dictionaries under one lock, with what the stub needs of one beside it.

    `stub.worlds.WorldStore` describes the methods beyond those of `Store`.
    """

    _list: ProjectList | None  # cache
    _is_shared: bool  # whether the dictionaries are those of `Records`

    def __init__(
        self,
        clock: Clock = utc_now,
        new_id: NewId = random_id,
        *,
        timeline_for: TimelineFor = TIMELINES,
        max_projects: int = MAX_PROJECTS,
        records: Records = NO_RECORDS,
        world: str = "",
        unique_names: bool = True,
    ) -> None:
        self.now = clock
        self._new_id = new_id
        self._timeline_for = timeline_for
        self._max_projects = max_projects
        self._unique_names = unique_names
        self._initial = records
        self._lock = Lock()
        self.reset()

    def list_projects(self) -> ProjectList:
        with self._lock:
            if self._list is None:
                self._list = ProjectList(sorted(self._projects.values(), key=OLDEST_FIRST))
            return self._list

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if self._unique_names and name in self._names:
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            self._prepare_change()
            now = truncate_to_milliseconds(self.now())
            project_id = unused_id(self._new_id, "prj", name, self._projects)
            project = Project(project_id, name, now, self._queue(project_id, name, now), sent)
            self._projects[project_id] = project
            self._names.add(name)
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            deployment = self._deployments.get(deployment_id)
            return deployment and deployment.with_start(self._started)

    def records(self) -> Records:
        with self._lock:
            deployments = [each.with_start(self._started) for each in self._deployments.values()]
            return Records(tuple(self._projects.values()), tuple(deployments))

    def reset(self, records: Records | None = None) -> None:
        records = self._initial if records is None else records
        with self._lock:
            self._started = truncate_to_milliseconds(self.now())
            self._share(records)

    def restore(self, records: Records) -> None:
        with self._lock:
            self._share(records)

    def _share(self, records: Records) -> None:
        """Take records that others may have, too, until one is to change."""
        self._projects = records.projects_by_id
        self._deployments = records.deployments_by_id
        self._names = records.names
        self._list = records.list
        self._is_shared = True

    def _prepare_change(self) -> None:
        """Copy the records if they are shared, and drop the list."""
        if self._is_shared:
            self._projects = dict(self._projects)
            self._deployments = dict(self._deployments)
            self._names = set(self._names)
            self._is_shared = False
        self._list = None

    def _queue(self, project_id: str, name: str, now: datetime) -> str:
        """Queue a deployment of a project, and return its id."""
        deployment_id = unused_id(self._new_id, "dpl", project_id, self._deployments)
        deployment = Deployment(deployment_id, project_id, now, self._timeline_for(name))
        self._deployments[deployment_id] = deployment
        return deployment_id

    def add(self, records: Records) -> None:
        with self._lock:
            now = truncate_to_milliseconds(self.now())
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
                    deployment_id = self._queue(project_id, project.name, now)
                    project = project._replace(latest_deployment_id=deployment_id)
                self._projects[project_id] = project
                self._names.add(project.name)
            for deployment in records.deployments:
                if deployment.project_id is None or deployment.project_id in self._projects:
                    self._deployments.setdefault(deployment.id, deployment.with_start(now))

    def remove_projects(self) -> None:
        with self._lock:
            self._prepare_change()
            self._projects = {}
            self._names = set()
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
            old_owner = old.project_id if old else None
            owner = project_id or old_owner
            loser = None  # the project that loses its latest deployment
            if old_owner is not None and old_owner != owner:
                is_latest = self._projects[old_owner].latest_deployment_id == deployment_id
                loser = old_owner if is_latest else None
            room = self._max_projects + len(self._projects) - len(self._deployments)
            if (old is None or loser) and room <= 0:
                raise StoreFull
            self._prepare_change()
            now = truncate_to_milliseconds(self.now())
            if deployment_id is None:
                deployment_id = unused_id(self._new_id, "dpl", owner or "", self._deployments)
            deployment = Deployment(deployment_id, owner, now, timeline)
            self._deployments[deployment_id] = deployment
            if project_id is not None:
                self._set_latest(project_id, deployment_id)
            if loser is not None:
                self._set_latest(loser, self._queue(loser, self._projects[loser].name, now))
            return deployment, old is None

    def _set_latest(self, project_id: str, deployment_id: str) -> None:
        project = self._projects[project_id]
        self._projects[project_id] = project._replace(latest_deployment_id=deployment_id)
