"""Programs on one Redis server."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from redis_store import RedisStores
from tests.conftest import SAMPLE_SEED, Clock, control_client_of, make_stub
from tests.redis_server import RedisServer

JOB = "project-stub:team-a/job"
"""The key of the world of the clients."""


@pytest.fixture
def redis(shared_redis: RedisServer) -> RedisServer:
    """A server that is empty, and that a test may stop."""
    shared_redis.clear()
    return shared_redis


@pytest.fixture
def programs(redis: RedisServer, clock: Clock) -> list[Flask]:
    """Two programs with one store and tenants; the second has it by a socket."""
    options: dict[str, Any] = {"tokens": ["team-a=one", "team-b=two", "plain"], "clock": clock}
    urls = (redis.url, f"unix://{redis.socket}")
    return [make_stub(**options, seed=SAMPLE_SEED, stores=RedisStores(url)) for url in urls]


@pytest.fixture
def one(programs: list[Flask]) -> FlaskClient:
    """A client of the first program, in a named world of a tenant."""
    return control_client_of(programs[0], "one.job")


@pytest.fixture
def other(programs: list[Flask]) -> FlaskClient:
    """A client of the second program, in the same world."""
    return control_client_of(programs[1], "one.job")
