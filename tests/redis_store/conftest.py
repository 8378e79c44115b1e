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
def programs(shared_redis: RedisServer, clock: Clock) -> list[Flask]:
    """Two programs with one store and tenants; the second has it by a socket."""
    shared_redis.clear()
    options: dict[str, Any] = {"tokens": ["team-a=one", "team-b=two", "plain"], "clock": clock}
    urls = (shared_redis.url, f"unix://{shared_redis.socket}")
    return [make_stub(**options, seed=SAMPLE_SEED, stores=RedisStores(url)) for url in urls]


@pytest.fixture
def two(programs: list[Flask]) -> list[FlaskClient]:
    """Their clients, in one named world of a tenant."""
    return [control_client_of(app, "one.job") for app in programs]
