"""Helpers of the tests of a store on Redis."""

from functools import partial
from typing import Any

import pytest
from flask.testing import FlaskClient

from store import random_id, utc_now
from tests.conftest import Clock, control_client_of
from tests.contract import assert_problem
from tests.redis_server import RedisServer, app_on
from tests.stores import DEFAULTS, MakeStore


@pytest.fixture
def two(shared_redis: RedisServer, clock: Clock) -> list[FlaskClient]:
    """Clients of two apps with one store, as two programs have; the second has it by a socket."""
    shared_redis.clear()
    urls = (shared_redis.url, f"unix://{shared_redis.socket}")
    return [control_client_of(app_on(url, clock)) for url in urls]


@pytest.fixture
def make_store(redis_stores: Any) -> MakeStore:
    def ids(prefix: str, *_: Any) -> str:
        return random_id(prefix)

    return partial(redis_stores, clock=utc_now, ids=ids, world="", **DEFAULTS)


def assert_unavailable(response: Any) -> None:
    assert_problem(response, 503, "store_unavailable")
    assert response.headers["Retry-After"] == "1"
