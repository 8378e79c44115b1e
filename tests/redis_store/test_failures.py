"""A Redis server that is away, stops, is full, or loses a reply."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.conftest import (
    Clock,
    client_of,
    control_client_of,
    eventually,
    in_parallel,
    names,
)
from tests.contract import assert_problem
from tests.redis_server import RedisServer, app_on, running_redis
from tests.redis_store.conftest import assert_unavailable, no_waiting

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def durable_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that keeps what it confirmed."""
    folder = tmp_path_factory.mktemp("durable")
    with running_redis(folder, "--appendonly", "yes", "--appendfsync", "always") as running:
        yield running


@pytest.fixture
def server(durable_server: RedisServer) -> RedisServer:
    """An empty one that a test may stop."""
    durable_server.clear()
    return durable_server


@pytest.fixture
def client(server: RedisServer, clock: Clock) -> FlaskClient:
    return control_client_of(app_on(server.url, clock))


# A server that ends


def test_what_was_confirmed_is_there_after_the_server_was_killed(
    server: RedisServer, client: FlaskClient
) -> None:
    confirmed = []
    with no_waiting():
        for number in range(30):
            if number == 10:
                server.kill()
            if number == 20:
                server.start()
            response = client.post("/v1/projects", json={"name": f"n{number}"})
            if 10 <= number < 20:
                assert_unavailable(response)
                assert_unavailable(client.get("/v1/projects"))
                assert_unavailable(client.get("/v1/deployments/dpl_failed"))
            else:
                assert response.status_code == 201
                confirmed.append(response.json)
    assert client.get("/v1/projects").json["projects"][3:] == confirmed


def test_a_killed_server_does_not_hang_requests_that_are_under_way(
    server: RedisServer, client: FlaskClient
) -> None:
    created: set[str] = set()
    progress = threading.Semaphore(0)

    def create(worker: int) -> None:
        for number in range(60):
            name = f"{worker}-{number}"
            response = client_of(client.application).post("/v1/projects", json={"name": name})
            if response.status_code == 201:
                created.add(name)
                progress.release()
            else:
                assert_problem(response, 503, "store_unavailable")

    def interrupt() -> None:
        for _ in range(20):
            assert progress.acquire(timeout=20)
        server.kill()
        server.start()

    with no_waiting():
        assert in_parallel([interrupt, *(partial(create, each) for each in range(4))]) == 5 * [None]
    listed = names(client)
    assert created <= set(listed)
    assert len(listed) == len(set(listed))


def test_a_server_that_lost_the_newest_records_lists_what_it_has(
    clock: Clock, tmp_path: Path
) -> None:
    with running_redis(tmp_path) as server:
        clients = [control_client_of(app_on(server.url, clock)) for _ in range(2)]
        for kept, lost, new in (("", "b", ""), ("a", "bc", ""), ("a", "b", "c"), ("a", "b", "cd")):
            clients[0].post("/_stub/reset", json={"projects": [{"name": name} for name in kept]})
            server.client.save()
            for name in lost:
                clients[0].post("/v1/projects", json={"name": name})
            assert names(clients[0]) == [*kept, *lost]
            server.kill()
            server.start()
            for name in new:
                assert clients[1].post("/v1/projects", json={"name": name}).status_code == 201
            assert [names(client) for client in clients] == 2 * [[*kept, *new]]


def test_each_outage_is_logged_once(
    server: RedisServer, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    for outage in (1, 2):
        server.kill()
        for _ in range(3):
            assert_unavailable(client.get("/v1/projects"))
        messages = [each.message for each in caplog.records]
        assert len(messages) == outage
        assert f"the store at {server.url} cannot be used: " in messages[-1]
        server.start()
        assert client.get("/v1/projects").status_code == 200


# A server that stops


@pytest.mark.slow
@pytest.mark.xdist_group("time")
def test_a_server_that_stops_responding_does_not_hang_requests(
    server: RedisServer, client: FlaskClient
) -> None:
    def get(path: str) -> None:
        assert_unavailable(client_of(client.application).get(path))

    paths = [*20 * ["/v1/projects", "/v1/deployments/dpl_failed"], "/_stub/ready"]
    assert client.get("/_stub/ready").status_code == 200
    server.pause()
    last_resort = threading.Timer(30, server.resume)
    last_resort.start()
    with no_waiting():
        assert [each for each in in_parallel([partial(get, path) for path in paths]) if each] == []
        for path in paths:  # one after the other they do not wait, either
            get(path)
        assert client.get("/_stub/health").json == {"status": "ok"}
    last_resort.cancel()
    server.resume()
    eventually(lambda: client.get("/_stub/ready").status_code == 200)
    assert client.get("/v1/deployments/dpl_failed").status_code == 200


def test_a_full_server_reads_and_does_not_write(
    server: RedisServer, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    before = client.get("/v1/projects").data, client.get("/_stub/state").data
    server.client.config_set("maxmemory", 1)
    project = {"name": "a"}
    for method, path, document in [
        ("POST", "/v1/projects", project),
        ("POST", "/_stub/reset", {"projects": [project]}),
        ("PUT", "/_stub/deployments/x", {"status": "failed", "project_id": "prj_website"}),
        ("POST", "/_stub/clock", {"advance": 5}),
        ("POST", "/_stub/pact", {"state": "no projects exist"}),
        ("GET", "/_stub/ready", None),
    ]:
        assert_unavailable(client.open(path, method=method, json=document))
    assert (client.get("/v1/projects").data, client.get("/_stub/state").data) == before
    assert "out of memory error" in caplog.text
    server.client.config_set("maxmemory", 0)
    assert server.client.keys("*:*:*:*") == []
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201


def test_no_command_reaches_the_log(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    project = {"name": "secret", "token": "dev-token"}
    with running_redis(tmp_path, "--rename-command", "EVALSHA", "") as server:
        client = control_client_of(app_on(server.url, clock))
        assert_unavailable(client.post("/v1/projects", json=project))
        assert_unavailable(client.get("/_stub/ready"))
        assert_unavailable(client.post("/_stub/reset", json={"projects": [project]}))
    assert "cannot be used: response error" in caplog.text
    for word in ("secret", "dev-token", "EVALSHA", "project-stub"):
        assert word not in caplog.text


def test_failed_resets_take_no_places(
    server: RedisServer, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 3)
    server.kill()
    for number in range(5):
        world = control_client_of(client.application, f"dev-token.{number}")
        assert_unavailable(world.post("/_stub/reset", json={"projects": [{"name": "a"}]}))
    server.start()
    for number in range(3):
        world = control_client_of(client.application, f"dev-token.{number}")
        assert world.post("/_stub/reset", json={"projects": [{"name": "a"}]}).status_code == 204
        assert names(world) == ["a"]
    one_more = control_client_of(client.application, "dev-token.more")
    assert_problem(one_more.post("/_stub/reset", json={}), 507, "too_many_worlds")


# A server whose replies are lost


class Proxy:
    """Stands between a program and Redis. It may lose the replies to scripts from the n-th on."""

    def __init__(self, port: int) -> None:
        self.loses_from = 10_000
        self.scripts_run = 0
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
                        self.scripts_run += request.count(b"EVALSHA")
                        target.sendall(request)
                        reply = target.recv(100_000)
                        if self.scripts_run >= self.loses_from and b"EVALSHA" in request:
                            break
                        connection.sendall(reply)

    def close(self) -> None:
        self._listener.close()


def test_a_create_whose_reply_is_lost_is_not_repeated(server: RedisServer, clock: Clock) -> None:
    proxy = Proxy(server.port)
    client = client_of(app_on(proxy.url, clock))
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201
    before = proxy.scripts_run
    proxy.loses_from = before + 2  # the first finds that the name is free
    assert_unavailable(client.post("/v1/projects", json={"name": "b"}))
    assert proxy.scripts_run == before + 2
    proxy.loses_from = 10_000
    assert names(client)[3:] == ["a", "b"]
    assert_problem(client.post("/v1/projects", json={"name": "b"}), 409, "name_taken")
    assert client.post("/v1/projects", json={"name": "c"}).status_code == 201  # with new ids
    proxy.close()
