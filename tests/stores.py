"""Stores for tests: every implementation, a plain one that is their model, and records for them."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from inspect import signature

import pytest

from records import Deployment, Project, ProjectList, Records, Stage, Timeline, timeline_of
from store import MemoryStore, NameTaken, NewId, StoreFull, UnknownProject, unused_id
from stub.worlds import WorldStore
from tests.conftest import START, Clock, counting_ids

MakeStore = Callable[..., WorldStore]

FAILED = (Stage("failed"),)
DEFAULTS = {name: each.default for name, each in signature(MemoryStore).parameters.items()}
"""The options of a store, as the app gives them to each."""


@dataclass
class PlainStore:
    """The model: two lists that are searched from end to end, for one thread."""

    now: Callable[[], datetime]
    new_id: NewId
    max_projects: int
    projects: list[Project] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)

    def list_projects(self) -> ProjectList:
        return ProjectList(sorted(self.projects, key=lambda each: each.created_at))

    def create_project(self, name: str, sent: str) -> Project:
        if any(project.name == name for project in self.projects):
            raise NameTaken
        if len(self.projects) >= self.max_projects:
            raise StoreFull
        project_id = unused_id(self.new_id, "prj", name, [each.id for each in self.projects])
        project = Project(project_id, name, self.now(), self._queue(project_id), sent)
        self.projects.append(project)
        return project

    def _queue(self, project_id: str) -> str:
        taken = [each.id for each in self.deployments]
        deployment_id = unused_id(self.new_id, "dpl", project_id, taken)
        self.deployments.append(Deployment(deployment_id, project_id, self.now(), timeline_of(2.0)))
        return deployment_id

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        return next((each for each in self.deployments if each.id == deployment_id), None)

    def records(self) -> Records:
        return Records(self.list_projects(), tuple(self.deployments))

    def reset(self, records: Records | None = None) -> None:
        assert records
        self.restore(records)

    def restore(self, records: Records) -> None:
        self.projects = [*records.projects]
        self.deployments = [*records.deployments]

    def add(self, records: Records) -> None:
        used = {part for each in self.projects for part in (each.id, each.name)}
        new = [each for each in records.projects if not {each.id, each.name} & used]
        if new and len(self.projects) + len(new) > self.max_projects:
            raise StoreFull
        known = [each.id for each in self.deployments]
        for project in new:
            if project.latest_deployment_id in known:
                project = project._replace(latest_deployment_id=self._queue(project.id))
            self.projects.append(project)
        owners = [None, *(each.id for each in self.projects)]
        self.deployments += [
            each
            for each in records.deployments
            if each.id not in known and each.project_id in owners
        ]

    def remove_projects(self) -> None:
        self.projects = []
        self.deployments = [each for each in self.deployments if not each.project_id]

    def put_deployment(
        self, deployment_id: str | None, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        if project_id not in (None, *(each.id for each in self.projects)):
            raise UnknownProject
        old = self.get_deployment(deployment_id) if deployment_id else None
        owner = project_id or (old.project_id if old else None)
        loses = any(
            each.latest_deployment_id == deployment_id and each.id != owner
            for each in self.projects
        )
        others = len(self.deployments) - len(self.projects)
        if (old is None or loses) and others >= self.max_projects:
            raise StoreFull
        if deployment_id is None:
            ids = [each.id for each in self.deployments]
            deployment_id = unused_id(self.new_id, "dpl", owner or "", ids)
        deployment = Deployment(deployment_id, owner, self.now(), timeline)
        self.deployments = [each for each in self.deployments if each.id != deployment_id]
        self.deployments.append(deployment)
        for index, project in enumerate(self.projects):
            latest = project.latest_deployment_id
            if project.id == project_id:
                latest = deployment_id
            elif latest == deployment_id and project.id != owner:
                latest = self._queue(project.id)
            self.projects[index] = project._replace(latest_deployment_id=latest)
        return deployment, old is None


def project_and_deployment(number: int) -> tuple[Project, Deployment]:
    deployment = Deployment(f"d{number}", f"p{number}", START, FAILED)
    sent = f'{{"name": "n{number}"}}'
    created_at = START - timedelta(days=number // 3)
    return Project(f"p{number}", f"n{number}", created_at, deployment.id, sent), deployment


def records_of(*numbers: int) -> Records:
    pairs = [project_and_deployment(number) for number in numbers]
    return Records(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


def ids_counted_by_prefix() -> NewId:
    """An id that a rejected create has drawn is then that of the next create, in any store."""
    sources = {prefix: counting_ids() for prefix in ("prj", "dpl")}
    return lambda prefix, *rest: sources[prefix](prefix, *rest)


class SlowId(str):
    """Its hashing waits, and threads switch: the window between two steps of a method is wide."""

    def __hash__(self) -> int:
        time.sleep(0.001)
        return super().__hash__()


STORES = [MemoryStore, pytest.param("RedisStore", marks=pytest.mark.process)]
"""The implementations of `Store` and of `WorldStore`; the plain one is their model."""


@pytest.fixture(params=STORES)
def implementation(request: pytest.FixtureRequest) -> MakeStore:
    """Makes stores of one implementation; each store is new."""
    if request.param == "RedisStore":
        redis, numbers = request.getfixturevalue("redis_stores"), itertools.count()
        return lambda **options: redis(**DEFAULTS | {"world": f"w{next(numbers)}"} | options)
    make: MakeStore = request.param
    return make


@pytest.fixture
def make_store(implementation: MakeStore, clock: Clock) -> MakeStore:
    return partial(implementation, clock=clock, new_id=counting_ids(), max_projects=3)


@pytest.fixture
def store(make_store: MakeStore) -> WorldStore:
    return make_store()
