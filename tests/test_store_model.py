"""A model of a `Store`, and a random walk that compares `MemoryStore` with it."""

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from store import (
    EMPTY,
    Deployment,
    MemoryStore,
    NameTaken,
    Project,
    ProjectList,
    Records,
    Stage,
    Store,
    StoreFull,
    Timeline,
    UnknownProject,
    milliseconds,
    timeline_of,
    unused_id,
)
from tests.conftest import START, Clock, counting_ids


class PlainStore:
    """Another implementation, and the model: two lists that are searched from end to end."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[str], str],
        max_projects: int = 100_000,
        records: Records = EMPTY,
    ) -> None:
        self.now = clock
        self._new_id = new_id
        self._max_projects = max_projects
        self._initial = records
        self._clock_setting = ""
        self._lock = Lock()
        self._projects: list[Project] = []
        self._deployments: list[Deployment] = []
        self.reset()

    def clock_setting(self) -> str:
        return self._clock_setting

    def set_clock(self, old: str, new: str) -> bool:
        with self._lock:
            is_old = self._clock_setting == old
            self._clock_setting = new if is_old else self._clock_setting
            return is_old

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
            now = milliseconds(self.now())
            project = Project(project_id, name, now, self._queue(project_id), sent)
            self._projects.append(project)
            return project

    def _queue(self, project_id: str) -> str:
        deployment_id = unused_id(self._new_id, "dpl", [each.id for each in self._deployments])
        now = milliseconds(self.now())
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
            self._clock_setting = ""
            now = milliseconds(self.now())
            self._projects = list(records.projects)
            self._deployments = [each.started(now) for each in records.deployments]

    def add(self, records: Records) -> None:
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
                each.started(milliseconds(self.now()))
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
            deployment = Deployment(deployment_id, owner, milliseconds(self.now()), timeline)
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


def outcome(act: Callable[[Store], Any], store: Store) -> Any:
    try:
        return act(store)
    except (NameTaken, StoreFull, UnknownProject) as error:
        return type(error)


def ids_counted_by_prefix() -> Callable[[str], str]:
    """An id that a rejected create has drawn is then that of the next create, in any store."""
    sources = {prefix: counting_ids() for prefix in ("prj", "dpl")}
    return lambda prefix: sources[prefix](prefix)


class AgainstTheModel(RuleBasedStateMachine):
    """A store behaves as the model does with the same clock and ids."""

    make: Callable[..., Store] = MemoryStore

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        options: dict[str, Any] = {"clock": self.clock, "max_projects": 4}
        self.store = type(self).make(**options, new_id=ids_counted_by_prefix())
        self.model = PlainStore(**options, new_id=ids_counted_by_prefix())
        self.ids = ["dpl_1"]

    def both(self, act: Callable[[Store], Any]) -> Any:
        result, expected = outcome(act, self.store), outcome(act, self.model)
        assert result == expected
        return result

    @rule(name=st.sampled_from("abcdef"))
    def create(self, name: str) -> None:
        made = self.both(lambda store: store.create_project(name, f'{{"name": "{name}"}}'))
        if isinstance(made, Project):
            self.ids.append(made.latest_deployment_id)

    @rule(numbers=st.lists(st.integers(0, 5), unique=True, max_size=3))
    def add(self, numbers: list[int]) -> None:
        self.ids += [f"d{number}" for number in numbers]
        self.both(lambda store: store.add(records_of(*numbers)))

    @rule()
    def remove_projects(self) -> None:
        self.both(lambda store: store.remove_projects())

    @rule(
        number=st.none() | st.integers(0, 3),
        project_id=st.none() | st.sampled_from(["p0", "p1", "prj_1"]),
    )
    def put(self, number: int | None, project_id: str | None) -> None:
        deployment_id = None if number is None else f"d{number}"
        timeline = (Stage("failed"),)
        self.both(lambda store: store.put_deployment(deployment_id, timeline, project_id))

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        deployment_id = data.draw(st.sampled_from(self.ids))
        self.both(lambda store: store.get_deployment(deployment_id))

    @rule(old=st.sampled_from(["", "a", "b"]), new=st.sampled_from("ab"))
    def set_clock(self, old: str, new: str) -> None:
        self.both(lambda store: store.set_clock(old, new))
        self.both(lambda store: store.clock_setting())

    @rule(seconds=st.floats(-5, 5))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(numbers=st.lists(st.integers(0, 5), unique=True, max_size=4))
    def reset(self, numbers: list[int]) -> None:
        self.ids += [f"d{number}" for number in numbers]
        self.both(lambda store: store.reset(records_of(*numbers)))

    @invariant()
    def lists_agree(self) -> None:
        self.both(lambda store: store.list_projects())
        self.both(lambda store: store.list_projects().representation)

    @invariant()
    def records_agree(self) -> None:
        ours, theirs = self.store.records(), self.model.records()
        assert ours.projects == theirs.projects
        assert {*ours.deployments} == {*theirs.deployments}

    @invariant()
    def deployments_agree(self) -> None:
        for project in self.store.list_projects():
            deployment = self.store.get_deployment(project.latest_deployment_id)
            assert deployment is not None
            assert deployment.project_id == project.id
            assert deployment == self.model.get_deployment(deployment.id)


TestAgainstTheModel = AgainstTheModel.TestCase


def test_redis_against_the_model(redis_stores: Callable[..., Store]) -> None:
    numbers = itertools.count()

    class RedisAgainstTheModel(AgainstTheModel):
        @staticmethod
        def make(**options: Any) -> Store:
            return redis_stores(**options, world=f"w{next(numbers)}")

    run_state_machine_as_test(
        RedisAgainstTheModel,
        settings=settings(max_examples=25, stateful_step_count=25),
    )
