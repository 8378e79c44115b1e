"""Changes of many records: no script holds Redis up, and each is made whole or not at all."""

import json
from collections.abc import Callable, Iterator

import pytest

from records import Deployment, Project, Records, Stage
from store import StoreFull, StoreUnavailable
from stub.worlds import WorldStore
from tests.conftest import START
from tests.redis_server import RedisServer
from tests.redis_store.conftest import counts_in_lists, monitored
from tests.stores import records_of

pytestmark = pytest.mark.process

SIZE = 12_000
FAILED = (Stage("failed"),)


def free_deployments(number: int) -> Records:
    return Records((), tuple(Deployment(f"f{n}", None, START, FAILED) for n in range(number)))


def longest_script(commands: list[str]) -> int:
    """The number of commands that one script ran."""
    longest = current = 0
    for command in commands:
        current = current + 1 if " lua] " in command else 0
        longest = max(longest, current)
    return longest


@pytest.mark.slow
def test_no_script_runs_a_command_for_each_of_many_records(
    shared_redis: RedisServer, redis_stores: Callable[..., WorldStore]
) -> None:
    store = redis_stores()
    store.create_project("a", '{"name": "a"}')
    with monitored(shared_redis) as commands:
        store.add(records_of(*range(SIZE)))
        store.add(free_deployments(SIZE))
        store.remove_projects()
        store.reset(records_of(*range(SIZE)))
        store.reset()
    assert 0 < longest_script(commands) < SIZE


def test_many_records_are_added_as_few_are(redis_stores: Callable[..., WorldStore]) -> None:
    many, few = redis_stores(world="many"), redis_stores(world="few")
    numbers = range(1500)
    for store in (many, few):
        store.reset(records_of(3, 5))
        store.put_deployment("d7", FAILED)  # so p7 gets a new latest deployment
    many.add(records_of(*numbers))
    for start in range(0, len(numbers), 100):
        few.add(records_of(*numbers[start : start + 100]))
    assert len(many.list_projects()) == 1500
    listed = [
        [each._replace(latest_deployment_id="") for each in store.list_projects()]
        for store in (many, few)
    ]
    assert listed[0] == listed[1]
    assert len(many.records().deployments) == len(few.records().deployments) == 1501


def test_too_many_records_are_not_added(redis_stores: Callable[..., WorldStore]) -> None:
    store = redis_stores(max_projects=1999, records=records_of(5000))
    with pytest.raises(StoreFull):
        store.add(records_of(*range(1999)))
    assert [each.id for each in store.list_projects()] == ["p5000"]


@pytest.mark.parametrize("times", [0, 1, 3, 1000])
def test_a_change_of_many_records_undoes_no_other(
    redis_stores: Callable[..., WorldStore], times: int
) -> None:
    one, other = redis_stores(), redis_stores()
    made: list[str] = []

    class Interrupting(tuple[Project, ...]):
        """Another program creates a project before these are read."""

        def __iter__(self) -> Iterator[Project]:
            if len(made) < times:
                made.append(f"made {len(made)}")
                other.create_project(made[-1], json.dumps({"name": made[-1]}))
            return super().__iter__()

    many = records_of(*range(1000))
    records = Records(Interrupting(many.projects), many.deployments)
    if times == 1000:
        with pytest.raises(StoreUnavailable):
            one.add(records)
        many = Records()
    else:
        one.add(records)
    listed = [each.name for each in other.list_projects()]
    assert [name for name in listed if name in made] == made
    assert len(made) == min(times, 5)
    assert len(listed) == len(made) + len(many.projects)


def test_of_many_deployments_those_of_no_project_stay(
    redis_stores: Callable[..., WorldStore],
) -> None:
    store = redis_stores()
    store.reset(free_deployments(10_001))
    store.create_project("a", '{"name": "a"}')
    store.remove_projects()
    assert store.list_projects() == ()
    assert len(store.records().deployments) == 10_001


def test_many_records_are_added_whole_or_not_at_all(
    redis_stores: Callable[..., WorldStore],
) -> None:
    writer, reader = redis_stores(), redis_stores()

    def changes() -> None:
        writer.add(records_of(*range(3000)))
        writer.reset(Records())

    assert counts_in_lists(reader, changes) <= {0, 3000}
