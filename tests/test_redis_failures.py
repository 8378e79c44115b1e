"""A Redis server that is away, stops, is full, or loses a reply."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from problems import StoreUnavailable
from redis_store import connect
from store import Project, Records
from tests.conftest import (
    ROOT,
    Clock,
    client_of,
    control_client_of,
    counting_ids,
    environment,
    in_parallel,
    names,
    not_started,
    program,
)
from tests.contract import assert_problem
from tests.redis_server import PROGRAM, RedisServer, app_on, running_redis
from tests.test_store_model import records_of
from tests.wire import call

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that keeps what it confirmed, and that a test may stop."""
    with running_redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as running:
        yield running


def assert_unavailable(response: Any, started: float) -> None:
    assert time.monotonic() - started < 2
    assert_problem(response, 503, "store_unavailable")
    assert response.headers["Retry-After"] == "1"


# A server that fails


def test_what_was_confirmed_is_there_after_the_server_was_killed(
    server: RedisServer, clock: Clock
) -> None:
    client = client_of(app_on(server.url, clock))
    confirmed = []
    for number in range(30):
        if number == 10:
            server.kill()
        if number == 20:
            server.start()
        started = time.monotonic()
        response = client.post("/v1/projects", json={"name": f"n{number}"})
        if 10 <= number < 20:
            assert_unavailable(response, started)
            assert_unavailable(client.get("/v1/projects"), time.monotonic())
            assert_unavailable(client.get("/v1/deployments/dpl_failed"), time.monotonic())
        else:
            assert response.status_code == 201
            confirmed.append(response.json)
    assert client.get("/v1/projects").json["projects"][3:] == confirmed


def test_a_killed_server_does_not_hang_requests_that_are_under_way(server: RedisServer) -> None:
    with program("--store", server.url, "--empty") as (_, url):
        created: set[str] = set()

        def create(worker: int) -> None:
            for number in range(60):
                name = f"{worker}-{number}"
                started = time.monotonic()
                response = call(url, "/v1/projects", body=json.dumps({"name": name}).encode())
                assert time.monotonic() - started < 2.5
                if response.status_code == 201:
                    created.add(name)
                else:
                    assert_problem(response, 503, "store_unavailable")

        def interrupt() -> None:
            deadline = time.monotonic() + 20
            while len(created) < 20:
                assert time.monotonic() < deadline
            server.kill()
            server.start()

        assert in_parallel([interrupt, *(partial(create, each) for each in range(4))]) == 5 * [None]
        listed = [each["name"] for each in call(url, "/v1/projects").json["projects"]]
        assert created <= set(listed)
        assert len(listed) == len(set(listed))


def test_a_server_that_lost_everything_is_begun_anew(clock: Clock, tmp_path: Path) -> None:
    with running_redis(tmp_path) as server:
        client = client_of(app_on(server.url, clock))
        client.post("/v1/projects", json={"name": "a"})
        server.kill()
        server.start()
        assert names(client) == ["website", "billing", "search"]


def test_a_server_that_lost_the_newest_records_lists_what_it_has(
    clock: Clock, tmp_path: Path
) -> None:
    def create_and_list(kept: str, lost: list[str], new: list[str]) -> None:
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

    with running_redis(tmp_path) as server:
        clients = [control_client_of(app_on(server.url, clock)) for _ in range(2)]
        create_and_list("", ["b"], [])
        create_and_list("a", ["b", "c"], [])
        create_and_list("a", ["b"], ["c"])
        create_and_list("a", ["b"], ["c", "d"])


def test_a_server_that_is_started_anew_during_a_reset_has_nothing_of_it(tmp_path: Path) -> None:
    with running_redis(tmp_path) as server:

        class Interrupting(tuple[Project, ...]):
            """Its second batch is written to another server than the first one."""

            def __getitem__(self, which: Any) -> Any:
                if which.start:
                    server.kill()
                    server.start()
                return tuple(self)[which]

        store = connect(server.url, threads=1)(records=records_of(1))
        many = records_of(*range(2, 1800))
        with pytest.raises(StoreUnavailable):
            store.reset(Records(Interrupting(many.projects), many.deployments))
        assert [each.id for each in store.list_projects()] == ["p1"]


def test_a_server_that_stops_responding_does_not_hang_requests(server: RedisServer) -> None:
    with program("--store", server.url) as (_, url):
        assert call(url, "/_stub/ready").status_code == 200
        server.pause()

        def get(path: str) -> None:
            started = time.monotonic()
            assert_unavailable(call(url, path), started)

        paths = 20 * ["/v1/projects", "/v1/deployments/dpl_failed"] + ["/_stub/ready"]
        results = in_parallel([partial(get, path) for path in paths])
        assert [result for result in results if result] == []
        assert call(url, "/_stub/health").json == {"status": "ok"}
        server.resume()
        deadline = time.monotonic() + 5
        while call(url, "/_stub/ready").status_code != 200:
            assert time.monotonic() < deadline
        assert call(url, "/v1/deployments/dpl_failed").status_code == 200


def test_a_full_server_reads_and_does_not_write(server: RedisServer, clock: Clock) -> None:
    client = control_client_of(app_on(server.url, clock))
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
        response = client.open(path, method=method, json=document)
        assert_unavailable(response, time.monotonic())
    assert (client.get("/v1/projects").data, client.get("/_stub/state").data) == before
    server.client.config_set("maxmemory", 0)
    assert server.client.keys("*:*:*:*") == []
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201


class Proxy:
    """Stands between a program and Redis. It may lose the replies to scripts."""

    def __init__(self, port: int) -> None:
        self.loses_replies = False
        self.scripts_run = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", self._target)) as target:
            while request := connection.recv(100_000):
                self.scripts_run += request.count(b"EVALSHA")
                target.sendall(request)
                reply = target.recv(100_000)
                if self.loses_replies and b"EVALSHA" in request:
                    return
                connection.sendall(reply)

    def close(self) -> None:
        self._listener.close()


def test_a_create_whose_reply_is_lost_is_not_repeated(server: RedisServer, clock: Clock) -> None:
    proxy = Proxy(server.port)
    client = client_of(app_on(proxy.url, clock))
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201
    proxy.loses_replies, before = True, proxy.scripts_run
    started = time.monotonic()
    assert_unavailable(client.post("/v1/projects", json={"name": "b"}), started)
    assert proxy.scripts_run == before + 1
    proxy.loses_replies = False
    assert names(client)[3:] == ["a", "b"]
    assert_problem(client.post("/v1/projects", json={"name": "b"}), 409, "name_taken")
    assert client.post("/v1/projects", json={"name": "c"}).status_code == 201  # with new ids
    proxy.close()


def test_a_create_that_the_server_did_not_get_takes_no_id(
    server: RedisServer, clock: Clock
) -> None:
    store = connect(server.url, threads=1)(clock, counting_ids())
    first = store.create_project("a", '{"name": "a"}')
    server.kill()
    with pytest.raises(StoreUnavailable):
        store.create_project("b", '{"name": "b"}')
    server.start()
    second = store.create_project("b", '{"name": "b"}')
    assert [first.id, first.latest_deployment_id] == ["prj_1", "dpl_2"]
    assert [second.id, second.latest_deployment_id] == ["prj_3", "dpl_4"]


# The program


def test_a_program_whose_store_is_away_does_not_start() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        shown = not_started("--store", f"redis://user:secret@{address}/0")
    assert shown.count("\n") == 1
    assert address in shown
    assert "secret" not in shown
    assert "user" not in shown


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:secret/x@host",
        "redis://host?secret=1",
        "redis://u:secret@127.0.0.1?socket_timeout=9",
        "redis://u:secret@127.0.0.1?decode_responses=True",
        "redis://u:secret@127.0.0.1/abc",
        "redis://u:secret@127.0.0.1/0:6379",
        "http://u:secret@host",
        "x:secret",
    ],
)
def test_an_invalid_url_of_a_store_is_not_shown(url: str) -> None:
    shown = not_started("--store", url)
    assert shown.count("\n") == 1
    assert "redis://" in shown
    assert "secret" not in shown


def test_a_user_without_rights_does_not_start(server: RedisServer) -> None:
    server.client.acl_setuser(
        "limited", enabled=True, nopass=True, keys=["other"], commands=["+@all"]
    )
    shown = not_started("--store", f"redis://limited:x@127.0.0.1:{server.port}/0")
    assert shown.count("\n") == 1
    assert "permissions" in shown


def test_without_the_package_the_option_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from app import create_app; from cli import main\n"
        "sys.argv = ['app.py', '--store', 'redis://127.0.0.1']; sys.exit(main(create_app))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install -r" in done.stderr
    assert "requirements-redis.txt" in done.stderr


def test_without_a_store_outside_the_program_is_always_ready(client: FlaskClient) -> None:
    anonymous = control_client_of(client.application, "wrong")
    assert anonymous.get("/_stub/ready").json == json.loads('{"status": "ok"}')
