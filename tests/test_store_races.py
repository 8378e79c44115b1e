"""Every method of a store is atomic: clients of one app race for it."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import pytest
from flask import Flask

from app import create_app
from records import Deployment, Project, Records, Stage
from stub.worlds import WorldStore
from tests.conftest import START, Clock, client_of, counting_ids, in_parallel
from tests.stores import STORES, MakeStore, SlowId, implementation

Race = Callable[[WorldStore, Flask], None]


class TickingClock(Clock):
    """Each look at it is a second later."""

    def __call__(self) -> datetime:
        self.advance(1)
        return self.now


def slow_ids() -> Callable[[str], str]:
    next_id = counting_ids()
    return lambda prefix: SlowId(next_id(prefix))


def create(app: Flask, name: str) -> int:
    """The status of a POST by a client of its own."""
    return client_of(app).post("/v1/projects", json={"name": name}).status_code


def race_for_one_name(store: WorldStore, app: Flask) -> None:
    statuses = in_parallel(8 * [partial(create, app, "a")])
    assert sorted(statuses) == [201] + 7 * [409]
    assert len(store.list_projects()) == 1


def race_for_the_last_places(store: WorldStore, app: Flask) -> None:
    for name in "tuvwxyz":
        store.create_project(name, f'{{"name": "{name}"}}')
    statuses = in_parallel([partial(create, app, name) for name in "abcdefgh"])
    assert sorted(statuses) == [201] + 7 * [507]


def race_lists_with_creates(store: WorldStore, app: Flask) -> None:
    """A listed project is whole: its deployment can be read. A created one is listed."""
    client = client_of(app)
    filled: list[str] = []

    def look() -> None:
        while len(filled) < 3:
            if projects := store.list_projects():  # the newest has had the least time
                path = f"/v1/deployments/{projects[-1].latest_deployment_id}"
                assert client.get(path).status_code == 200

    def fill(names: str) -> None:
        try:
            for name in names:
                assert create(app, name) == 201
                assert name in [project.name for project in store.list_projects()]
        finally:
            filled.append(names)

    fills = [partial(fill, names) for names in ("ab", "cd", "ef")]
    assert in_parallel([look, look, *fills]) == 5 * [None]
    assert len(store.list_projects()) == 6


def race_resets_with_creates(store: WorldStore, app: Flask) -> None:
    """A project is either removed with its name, or there with its deployment."""
    for steps in range(8):

        def reset(later: int = steps) -> None:
            for _ in range(later):  # of a create that is under way
                hash(SlowId())
            store.reset(Records())

        results = in_parallel([reset, *(partial(create, app, name) for name in "ab")])
        assert results == [None, 201, 201]
        for project in store.list_projects():
            assert store.get_deployment(project.latest_deployment_id) is not None
        for name in {*"ab"} - {project.name for project in store.list_projects()}:
            assert create(app, name) == 201
        assert {project.name for project in store.list_projects()} == {*"ab"}
        store.reset(Records())


def race_resets_with_reads(store: WorldStore, app: Flask) -> None:
    """A deployment begins when the reset that brought it did."""
    first, second = (
        Records((), (Deployment("d", None, None, (Stage(status),)),)) for status in ("a", "b")
    )
    store.reset(first)
    before = store.get_deployment("d")
    read = partial(store.get_deployment, SlowId("d"))
    _, *found = in_parallel([partial(store.reset, second), *4 * [read]])
    assert {*found} <= {before, store.get_deployment("d")}


def race_removals_with_exports(store: WorldStore, app: Flask) -> None:
    """An exported deployment has its project."""
    create(app, "a")
    for _ in range(3):  # which a removal leaves
        store.put_deployment(None, (Stage("failed"),))

    def export() -> Records:
        hash(SlowId())  # until the removal is under way
        return store.records()

    *exported, _ = in_parallel([*4 * [export], store.remove_projects])
    for records in exported:
        owners = {each.project_id for each in records.deployments if each.project_id}
        assert owners == {project.id for project in records.projects}


def race_to_put_one_deployment(store: WorldStore, app: Flask) -> None:
    put = partial(store.put_deployment, SlowId("d"), (Stage("failed"),))
    assert sum(is_new for _, is_new in in_parallel(8 * [put])) == 1


def race_to_add_projects(store: WorldStore, app: Flask) -> None:
    def add(number: str) -> None:
        project = Project(SlowId(number), "one name", START, f"d{number}", "{}")
        store.add(Records((project,)))

    in_parallel([partial(add, number) for number in "abcdefgh"])
    assert len(store.list_projects()) == 1


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest) -> MakeStore:
    return implementation(request)


RACES = [each for name, each in globals().items() if name.startswith("race_")]


@pytest.mark.parametrize("race", RACES)
def test_every_method_of_a_store_is_atomic(race: Race, make_store: MakeStore) -> None:
    store = make_store(clock=TickingClock(), new_id=slow_ids(), max_projects=8)
    race(store, create_app(new_store=lambda *_, **__: store))
