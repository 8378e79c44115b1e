"""A Redis server that is away, stops, is full, or loses a reply."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from flask.testing import FlaskClient

from redis_store import RedisStores
from tests.conftest import (
    SAMPLE_SEED,
    Clock,
    client_of,
    control_client_of,
    eventually,
    in_parallel,
    make_stub,
    names,
    needs,
)
from tests.contract import CREATED, assert_problem
from tests.redis_server import RedisServer
from tests.redis_store.conftest import assert_unavailable, key_of

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def durable_server() -> Iterator[RedisServer]:
    """A server that keeps what it confirmed."""
    needs("redis-server")
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.close()


@pytest.fixture
def server(durable_server: RedisServer) -> RedisServer:
    """An empty one that a test may stop."""
    durable_server.clear()
    return durable_server


def client_on(url: str, clock: Clock) -> FlaskClient:
    return control_client_of(make_stub(clock=clock, seed=SAMPLE_SEED, stores=RedisStores(url)))


@pytest.fixture
def client(server: RedisServer, clock: Clock) -> FlaskClient:
    return client_on(server.url, clock)


def test_what_was_confirmed_is_there_after_each_outage_which_is_logged_once(
    server: RedisServer, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    confirmed = []
    for outage in (1, 2):
        response = client.post("/v1/projects", json={"name": f"n{outage}"})
        assert response.status_code == CREATED
        confirmed.append(response.json)
        server.kill()
        for path in ("/v1/projects", "/v1/deployments/dpl_failed", "/_stub/ready"):
            assert_unavailable(client.get(path))
        assert_unavailable(client.post("/v1/projects", json={"name": "lost"}))
        assert len(caplog.messages) == outage
        assert f"the store at {server.url} cannot be used: " in caplog.messages[-1]
        server.start()
        assert client.get("/v1/projects").json["projects"][3:] == confirmed


def test_a_server_that_lost_the_newest_records_lists_what_it_has(
    server: RedisServer, client: FlaskClient
) -> None:
    key = key_of("")
    client.post("/_stub/reset", json={"projects": [{"name": "kept"}]})
    saved: Any = server.client.dump(key)
    client.post("/v1/projects", json={"name": "lost"})
    assert names(client) == ["kept", "lost"]
    server.client.restore(key, 0, saved, replace=True)
    assert client.post("/v1/projects", json={"name": "new"}).status_code == CREATED
    assert names(client) == ["kept", "new"]


@pytest.mark.slow
@pytest.mark.xdist_group("time")
def test_a_server_that_hangs_does_not_hang_requests(
    server: RedisServer, client: FlaskClient
) -> None:
    def get(path: str) -> None:
        assert_unavailable(client_of(client.application).get(path))

    paths = [*8 * ["/v1/projects", "/v1/deployments/dpl_failed"], "/_stub/ready"]
    assert client.get("/_stub/ready").status_code == 200
    server.pause()
    last_resort = threading.Timer(30, server.resume)
    last_resort.start()
    started = time.monotonic()
    assert in_parallel([partial(get, path) for path in paths]) == [None] * len(paths)
    assert time.monotonic() - started < 10
    last_resort.cancel()
    server.resume()
    eventually(lambda: client.get("/_stub/ready").status_code == 200)


def test_a_full_server_reads_and_does_not_write_and_no_command_is_logged(
    server: RedisServer, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    before = client.get("/v1/projects").data
    client.post("/_stub/clock", json={"frozen": True, "tick": 1})
    clock = client.get("/_stub/clock").data
    server.client.config_set("maxmemory", 1)
    for path, document in (
        ("/v1/projects", {"name": "a"}),
        ("/_stub/reset", {"projects": [{"name": "a"}]}),
        ("/_stub/clock", {"advance": 5}),
    ):
        assert_unavailable(client.post(path, json=document))
        assert client.get("/v1/projects").data == before
    assert client.get("/v1/deployments/dpl_failed").status_code == 200
    assert client.get("/_stub/clock").data == clock
    message = f"the store at {server.url} cannot be used: out of memory error"
    assert {*caplog.messages} == {message}
    server.client.config_set("maxmemory", 0)
    assert client.post("/v1/projects", json={"name": "a"}).status_code == CREATED


class Proxy:
    """Stands between a program and Redis. It may lose the replies to transactions."""

    def __init__(self, port: int) -> None:
        self.loses = False
        self.transactions = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        """One connection after the other, until the proxy is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, socket.create_connection(("127.0.0.1", self._target)) as target:
                    while request := connection.recv(100_000):
                        target.sendall(request)
                        reply = target.recv(100_000)
                        if b"EXEC" in request:
                            self.transactions += 1
                            if self.loses:
                                break
                        connection.sendall(reply)

    def close(self) -> None:
        self._listener.close()


def test_a_create_whose_reply_is_lost_is_not_repeated(server: RedisServer, clock: Clock) -> None:
    proxy = Proxy(server.port)
    client = client_on(proxy.url, clock)
    assert client.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    before = proxy.transactions
    proxy.loses = True
    assert_unavailable(client.post("/v1/projects", json={"name": "b"}))
    assert proxy.transactions == before + 1
    proxy.loses = False
    assert names(client)[3:] == ["a", "b"]
    assert_problem(client.post("/v1/projects", json={"name": "b"}), 409, "name_taken")
    assert client.post("/v1/projects", json={"name": "c"}).status_code == CREATED  # with new ids
    proxy.close()
