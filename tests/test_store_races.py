"""Every method of a store is atomic: clients of one app race for it."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import pytest
from flask import Flask

from app import create_app
from store import MemoryStore, Project, Records, Stage, Store
from tests.conftest import START, Clock, client_of, counting_ids, in_parallel
from tests.test_store import IMPLEMENTATIONS, MakeStore, implementation

pytestmark = pytest.mark.usefixtures("both_speeds")

Race = Callable[[Store, Flask], None]


# Threads switch where one waits. Ids whose hashing waits widen each window between two steps of a
# method to milliseconds.


class SlowId(str):
    __slots__ = ()

    def __hash__(self) -> int:
        time.sleep(0.002)
        return super().__hash__()


def slow_ids() -> Callable[[str], str]:
    next_id = counting_ids()
    return lambda prefix: SlowId(next_id(prefix))


def create(app: Flask, name: str) -> int:
    """The status of a POST by a client of its own."""
    return client_of(app).post("/v1/projects", json={"name": name}).status_code


def race_for_one_name(store: Store, app: Flask) -> None:
    statuses = in_parallel(8 * [partial(create, app, "a")])
    assert sorted(statuses) == [201] + 7 * [409]
    assert len(store.list_projects()) == 1


def race_for_the_last_places(store: Store, app: Flask) -> None:
    for name in "tuvwxyz":
        store.create_project(name, f'{{"name": "{name}"}}')
    statuses = in_parallel([partial(create, app, name) for name in "abcdefgh"])
    assert sorted(statuses) == [201] + 7 * [507]


def race_lists_with_creates(store: Store, app: Flask) -> None:
    """A listed project is whole: its deployment can be read."""
    client = client_of(app)

    def look() -> None:
        for _ in range(5000):
            projects = client.get("/v1/projects").json["projects"]
            for project in reversed(projects):  # the newest has had the least time
                path = f"/v1/deployments/{project['latest_deployment_id']}"
                assert client.get(path).status_code == 200
            if len(projects) == 6:
                return
        raise AssertionError("a project is missing")

    def fill(names: str) -> None:
        for name in names:
            assert create(app, name) == 201

    results = in_parallel([look, *(partial(fill, names) for names in ("ab", "cd", "ef"))])
    assert results == 4 * [None]


def race_resets_with_creates(store: Store, app: Flask) -> None:
    """A project is either removed with its name, or there with its deployment."""
    for milliseconds in range(8):

        def reset(after: float = milliseconds / 1000) -> None:
            time.sleep(after)
            store.reset(Records())

        results = in_parallel([reset, *(partial(create, app, name) for name in "ab")])
        assert results == [None, 201, 201]
        for project in store.list_projects():
            assert store.get_deployment(project.latest_deployment_id) is not None
        for name in {*"ab"} - {project.name for project in store.list_projects()}:
            assert create(app, name) == 201
        assert {project.name for project in store.list_projects()} == {*"ab"}
        store.reset(Records())


def race_to_put_one_deployment(store: Store, app: Flask) -> None:
    put = partial(store.put_deployment, SlowId("d"), (Stage("failed"),))
    assert sum(is_new for _, is_new in in_parallel(8 * [put])) == 1


def race_to_add_projects(store: Store, app: Flask) -> None:
    def add(number: str) -> None:
        project = Project(SlowId(number), "one name", START, f"d{number}", "{}")
        store.add(Records((project,)))

    in_parallel([partial(add, number) for number in "abcdefgh"])
    assert len(store.list_projects()) == 1


RACES = [
    race_for_one_name,
    race_for_the_last_places,
    race_lists_with_creates,
    race_resets_with_creates,
    race_to_put_one_deployment,
    race_to_add_projects,
]


def run_race(race: Race, store: Store) -> None:
    race(store, create_app(new_store=lambda *_, **__: store))


@pytest.fixture(params=IMPLEMENTATIONS)
def make(request: pytest.FixtureRequest) -> MakeStore:
    return implementation(request)


@pytest.mark.parametrize("race", RACES)
def test_every_method_is_atomic(race: Race, make: MakeStore) -> None:
    for _ in range(5):
        run_race(race, make(clock=Clock(), new_id=slow_ids(), max_projects=8))


@pytest.mark.parametrize("race", RACES)
def test_without_the_lock_every_race_fails(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.Lock", nullcontext)

    def race_often() -> None:
        for _ in range(60):
            run_race(race, MemoryStore(clock=Clock(), new_id=slow_ids(), max_projects=8))

    with pytest.raises(Exception, match=r".*"):
        race_often()
