"""Stores for tests: every implementation, and records for them."""

import itertools
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from inspect import signature

import pytest

from records import Deployment, Project, Records, Stage
from store import MemoryStore, NewId
from stub.worlds import WorldStore
from tests.conftest import START, Clock, counting_ids

MakeStore = Callable[..., WorldStore]

FAILED = (Stage("failed"),)
DEFAULTS = {name: each.default for name, each in signature(MemoryStore).parameters.items()}
"""The options of a store, as the app gives them to each."""


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
"""The implementations of `Store` and of `WorldStore`; the first is the model of the others."""


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
