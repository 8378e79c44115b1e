"""Stores for tests: every implementation, a plain one that is their model, and records for them."""

import itertools
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

import pytest

from records import (
    NO_RECORDS,
    Deployment,
    Project,
    ProjectList,
    Records,
    Stage,
    Timeline,
    timeline_of,
    truncate_to_milliseconds,
)
from store import (
    MemoryStore,
    NameTaken,
    StoreFull,
    UnknownProject,
    unused_id,
)
from stub.worlds import WorldStore
from tests.conftest import START, counting_ids

MakeStore = Callable[..., WorldStore]

FAILED = (Stage("failed"),)


class PlainStore:
    """Another implementation, and the model: two lists that are searched from end to end."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[str], str],
        max_projects: int = 100_000,
        records: Records = NO_RECORDS,
    ) -> None:
        self.now = clock
        self._new_id = new_id
        self._max_projects = max_projects
        self._initial = records
        self._lock = Lock()
        self._projects: list[Project] = []
        self._deployments: list[Deployment] = []
        self.reset()

    def list_projects(self) -> ProjectList:
        with self._lock:
            return ProjectList(sorted(self._projects, key=lambda each: each.created_at))

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if any(project.name == name for project in self._projects):
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            project_id = unused_id(self._new_id, "prj", [each.id for each in self._projects])
            now = truncate_to_milliseconds(self.now())
            project = Project(project_id, name, now, self._queue(project_id), sent)
            self._projects.append(project)
            return project

    def _queue(self, project_id: str) -> str:
        deployment_id = unused_id(self._new_id, "dpl", [each.id for each in self._deployments])
        now = truncate_to_milliseconds(self.now())
        self._deployments.append(Deployment(deployment_id, project_id, now, timeline_of(2.0)))
        return deployment_id

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            return next((each for each in self._deployments if each.id == deployment_id), None)

    def records(self) -> Records:
        with self._lock:
            projects = sorted(self._projects, key=lambda each: each.created_at)
            return Records(tuple(projects), tuple(self._deployments))

    def reset(self, records: Records | None = None) -> None:
        records = self._initial if records is None else records
        with self._lock:
            now = truncate_to_milliseconds(self.now())
            self._projects = list(records.projects)
            self._deployments = [each.with_start(now) for each in records.deployments]

    def add(self, records: Records, made_at: datetime | None = None) -> None:
        records = records.dated(made_at, truncate_to_milliseconds(self.now()))
        with self._lock:
            used = [(each.id, each.name) for each in self._projects]
            new = [
                project
                for project in records.projects
                if not any(project.id == id_ or project.name == name for id_, name in used)
            ]
            if new and len(self._projects) + len(new) > self._max_projects:
                raise StoreFull
            known = [each.id for each in self._deployments]
            for project in new:
                if project.latest_deployment_id in known:
                    project = project._replace(latest_deployment_id=self._queue(project.id))
                self._projects.append(project)
            owners = [None, *(each.id for each in self._projects)]
            self._deployments += [
                each.with_start(truncate_to_milliseconds(self.now()))
                for each in records.deployments
                if each.id not in known and each.project_id in owners
            ]

    def remove_projects(self) -> None:
        with self._lock:
            self._projects = []
            self._deployments = [each for each in self._deployments if not each.project_id]

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        with self._lock:
            if project_id not in (None, *(each.id for each in self._projects)):
                raise UnknownProject
            old = next((each for each in self._deployments if each.id == deployment_id), None)
            owner = project_id or (old.project_id if old else None)
            loses = any(
                each.latest_deployment_id == deployment_id and each.id != owner
                for each in self._projects
            )
            others = len(self._deployments) - len(self._projects)
            if (old is None or loses) and others >= self._max_projects:
                raise StoreFull
            if deployment_id is None:
                ids = [each.id for each in self._deployments]
                deployment_id = unused_id(self._new_id, "dpl", ids)
            deployment = Deployment(
                deployment_id, owner, truncate_to_milliseconds(self.now()), timeline
            )
            self._deployments = [each for each in self._deployments if each.id != deployment_id]
            self._deployments.append(deployment)
            for index, project in enumerate(self._projects):
                latest = project.latest_deployment_id
                if project.id == project_id:
                    latest = deployment_id
                elif latest == deployment_id and project.id != owner:
                    latest = self._queue(project.id)
                self._projects[index] = project._replace(latest_deployment_id=latest)
            return deployment, old is None


def project_and_deployment(number: int) -> tuple[Project, Deployment]:
    deployment = Deployment(f"d{number}", f"p{number}", START, (Stage("failed"),))
    sent = f'{{"name": "n{number}"}}'
    created_at = START - timedelta(days=number // 3)
    return Project(f"p{number}", f"n{number}", created_at, deployment.id, sent), deployment


def records_of(*numbers: int) -> Records:
    pairs = [project_and_deployment(number) for number in numbers]
    return Records(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


def ids_counted_by_prefix() -> Callable[[str], str]:
    """An id that a rejected create has drawn is then that of the next create, in any store."""
    sources = {prefix: counting_ids() for prefix in ("prj", "dpl")}
    return lambda prefix: sources[prefix](prefix)


class BrokenStore:
    """A store that fails."""

    def __init__(self, *args: object, **options: object) -> None:
        pass

    def now(self) -> datetime:
        return START

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("dev-token: a secret of the store")


# Threads switch where one waits. Texts whose hashing waits widen each window between two steps
# of a method to milliseconds.


class SlowId(str):
    __slots__ = ()

    def __hash__(self) -> int:
        time.sleep(0.001)
        return super().__hash__()


STORES = [MemoryStore, pytest.param("RedisStore", marks=pytest.mark.process)]
"""The implementations of `Store` and of `WorldStore`; the plain one is their model."""


def implementation(request: pytest.FixtureRequest) -> MakeStore:
    """Makes stores of the implementation that is the parameter; each store is new."""
    if request.param == "RedisStore":
        redis, numbers = request.getfixturevalue("redis_stores"), itertools.count()
        return lambda **options: redis(**options, world=f"w{next(numbers)}")
    make: MakeStore = request.param
    return make
