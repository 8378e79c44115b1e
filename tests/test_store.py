"""The contract of a `Store`, which every implementation passes."""

import json
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError, fields, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from store import (
    Deployment,
    MemoryStore,
    NameTaken,
    Project,
    ProjectList,
    Stage,
    Store,
    StoreFull,
    Timeline,
    UnknownProject,
    running,
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
    ) -> None:
        self.now = clock
        self._new_id = new_id
        self._max_projects = max_projects
        self._lock = Lock()
        self._projects: list[Project] = []
        self._deployments: list[Deployment] = []

    def list_projects(self) -> ProjectList:
        with self._lock:
            return ProjectList(self._projects)

    def create_project(self, name: str, sent: str) -> Project:
        with self._lock:
            if any(project.name == name for project in self._projects):
                raise NameTaken
            if len(self._projects) >= self._max_projects:
                raise StoreFull
            project_id = unused_id(self._new_id, "prj", [each.id for each in self._projects])
            deployment_id = unused_id(self._new_id, "dpl", [each.id for each in self._deployments])
            project = Project(project_id, name, self.now(), deployment_id, sent)
            self._projects.append(project)
            self._deployments.append(
                Deployment(deployment_id, project_id, project.created_at, running(2.0))
            )
            return project

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        with self._lock:
            return next((each for each in self._deployments if each.id == deployment_id), None)

    def reset(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        with self._lock:
            self._projects = list(projects)
            self._deployments = list(deployments)

    def add(self, projects: Iterable[Project], deployments: Iterable[Deployment]) -> None:
        with self._lock:
            together = list(self._projects)
            for project in projects:
                if not any(each.id == project.id or each.name == project.name for each in together):
                    together.append(project)
            if len(self._projects) < len(together) > self._max_projects:
                raise StoreFull
            self._projects = sorted(together, key=lambda each: each.created_at)
            held = [each.id for each in self._deployments]
            self._deployments += [each for each in deployments if each.id not in held]

    def remove_projects(self) -> None:
        with self._lock:
            self._projects = []
            self._deployments = [each for each in self._deployments if not each.project_id]

    def put_deployment(
        self, deployment_id: str, timeline: Timeline, project_id: str | None = None
    ) -> tuple[Deployment, bool]:
        with self._lock:
            if project_id not in (None, *(each.id for each in self._projects)):
                raise UnknownProject
            self._projects = [
                replace(each, latest_deployment_id=deployment_id) if each.id == project_id else each
                for each in self._projects
            ]
            others = [each for each in self._deployments if each.id != deployment_id]
            is_new = len(others) == len(self._deployments)
            deployment = Deployment(deployment_id, project_id, self.now(), timeline)
            self._deployments = [*others, deployment]
            return deployment, is_new


IMPLEMENTATIONS: list[Callable[..., Store]] = [MemoryStore, PlainStore]


@pytest.fixture(params=IMPLEMENTATIONS)
def store(request: pytest.FixtureRequest, clock: Clock) -> Store:
    made: Store = request.param(clock=clock, new_id=counting_ids(), max_projects=3)
    return made


def project_and_deployment(number: int) -> tuple[Project, Deployment]:
    deployment = Deployment(f"d{number}", f"p{number}", START, (Stage("failed"),))
    sent = f'{{"name": "n{number}"}}'
    created_at = START - timedelta(days=number // 3)
    return Project(f"p{number}", f"n{number}", created_at, deployment.id, sent), deployment


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.list_projects() == ()
    assert store.get_deployment("dpl_1") is None


def test_created_projects_are_listed_in_order_with_their_deployments(
    store: Store, clock: Clock
) -> None:
    first = store.create_project("a", '{"name": "a"}')
    clock.advance(1)
    second = store.create_project("b", '{"name": "b"}')
    assert store.list_projects() == (first, second)
    for project in (first, second):
        deployment = store.get_deployment(project.latest_deployment_id)
        assert deployment is not None
        assert deployment.project_id == project.id
        assert deployment.created_at == project.created_at
        assert deployment.timeline == running(2.0)


def test_a_list_is_a_snapshot(store: Store) -> None:
    before = store.list_projects()
    store.create_project("a", '{"name": "a"}')
    assert (len(before), len(store.list_projects())) == (0, 1)


def test_records_cannot_be_changed(store: Store) -> None:
    project, deployment = project_and_deployment(1)
    store.reset([project], [deployment])
    for record in (*store.list_projects(), deployment, deployment.timeline[0]):
        with pytest.raises(FrozenInstanceError):
            setattr(record, fields(record)[0].name, "other")


def test_an_unchanged_list_is_cached() -> None:
    store = MemoryStore()
    assert store.list_projects() is store.list_projects()
    assert store.list_projects().representation is store.list_projects().representation


def test_a_list_is_written_in_full_after_each_change(store: Store) -> None:
    for number in range(3):
        store.create_project(f"p{number}", json.dumps({"name": f"p{number}"}))
        projects = store.list_projects()
        if number != 1:  # this list is never written
            written = json.loads(projects.representation)["projects"]
            assert [each["name"] for each in written] == ["p0", "p1", "p2"][: number + 1]
            assert [each["id"] for each in written] == [project.id for project in projects]
    store.put_deployment("x", (Stage("failed"),), projects[0].id)
    written = json.loads(store.list_projects().representation)["projects"]
    assert [each["latest_deployment_id"] == "x" for each in written] == [True, False, False]
    store.remove_projects()
    store.create_project("new", '{"name": "new"}')
    assert store.list_projects().representation.count(b'"name"') == 1


def test_a_deployment_that_is_put_is_the_latest_of_its_project(store: Store, clock: Clock) -> None:
    project, deployment = project_and_deployment(1)
    store.reset([project], [deployment])
    before = store.list_projects()
    clock.advance(5)
    made, is_new = store.put_deployment("d2", (Stage("queued"),), "p1")
    assert is_new
    assert made == store.get_deployment("d2") == Deployment("d2", "p1", clock(), (Stage("queued"),))
    (changed,) = store.list_projects()
    assert (changed.latest_deployment_id, changed.created_at) == ("d2", START)
    assert b'"d2"' in changed.representation
    assert before[0].latest_deployment_id == "d1"
    assert store.put_deployment("d2", (Stage("failed"),)) == (
        Deployment("d2", None, clock(), (Stage("failed"),)),
        False,
    )
    with pytest.raises(UnknownProject):
        store.put_deployment("d3", (Stage("failed"),), "nope")
    assert store.get_deployment("d3") is None


def test_add_keeps_existing_records(store: Store) -> None:
    (one, one_d), (two, two_d) = project_and_deployment(1), project_and_deployment(2)
    store.reset([one], [one_d])
    same_name = replace(two, name=one.name)
    store.add(
        [same_name, replace(one, name="other"), two], [replace(one_d, project_id=None), two_d]
    )
    assert store.list_projects() == (one, two)
    assert store.get_deployment("d1") == one_d
    assert store.get_deployment("d2") == two_d


def test_added_projects_are_listed_by_age(store: Store) -> None:
    for number in (0, 3, 1):
        project, deployment = project_and_deployment(number)
        store.add([project], [deployment])
    assert [project.id for project in store.list_projects()] == ["p3", "p0", "p1"]


def test_add_adds_all_or_none(store: Store) -> None:
    store.create_project("a", '{"name": "a"}')
    records = [project_and_deployment(number) for number in range(3)]
    with pytest.raises(StoreFull):
        store.add(*zip(*records, strict=True))
    assert [project.name for project in store.list_projects()] == ["a"]
    assert store.get_deployment("d0") is None
    store.add(*zip(*records[:2], strict=True))
    store.add(*zip(*records[:2], strict=True))
    assert len(store.list_projects()) == 3


def test_removing_the_projects_removes_their_deployments(store: Store) -> None:
    made = store.create_project("a", '{"name": "a"}')
    store.put_deployment("of_none", (Stage("failed"),))
    store.put_deployment("of_a", (Stage("failed"),), made.id)
    store.remove_projects()
    assert store.list_projects() == ()
    assert store.get_deployment("of_none") is not None
    for gone in ("of_a", made.latest_deployment_id):
        assert store.get_deployment(gone) is None
    assert store.create_project("a", '{"name": "a"}').name == "a"


def test_a_create_that_fails_changes_nothing(store: Store) -> None:
    store.create_project("a", '{"name": "a"}')
    before = store.list_projects()
    with pytest.raises(NameTaken):
        store.create_project("a", '{"name": "a"}')
    for name in ("b", "c"):
        store.create_project(name, f'{{"name": "{name}"}}')
    with pytest.raises(StoreFull):
        store.create_project("d", '{"name": "d"}')
    with pytest.raises(NameTaken):
        store.create_project("c", '{"name": "c"}')
    assert store.list_projects()[:1] == before
    assert len(store.list_projects()) == 3


def test_reset_replaces_everything(store: Store) -> None:
    old = store.create_project("a", '{"name": "a"}')
    project, deployment = project_and_deployment(1)
    store.reset([project], [deployment])
    assert store.list_projects() == (project,)
    assert store.get_deployment("d1") == deployment
    assert store.get_deployment(old.latest_deployment_id) is None
    store.create_project("a", '{"name": "a"}')
    with pytest.raises(NameTaken):
        store.create_project("n1", '{"name": "n1"}')
    store.reset((), ())
    assert store.list_projects() == ()


def test_a_status_depends_on_the_age_alone(clock: Clock) -> None:
    timeline = (Stage("a", 0), Stage("b", 1.5), Stage("c", 0.0), Stage("d", 2), Stage("e"))
    deployment = Deployment("d1", None, clock(), timeline)
    seen = []
    for _ in range(9):
        seen.append(deployment.status(clock()))
        clock.advance(0.5)
    assert "".join(seen) == "bbbddddee"
    assert deployment.status(START) == "b"


def outcome(act: Callable[[Store], Any], store: Store) -> Any:
    try:
        return act(store)
    except (NameTaken, StoreFull, UnknownProject) as error:
        return type(error)


class AgainstTheModel(RuleBasedStateMachine):
    """MemoryStore behaves as the model does with the same clock and ids."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock, new_id=counting_ids(), max_projects=4)
        self.model = PlainStore(clock=self.clock, new_id=counting_ids(), max_projects=4)
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
        records = [project_and_deployment(number) for number in numbers]
        self.ids += [deployment.id for _, deployment in records]
        self.both(lambda store: store.add(*(zip(*records, strict=True) if records else ((), ()))))

    @rule()
    def remove_projects(self) -> None:
        self.both(lambda store: store.remove_projects())

    @rule(number=st.integers(0, 3), project_id=st.none() | st.sampled_from(["p0", "p1", "prj_1"]))
    def put(self, number: int, project_id: str | None) -> None:
        timeline = (Stage("failed"),)
        self.both(lambda store: store.put_deployment(f"d{number}", timeline, project_id))

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        deployment_id = data.draw(st.sampled_from(self.ids))
        self.both(lambda store: store.get_deployment(deployment_id))

    @rule(seconds=st.floats(0, 5))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(numbers=st.lists(st.integers(0, 5), unique=True, max_size=4))
    def reset(self, numbers: list[int]) -> None:
        records = [project_and_deployment(number) for number in numbers]
        self.ids += [deployment.id for _, deployment in records]
        self.both(lambda store: store.reset(*(zip(*records, strict=True) if records else ((), ()))))

    @invariant()
    def lists_agree(self) -> None:
        self.both(lambda store: store.list_projects())
        self.both(lambda store: store.list_projects().representation)

    @invariant()
    def deployments_agree(self) -> None:
        for project in self.store.list_projects():
            deployment = self.store.get_deployment(project.latest_deployment_id)
            assert deployment is not None
            assert deployment == self.model.get_deployment(deployment.id)


TestAgainstTheModel = AgainstTheModel.TestCase
