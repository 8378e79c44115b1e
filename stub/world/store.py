"""The store of a world: that of the service, with records that are replaced, added and removed.

A store outside the process has the methods of `StubStore`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

from records import (
    OLDEST_FIRST,
    Deployment,
    Project,
    ProjectList,
    Timeline,
    truncate_to_milliseconds,
)
from store import Clock, MemoryStore, NameTaken, Store, StoreFull

from .clock import WorldClock
from .ids import MakeId, make_unused_id
from .timelines import TimelineFor

AT_START = datetime.min.replace(tzinfo=UTC)
"""This object stands for the time at which a store starts from its records."""


class UnknownProject(Exception):
    """There is no project of that id."""


@dataclass(frozen=True)
class Records:
    """A state that stores can start from. Many can share it: each copies what it changes.

    Saves 99 % of the processor time of a reset to 100,000 records.
    """

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


NO_RECORDS = Records()


def with_start(deployment: Deployment, at: datetime) -> Deployment:
    """The deployment, created at that time if it has no time of its own."""
    return deployment._replace(created_at=at) if deployment.created_at is AT_START else deployment


class StubStore(Store, Protocol):
    """What the stub needs of the store of a world, beside what the views need."""

    def records(self) -> Records:
        """All records; each deployment has a time of its own."""

    def reset(self, records: Records | None = None) -> None:
        """Replace all records by these, or by those of the start; in the same step, a store that
        programs share resets the setting of the clock.
        """

    def add(self, records: Records) -> None:
        """Add the records whose id and name are not in use, all or none. Raises `StoreFull`."""

    def remove_projects(self) -> None:
        """Remove all projects, and the deployments that belong to one."""

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Make or replace a deployment, whose age starts now; without an id it is a new one.

        Returns it, and whether it is new. A replaced one keeps its project. With a `project_id` it
        becomes the latest of that project, and another project that names it stays as it is.

        Raises `UnknownProject`, or `StoreFull`: besides one deployment for each project there may
        be as many as there may be projects. What `reset` brings has no bound, nor have the
        deployments that `add` brings.
        """


class NewStore(Protocol):
    """Makes a store of a world in memory, with the options of the stub."""

    def __call__(self, clock: Clock, ids: MakeId, *, records: Records) -> "WorldStore": ...


class SharedStores(Protocol):
    """What the stub needs of the stores that several programs share."""

    def open(
        self,
        world: str,
        clock: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: "NewStore",
    ) -> tuple[StubStore, WorldClock]:
        """The store of a world, and its clock, which may be there already.

        A world that is not there begins with this clock and these records.
        """

    def worlds(self) -> dict[str, int]:
        """The number of projects of each world with records, by its name."""


class WorldStore(MemoryStore):
    """The store of a world.

    `ids` may make an id of the name of a project, or of the project of a deployment. `timeline_for`
    chooses a timeline by the name of a project.
    """

    def __init__(
        self,
        clock: Clock,
        ids: MakeId,
        *,
        timeline_for: TimelineFor,
        max_projects: int,
        records: Records = NO_RECORDS,
        unique_names: bool = True,
    ) -> None:
        super().__init__(clock, max_projects=max_projects)
        self._ids = ids
        self._timeline_for = timeline_for
        self._unique_names = unique_names
        self._initial = records
        self.reset()

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if self._unique_names and name in self._names:
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            now = truncate_to_milliseconds(self.now())
            project_id = make_unused_id(self._ids, "prj", name, self._projects)
            deployment = self._queue(project_id, name, now)
            project = Project(project_id, name, now, deployment.id, sent)
            self._projects[project_id] = project
            self._names.add(name)
            self._list = None
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        deployment = super().get_deployment(deployment_id)
        return deployment and with_start(deployment, self._started)

    def records(self) -> Records:
        with self._lock:
            deployments = [with_start(each, self._started) for each in self._deployments.values()]
            return Records(tuple(self._projects.values()), tuple(deployments))

    def reset(self, records: Records | None = None) -> None:
        with self._lock:
            self._started = truncate_to_milliseconds(self.now())
            self._take(self._initial if records is None else records)

    def add(self, records: Records) -> None:
        with self._lock:
            now = truncate_to_milliseconds(self.now())
            new = [
                project
                for project in records.projects
                if project.id not in self._projects and project.name not in self._names
            ]
            if new and len(self._projects) + len(new) > self._max_projects:
                raise StoreFull
            for project in new:
                if project.latest_deployment_id in self._deployments:  # one of another project
                    deployment = self._queue(project.id, project.name, now)
                    project = project._replace(latest_deployment_id=deployment.id)
                self._projects[project.id] = project
                self._names.add(project.name)
            for deployment in records.deployments:
                if deployment.project_id is None or deployment.project_id in self._projects:
                    self._deployments.setdefault(deployment.id, with_start(deployment, now))
            self._list = None

    def remove_projects(self) -> None:
        with self._lock:
            left = [each for each in self._deployments.values() if each.project_id is None]
            self._take(Records((), tuple(left)))

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        with self._lock:
            if project_id is not None and project_id not in self._projects:
                raise UnknownProject
            old = None if deployment_id is None else self._deployments.get(deployment_id)
            owner = old.project_id if old and project_id is None else project_id
            room = self._max_projects + len(self._projects) - len(self._deployments)
            if old is None and room <= 0:
                raise StoreFull
            now = truncate_to_milliseconds(self.now())
            if deployment_id is None:
                deployment_id = make_unused_id(self._ids, "dpl", owner or "", self._deployments)
            deployment = Deployment(deployment_id, owner, now, timeline)
            self._deployments[deployment_id] = deployment
            self._list = None  # also without a project: some lists show statuses
            if project_id is not None:
                self._set_latest(project_id, deployment_id)
            return deployment, old is None

    def _take(self, records: Records) -> None:
        self._projects = dict(records.projects_by_id)
        self._deployments = dict(records.deployments_by_id)
        self._names = set(records.names)
        self._list = records.list

    def _queue(self, project_id: str, name: str, now: datetime) -> Deployment:
        deployment_id = make_unused_id(self._ids, "dpl", project_id, self._deployments)
        deployment = Deployment(deployment_id, project_id, now, self._timeline_for(name))
        self._deployments[deployment_id] = deployment
        return deployment

    def _set_latest(self, project_id: str, deployment_id: str) -> None:
        project = self._projects[project_id]
        self._projects[project_id] = project._replace(latest_deployment_id=deployment_id)
