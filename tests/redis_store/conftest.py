"""Helpers of the tests of a store on Redis."""

from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from redis_store import RedisStores, connect
from store import random_id, utc_now
from tests.conftest import Clock, control_client_of, make_stub
from tests.contract import assert_problem
from tests.redis_server import RedisServer, app_on
from tests.stores import MakeStore, make_shared

DAY = 86400


@pytest.fixture
def two(shared_redis: RedisServer, clock: Clock) -> list[FlaskClient]:
    """Clients of two apps with one store, as two programs have; the second has it by a socket."""
    shared_redis.clear()
    urls = (shared_redis.url, f"unix://{shared_redis.socket}")
    return [control_client_of(app_on(url, clock)) for url in urls]


@pytest.fixture
def programs(shared_redis: RedisServer, clock: Clock) -> list[Flask]:
    """Two programs with one store, and tenants."""
    shared_redis.clear()
    tokens = ["team-a=one", "team-b=two", "plain"]
    stores = [connect(shared_redis.url, 8) for _ in "12"]
    return [make_stub(tokens=tokens, clock=clock, stores=each) for each in stores]


@pytest.fixture
def make_store(redis_stores: RedisStores) -> MakeStore:
    """Makes stores of one world, as programs have."""

    def ids(prefix: str, *_: Any) -> str:
        return random_id(prefix)

    return partial(make_shared, redis_stores, world="", clock=utc_now, ids=ids)


def key_of(world: str) -> str:
    return f"project-stub:{world}"


def worlds_of(app: Flask, token: str) -> dict[str, tuple[int, int]]:
    """The number of projects and requests of each world of a tenant."""
    shown = control_client_of(app, token).get("/_stub/worlds").json["worlds"]
    return {each["name"]: (each["projects"], each["requests"]) for each in shown}


def assert_unavailable(response: Any) -> None:
    assert_problem(response, 503, "store_unavailable")
    assert response.headers["Retry-After"] == "1"
