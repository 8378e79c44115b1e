"""Changes of many records: no script holds Redis up, and each is made whole or not at all."""

import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial

import pytest

from records import Deployment, Records, Stage
from store import StoreFull, StoreUnavailable
from stub.worlds import WorldStore
from tests.conftest import START, Clock, in_parallel
from tests.redis_server import RedisServer
from tests.redis_store.conftest import monitored
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


class InterruptedClock(Clock):
    """Something else happens each time it tells the time."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self) -> datetime:
        self.meanwhile()
        return self.now


@pytest.mark.parametrize("times", [1, 3, 1000])
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_change_of_many_records_undoes_no_other(
    redis_stores: Callable[..., WorldStore], change: str, times: int
) -> None:
    clock = InterruptedClock()
    one, other = redis_stores(clock), redis_stores()
    one.reset(free_deployments(10_001))
    made: list[str] = []

    def interrupt() -> None:
        if len(made) < times:
            name = f"made {len(made)}"
            made.append(name)
            other.create_project(name, f'{{"name": "{name}"}}')

    clock.meanwhile = interrupt
    make = partial(one.add, records_of(*range(1000))) if change == "add" else one.remove_projects
    if times == 1000:
        with pytest.raises(StoreUnavailable):
            make()
    else:
        make()
    clock.meanwhile = lambda: None
    listed = [each.name for each in other.list_projects()]
    if change == "add":
        assert [name for name in listed if name in made] == made
        assert len(listed) == len(made) + (0 if times == 1000 else 1000)
    else:
        assert listed == (made if times == 1000 else [])
    assert one.get_deployment("f10000") is not None


def test_many_records_are_added_whole_or_not_at_all(
    redis_stores: Callable[..., WorldStore],
) -> None:
    writer, reader = redis_stores(), redis_stores()
    done = threading.Event()

    def read() -> set[int]:
        seen = set()
        while not done.is_set():
            seen.add(len(reader.list_projects()))
        return seen

    def write() -> None:
        try:
            for _ in range(3):
                writer.add(records_of(*range(3000)))
                writer.reset(Records())
        finally:
            done.set()

    seen, written = in_parallel([read, write])
    assert seen <= {0, 3000}
    assert written is None
