"""Stores for tests: every implementation, and records for them."""

import itertools
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from records import Deployment, Project, Stage
from store import MAX_PROJECTS, PACE, MemoryStore
from store import Clock as RealClock
from stub.world.clock import Setting, WorldClock
from stub.world.ids import MakeId
from stub.world.store import (
    NO_RECORDS,
    Records,
    SharedStores,
    StubStore,
    WorldStore,
    plan_timelines,
)
from tests.conftest import START, Clock, counting_ids

MakeStore = Callable[..., StubStore]
PlainStore = MemoryStore | StubStore
"""A store of records, of the service or of a world."""

FAILED = (Stage("failed"),)
DEFAULTS: dict[str, Any] = {
    "timeline_for": plan_timelines(PACE),
    "max_projects": MAX_PROJECTS,
    "unique_names": True,
}
"""The options of a store in memory, as the stub gives them to each."""


def make_shared(
    stores: SharedStores,
    world: str,
    clock: RealClock,
    ids: MakeId,
    *,
    records: Records = NO_RECORDS,
    **options: Any,
) -> StubStore:
    """The store of a world that programs share."""
    new_store = partial(WorldStore, **DEFAULTS | options)
    return stores.open(world, WorldClock(clock, Setting()), ids, records, new_store)[0]


class StoresOf:
    """Stores in memory of one class, where the stub takes shared ones."""

    def __init__(self, kind: type[WorldStore]) -> None:
        self._kind = kind

    def open(
        self, world: str, clock: WorldClock, ids: MakeId, records: Records, new_store: Any
    ) -> tuple[WorldStore, WorldClock]:
        return self._kind(clock, ids, records=records, **DEFAULTS), clock

    def worlds(self) -> dict[str, int]:
        return {}


def project_and_deployment(number: int) -> tuple[Project, Deployment]:
    deployment = Deployment(f"d{number}", f"p{number}", START, FAILED)
    sent = f'{{"name": "n{number}"}}'
    created_at = START - timedelta(days=number // 3)
    return Project(f"p{number}", f"n{number}", created_at, deployment.id, sent), deployment


def records_of(*numbers: int) -> Records:
    pairs = [project_and_deployment(number) for number in numbers]
    return Records(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


def ids_counted_by_prefix() -> MakeId:
    """An id that a rejected create has drawn is then that of the next create, in any store."""
    sources: defaultdict[str, MakeId] = defaultdict(counting_ids)
    return lambda prefix, *rest: sources[prefix](prefix, *rest)


STORES = ["memory", pytest.param("redis", marks=pytest.mark.process)]
"""The stores of a world."""


def maker_of(request: pytest.FixtureRequest, clock: Clock) -> MakeStore:
    """What makes new stores of the implementation that a fixture has as its parameter."""
    options = {**DEFAULTS, "clock": clock, "ids": counting_ids(), "max_projects": 3}
    if request.param == "memory":
        return partial(WorldStore, **options)
    redis, numbers = request.getfixturevalue("redis_stores"), itertools.count()
    return lambda **more: make_shared(redis, f"w{next(numbers)}", **options | more)


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, clock: Clock) -> MakeStore:
    return maker_of(request, clock)


@pytest.fixture
def store(make_store: MakeStore) -> StubStore:
    return make_store()


@pytest.fixture(params=["service", *STORES])
def plain_store(request: pytest.FixtureRequest, clock: Clock) -> PlainStore:
    """Every implementation of `Store`."""
    if request.param == "service":
        numbers = itertools.count(1)
        return MemoryStore(clock, lambda prefix: f"{prefix}_{next(numbers)}", max_projects=3)
    return maker_of(request, clock)()
