"""Every method of a store is atomic: threads race for it.

The windows between two steps are widened by ids whose hash takes a while.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest

from records import Deployment, Project, Stage
from store import NameTaken, StoreFull
from stub.world.ids import MakeId
from stub.world.store import AT_START, Records, StubStore
from tests.conftest import START, Clock, SlowText, counting_ids, in_parallel, pause
from tests.stores import FAILED, MakeStore


def create(store: StubStore, name: str) -> Project:
    return store.create_project(name, f'{{"name": "{name}"}}')


def race_for_one_name_and_the_last_place(store: StubStore) -> None:
    for name in "tuvwxyz":
        create(store, name)
    results = in_parallel([partial(create, store, name) for name in "aaaabcde"])
    found = Counter(map(type, results))
    assert found[Project] == 1
    assert found[NameTaken] + found[StoreFull] == 7


class SlowTime(datetime):
    """A time whose place among others takes a while to find."""

    def __lt__(self, other: datetime) -> bool:  # type: ignore[override]
        pause()
        return super().__lt__(other)


def race_lists_with_creates(store: StubStore) -> None:
    """A list that is under way hides no project that is created meanwhile."""
    at = SlowTime.fromtimestamp(START.timestamp(), UTC)
    listed = [Project(name, name, at, f"d{name}", "{}") for name in "tuvwxyz"]
    store.add(Records(tuple(listed)))
    in_parallel([store.list_projects, partial(create, store, "a")])
    assert len(store.list_projects()) == 8


def race_resets_with_creates(store: StubStore) -> None:
    """A project is either removed with its name, or there with its deployment."""
    for steps in range(8):

        def reset(later: int = steps) -> None:
            for _ in range(later):  # of a create that is under way
                hash(SlowText())
            store.reset(Records())

        _, *made = in_parallel([reset, *(partial(create, store, name) for name in "ab")])
        assert [*map(type, made)] == [Project, Project]
        projects = store.list_projects()
        for project in projects:
            assert store.get_deployment(project.latest_deployment_id)
        for name in {*"ab"} - {project.name for project in projects}:
            create(store, name)
        store.reset(Records())


def race_resets_with_reads(store: StubStore) -> None:
    """A deployment begins when the reset that brought it did."""
    records = [Records((), (Deployment("d", None, AT_START, (Stage(status),)),)) for status in "ab"]
    store.reset(records[0])
    before = store.get_deployment("d")
    read = partial(store.get_deployment, SlowText("d"))
    _, *found = in_parallel([partial(store.reset, records[1]), *4 * [read]])
    assert {*found} <= {before, store.get_deployment("d")}


def race_removals_with_exports(store: StubStore) -> None:
    """An exported deployment has its project."""
    create(store, "a")
    for _ in range(3):  # which a removal leaves
        store.put_deployment(None, FAILED)

    def export() -> Records:
        hash(SlowText())  # until the removal is under way
        return store.records()

    *exported, _ = in_parallel([*4 * [export], store.remove_projects])
    for records in exported:
        owners = {each.project_id for each in records.deployments if each.project_id}
        assert owners == {project.id for project in records.projects}


def race_to_put_one_deployment(store: StubStore) -> None:
    put = partial(store.put_deployment, SlowText("d"), FAILED)
    assert sum(is_new for _, is_new in in_parallel(8 * [put])) == 1


def race_to_add_projects(store: StubStore) -> None:
    def add(number: str) -> None:
        store.add(Records((Project(SlowText(number), "one name", START, f"d{number}", "{}"),)))

    in_parallel([partial(add, number) for number in "abcdefgh"])
    assert len(store.list_projects()) == 1


RACES = [
    (race_for_one_name_and_the_last_place, "memory"),
    (race_lists_with_creates, "memory"),
    (race_resets_with_creates, "memory"),
    (race_resets_with_reads, "memory"),
    (race_removals_with_exports, "memory"),
    (race_to_put_one_deployment, "memory"),
    (race_to_add_projects, "memory"),
    # Without the protection of the document, the others mostly end well over Redis.
    pytest.param(race_for_one_name_and_the_last_place, "redis", marks=pytest.mark.process),
]


@pytest.mark.parametrize(("race", "make_store"), RACES, indirect=["make_store"])
def test_every_method_of_a_store_is_atomic(
    race: Callable[[StubStore], None], make_store: MakeStore
) -> None:
    next_id = counting_ids()
    slow_ids: MakeId = lambda *of: SlowText(next_id(*of))  # noqa: E731
    race(make_store(clock=Clock(step=1), ids=slow_ids, max_projects=8))
