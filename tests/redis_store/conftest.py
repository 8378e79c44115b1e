"""Helpers of the tests of a store on Redis."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of
from tests.contract import assert_problem
from tests.redis_server import RedisServer, app_on


@pytest.fixture
def two(shared_redis: RedisServer, clock: Clock) -> list[FlaskClient]:
    """Clients of two apps with one store, as two programs have."""
    shared_redis.clear()
    return [control_client_of(app_on(shared_redis.url, clock)) for _ in range(2)]


@contextmanager
def no_waiting() -> Iterator[None]:
    """What happens inside takes a fraction of the time that it would take if it waited."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 10


@contextmanager
def monitored(server: RedisServer) -> Iterator[list[str]]:
    """The commands that the server runs meanwhile, those of scripts included."""
    seen: list[str] = []
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        stream = connection.makefile("rb")
        connection.sendall(b"MONITOR\r\n")
        stream.readline()
        yield seen
        server.client.echo("the end")
        for line in stream:
            if b'"ECHO" "the end"' in line:
                break
            seen.append(line.decode())


def assert_unavailable(response: Any) -> None:
    assert_problem(response, 503, "store_unavailable")
    assert response.headers["Retry-After"] == "1"
