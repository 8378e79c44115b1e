"""The store of a world: the store of the service, with more changes.

An external store implements `StubStore`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

import store
from records import (
    OLDEST_FIRST,
    STATUSES,
    Deployment,
    Project,
    ProjectList,
    Stage,
    Timeline,
    make_timeline,
    truncate_to_milliseconds,
)
from web.patterns import matches

from .clock import WorldClock
from .ids import MakeId, make_unused_id

AT_START = datetime.min.replace(tzinfo=UTC)
"""The `created_at` of a deployment that begins when a store takes it. A store replaces it."""

TimelineFor = Callable[[str], Timeline]
"""Returns the timeline of a queued deployment for the name of its project: `"demo-1"`."""


class UnknownProject(Exception):
    """No project has this id."""


@dataclass(frozen=True)
class Records:
    """The records at the start of a store. The worlds of a stub share them and their indexes."""

    projects: tuple[Project, ...] = ()
    deployments: tuple[Deployment, ...] = ()

    @cached_property
    def projects_by_id(self) -> dict[str, Project]:
        return {project.id: project for project in self.projects}

    @cached_property
    def deployments_by_id(self) -> dict[str, Deployment]:
        return {deployment.id: deployment for deployment in self.deployments}

    @cached_property
    def undated(self) -> list[Deployment]:
        return [each for each in self.deployments if each.created_at is AT_START]

    @cached_property
    def names(self) -> set[str]:
        return {project.name for project in self.projects}

    @cached_property
    def list(self) -> ProjectList:
        return ProjectList(sorted(self.projects, key=OLDEST_FIRST))

    def begin_deployments(self, now: datetime) -> dict[str, Deployment]:
        """Return the deployments by id. A deployment without a time begins now."""
        deployments = dict(self.deployments_by_id)
        for each in self.undated:
            deployments[each.id] = Deployment(each.id, each.project_id, now, each.timeline)
        return deployments


NO_RECORDS = Records()


class StubStore(store.Store, Protocol):
    """The methods of a store that the stub calls, besides those that the views call."""

    def records(self) -> Records:
        """Return all records. Every deployment has a time."""

    def reset(self, records: Records | None = None) -> None:
        """Replace all records, by default by the records of the start.

        In the same step, a store that programs share resets the setting of the clock.
        """

    def add(self, records: Records) -> None:
        """Add the records with a new id and a new name. Raises `StoreFull` before it adds any."""

    def remove_projects(self) -> None:
        """Remove all projects and their deployments."""

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        """Create or replace a deployment that begins now. Return it, and whether it is new.

        - Without an id, a new id is made.
        - With a `project_id`, it becomes the latest deployment of the project.
        - Without a `project_id`, a replaced deployment keeps its project.

        There is room for a deployment of every project, and for `max_projects` more. A new
        deployment without room raises `StoreFull`. Also raises `UnknownProject`.
        """


class NewStore(Protocol):
    """Makes the store of a world in memory, with the options of the stub."""

    def __call__(self, clock: store.Clock, ids: MakeId, *, records: Records) -> "WorldStore": ...


class SharedStores(Protocol):
    """The methods of stores that several programs share: `--store redis://127.0.0.1:6379/0`."""

    def open(
        self,
        world: str,
        clock: WorldClock,
        ids: MakeId,
        records: Records,
        new_store: "NewStore",
    ) -> tuple[StubStore, WorldClock]:
        """Open the store and the clock of a world. A new world begins with these."""

    def worlds(self) -> dict[str, int]:
        """Return the number of projects in the worlds that have records: `{"job-42": 5}`."""


class WorldStore(store.MemoryStore):
    """The store of a world in memory.

    `timeline_for` chooses the timeline of a deployment by the name of its project.
    """

    def __init__(
        self,
        clock: store.Clock,
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
                raise store.NameTaken
            if len(self._projects) >= self._max_projects:
                raise store.StoreFull
            now = truncate_to_milliseconds(self.now())
            project_id = make_unused_id(self._ids, self._projects, "prj", name)
            deployment = self._queue(project_id, name, now)
            project = Project(project_id, name, now, deployment.id, sent)
            self._projects[project_id] = project
            self._names.add(name)
            self._list = None
            return project

    def records(self) -> Records:
        with self._lock:
            return Records(tuple(self._projects.values()), tuple(self._deployments.values()))

    def reset(self, records: Records | None = None) -> None:
        with self._lock:
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
                raise store.StoreFull
            for project in new:
                if project.latest_deployment_id in self._deployments:  # Another project has it.
                    deployment = self._queue(project.id, project.name, now)
                    project = project._replace(latest_deployment_id=deployment.id)
                self._projects[project.id] = project
                self._names.add(project.name)
            for deployment in records.begin_deployments(now).values():
                if deployment.project_id is None or deployment.project_id in self._projects:
                    self._deployments.setdefault(deployment.id, deployment)
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
            most = len(self._projects) + self._max_projects
            if old is None and len(self._deployments) >= most:
                raise store.StoreFull
            now = truncate_to_milliseconds(self.now())
            if deployment_id is None:
                name = self._projects[owner].name if owner else ""
                deployment_id = make_unused_id(
                    self._ids, self._deployments, "dpl", name, owner or ""
                )
            deployment = Deployment(deployment_id, owner, now, timeline)
            self._deployments[deployment_id] = deployment
            self._list = None  # The list of a profile may show statuses.
            if project_id is not None:
                self._set_latest(project_id, deployment_id)
            return deployment, old is None

    def _take(self, records: Records) -> None:
        self._projects = dict(records.projects_by_id)
        now = truncate_to_milliseconds(self.now())
        self._deployments = records.begin_deployments(now)
        self._names = set(records.names)
        self._list = records.list

    def _queue(self, project_id: str, name: str, now: datetime) -> Deployment:
        deployment_id = make_unused_id(self._ids, self._deployments, "dpl", name, project_id)
        deployment = Deployment(deployment_id, project_id, now, self._timeline_for(name))
        self._deployments[deployment_id] = deployment
        return deployment

    def _set_latest(self, project_id: str, deployment_id: str) -> None:
        project = self._projects[project_id]
        self._projects[project_id] = project._replace(latest_deployment_id=deployment_id)


def plan_timelines(
    pace: float,
    statuses: Sequence[str] = STATUSES,
    outcomes: Sequence[tuple[str, str]] = (),
) -> TimelineFor:
    """Return the function that chooses a timeline.

    An outcome is a shell pattern of names, and a last status: `("fail-*", "failed")`. The first
    matching pattern decides. By default a deployment ends in the last of the statuses.
    """
    usual = make_timeline(pace, statuses)
    chosen = [(pattern, (*usual[:-1], Stage(status))) for pattern, status in outcomes]

    def timeline_for(name: str) -> Timeline:
        for pattern, timeline in chosen:
            if matches(pattern, name):
                return timeline
        return usual

    return timeline_for
