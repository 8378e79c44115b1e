"""Programs on one Redis server."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from redis_store import RedisStores
from tests.conftest import SAMPLE_SEED, Clock, control_client_of, make_stub
from tests.redis_server import RedisServer

JOB = "project-stub:job"
"""The key of the world of the clients."""


@pytest.fixture
def redis(shared_redis: RedisServer) -> RedisServer:
    """A server that is empty, and that a test may stop."""
    shared_redis.clear()
    return shared_redis


@pytest.fixture
def programs(redis: RedisServer, clock: Clock) -> list[Flask]:
    """Two programs with one store; the second has it by a socket."""
    options: dict[str, Any] = {"clock": clock, "seed": SAMPLE_SEED}
    urls = (redis.url, f"unix://{redis.socket}")
    return [make_stub(**options, stores=RedisStores(url)) for url in urls]


@pytest.fixture
def one(programs: list[Flask]) -> FlaskClient:
    """A client of the first program, in a named world."""
    return control_client_of(programs[0], "dev-token.job")


@pytest.fixture
def other(programs: list[Flask]) -> FlaskClient:
    """A client of the second program, in the same world."""
    return control_client_of(programs[1], "dev-token.job")
