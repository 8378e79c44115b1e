"""Every method of a store is atomic: threads race for it."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from records import Deployment, Project, Stage
from store import NameTaken, StoreFull
from stub.ids import MakeId
from stub.store import AT_START, Records, StubStore
from tests.conftest import START, Clock, counting_ids, in_parallel
from tests.stores import STORES, MakeStore, SlowId

Race = Callable[[StubStore], None]


def slow_ids() -> MakeId:
    next_id = counting_ids()
    return lambda *of: SlowId(next_id(*of))


def create(store: StubStore, name: str) -> Project:
    return store.create_project(name, f'{{"name": "{name}"}}')


def names_in(store: StubStore) -> set[str]:
    """The names of the listed projects, each of which is whole: its deployment can be read."""
    projects = store.list_projects()
    for project in projects[-1:]:  # the newest has had the least time
        assert store.get_deployment(project.latest_deployment_id) is not None
    return {project.name for project in projects}


def race_for_one_name(store: StubStore) -> None:
    results = in_parallel(8 * [partial(create, store, "a")])
    assert Counter(map(type, results)) == {Project: 1, NameTaken: 7}
    assert len(store.list_projects()) == 1


def race_for_the_last_place(store: StubStore) -> None:
    for name in "tuvwxyz":
        create(store, name)
    results = in_parallel([partial(create, store, name) for name in "abcdefgh"])
    assert Counter(map(type, results)) == {Project: 1, StoreFull: 7}


def race_resets_with_creates(store: StubStore) -> None:
    """A project is either removed with its name, or there with its deployment."""
    for steps in range(8):

        def reset(later: int = steps) -> None:
            for _ in range(later):  # of a create that is under way
                hash(SlowId())
            store.reset(Records())

        _, *made = in_parallel([reset, *(partial(create, store, name) for name in "ab")])
        assert [*map(type, made)] == [Project, Project]
        for name in {*"ab"} - names_in(store):
            create(store, name)
        assert names_in(store) == {*"ab"}
        store.reset(Records())


def race_resets_with_reads(store: StubStore) -> None:
    """A deployment begins when the reset that brought it did."""
    first, second = (
        Records((), (Deployment("d", None, AT_START, (Stage(status),)),)) for status in ("a", "b")
    )
    store.reset(first)
    before = store.get_deployment("d")
    read = partial(store.get_deployment, SlowId("d"))
    _, *found = in_parallel([partial(store.reset, second), *4 * [read]])
    assert {*found} <= {before, store.get_deployment("d")}


def race_removals_with_exports(store: StubStore) -> None:
    """An exported deployment has its project."""
    create(store, "a")
    for _ in range(3):  # which a removal leaves
        store.put_deployment(None, (Stage("failed"),))

    def export() -> Records:
        hash(SlowId())  # until the removal is under way
        return store.records()

    *exported, _ = in_parallel([*4 * [export], store.remove_projects])
    for records in exported:
        owners = {each.project_id for each in records.deployments if each.project_id}
        assert owners == {project.id for project in records.projects}


def race_to_put_one_deployment(store: StubStore) -> None:
    put = partial(store.put_deployment, SlowId("d"), (Stage("failed"),))
    assert sum(is_new for _, is_new in in_parallel(8 * [put])) == 1


def race_to_add_projects(store: StubStore) -> None:
    def add(number: str) -> None:
        project = Project(SlowId(number), "one name", START, f"d{number}", "{}")
        store.add(Records((project,)))

    in_parallel([partial(add, number) for number in "abcdefgh"])
    assert len(store.list_projects()) == 1


RACES = [each for name, each in globals().items() if name.startswith("race_")]
# Without the protection of the document, the others end well over Redis.
OVER_REDIS = [race_for_one_name, race_for_the_last_place, race_to_put_one_deployment]


def race_on(race: Race, make_store: MakeStore) -> None:
    race(make_store(clock=Clock(step=1), ids=slow_ids(), max_projects=8))


@pytest.mark.parametrize("race", RACES)
@pytest.mark.parametrize("implementation", STORES[:1], indirect=True)
def test_every_method_of_a_store_is_atomic(race: Race, implementation: MakeStore) -> None:
    race_on(race, implementation)


@pytest.mark.parametrize("race", OVER_REDIS)
@pytest.mark.parametrize("implementation", STORES[1:], indirect=True)
def test_a_change_of_the_document_in_redis_is_atomic(race: Race, implementation: MakeStore) -> None:
    race_on(race, implementation)
