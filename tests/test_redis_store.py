"""Programs that share a Redis server."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from redis_store import connect
from store import Records, Stage, Store
from tests.conftest import (
    SAMPLE_NAMES,
    Clock,
    client_of,
    control_client_of,
    in_parallel,
    names,
    program,
)
from tests.redis_server import PROGRAM, RedisServer, app_on, running_redis
from tests.test_store_model import records_of
from tests.wire import call, free_port

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")


@pytest.fixture
def two(shared_redis: RedisServer, clock: Clock) -> list[FlaskClient]:
    """Two programs with one store."""
    shared_redis.client.flushall()
    return [control_client_of(app_on(shared_redis.url, clock)) for _ in range(2)]


# What two programs share


def test_of_two_programs_that_create_one_name_one_does(
    shared_redis: RedisServer,
) -> None:
    shared_redis.client.flushall()
    options = ("--store", shared_redis.url, "--empty")
    with program(*options) as (_, one), program(*options) as (_, other):
        for number in range(200):
            body = json.dumps({"name": f"n{number}"}).encode()
            posts = [partial(call, url, "/v1/projects", body=body) for url in (one, other)]
            assert sorted(each.status_code for each in in_parallel(posts)) == [201, 409]
        first, second = (call(url, "/v1/projects").data for url in (one, other))
        assert first == second
        assert first.count(b'"name"') == 200


def test_the_records_survive_the_program(shared_redis: RedisServer, clock: Clock) -> None:
    shared_redis.client.flushall()
    client = client_of(app_on(shared_redis.url, clock))
    text = '{"name": "shop", "n": [1.10, -0, 12345678901234567890], "o": {"z": "\\u0061"}}'
    client.post("/v1/projects", data=text, content_type="application/json")
    before = client.get("/v1/projects").data
    assert b'[1.10, -0, 12345678901234567890], "o": {"z": "\\u0061"}' in before
    assert client_of(app_on(shared_redis.url, clock)).get("/v1/projects").data == before


def test_a_socket_of_the_file_system_is_a_server_too(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "s"
    with running_redis(tmp_path, "--unixsocket", str(path)) as server:
        made = client_of(app_on(f"unix://{path}", clock)).post("/v1/projects", json={"name": "a"})
        assert names(client_of(app_on(server.url, clock)))[3:] == [made.json["name"]]


def test_without_the_stub_the_records_are_in_the_main_world(shared_redis: RedisServer) -> None:
    shared_redis.client.flushall()
    with program("--store", shared_redis.url, "--no-stub") as (_, url):
        assert call(url, "/v1/projects", body=b'{"name": "a"}').status_code == 201
    with program("--store", shared_redis.url) as (_, url):
        listed = call(url, "/v1/projects").json["projects"]
    assert [each["name"] for each in listed] == [*SAMPLE_NAMES, "a"]


def test_a_change_by_one_program_is_seen_by_the_other(two: list[FlaskClient]) -> None:
    one, other = two
    for number, client in enumerate([one, other, one]):
        client.post("/v1/projects", json={"name": f"p{number}"})
        assert one.get("/v1/projects").data == other.get("/v1/projects").data
    one.put("/_stub/deployments/x", json={"status": "failed", "project_id": "prj_website"})
    assert other.get("/v1/deployments/x").json["status"] == "failed"
    assert b'"latest_deployment_id": "x"' in other.get("/v1/projects").data
    other.post("/_stub/reset", json={"projects": [{"name": "a"}]})
    assert names(one) == ["a"]
    one.post("/_stub/pact", json={"state": "no projects exist"})
    assert names(other) == []
    assert one.get("/_stub/state").data == other.get("/_stub/state").data


def test_the_clock_that_one_program_turned_is_that_of_the_other(
    two: list[FlaskClient], clock: Clock
) -> None:
    one, other = two
    made = one.post("/v1/projects", json={"name": "a"}).json
    path = f"/v1/deployments/{made['latest_deployment_id']}"
    assert other.get(path).json["status"] == "queued"
    one.post("/_stub/clock", json={"advance": 3, "frozen": True})
    clock.advance(60)
    assert other.get(path).json["status"] == "building"
    assert other.get("/_stub/clock").json == {"now": "2026-11-21T10:00:03.000Z", "frozen": True}
    assert other.get("/_stub/console").json["clock"]["ahead"] == 3
    other.post("/_stub/clock", json={"advance": 1, "frozen": False})
    clock.advance(1)
    assert one.post("/v1/projects", json={"name": "b"}).json["created_at"][14:19] == "00:05"
    one.post("/_stub/reset")
    assert other.get("/_stub/clock").json["now"] == "2026-11-21T10:01:01.000Z"


def test_a_bare_reset_removes_the_keys_of_a_world(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    one, other = (control_client_of(client.application, "dev-token.job-42") for client in two)
    assert one.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert names(other)[-1] == "a"
    assert shared_redis.client.keys("{project-stub:job-42}:*")
    other.post("/_stub/reset")
    assert shared_redis.client.keys("{project-stub:job-42}*") == []
    assert names(one) == ["website", "billing", "search"]


def test_a_rejected_reset_leaves_the_records_alone(two: list[FlaskClient]) -> None:
    before = two[1].get("/v1/projects").data
    assert two[0].post("/_stub/reset", json={"projects": [{}]}).status_code == 422
    assert two[1].get("/v1/projects").data == before


def test_a_large_reset_is_seen_whole_or_not_at_all(
    redis_stores: Callable[..., Store], clock: Clock
) -> None:
    size = 20_000
    writer, reader = (redis_stores(clock) for _ in range(2))
    done = threading.Event()

    def read() -> set[int]:
        seen = set()
        while not done.is_set():
            seen.add(len(reader.list_projects()))
        return seen

    def write() -> None:
        for _ in range(3):
            writer.reset(records_of(*range(size)))
            writer.reset(Records())
        done.set()

    seen, _ = in_parallel([read, write])
    assert seen <= {0, size}


def test_programs_that_begin_at_once_undo_nothing(redis_stores: Callable[..., Store]) -> None:
    """Each finds no records and makes them, which takes long enough for the others' creates."""
    stores = [redis_stores(records=records_of(*range(3000))) for _ in range(6)]

    def create(number: int) -> None:
        stores[number].create_project(f"made {number}", f'{{"name": "made {number}"}}')

    assert in_parallel([partial(create, number) for number in range(6)]) == 6 * [None]
    listed = [project.name for project in stores[0].list_projects()]
    assert {name for name in listed if "made" in name} == {f"made {number}" for number in range(6)}
    assert len(listed) == 3006


# The keys


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


def use_all(store: Store) -> None:
    """Calls each method, the rarer ways included."""
    store.create_project("a", '{"name": "a"}')
    store.add(records_of(1, 2, 3))
    store.add(records_of(1, 4))
    store.put_deployment("d1", (Stage("failed"),), "p2")
    store.put_deployment(None, (Stage("failed"),))
    store.put_deployment("d9", (Stage("failed"),))
    store.put_deployment("d9", (Stage("failed"),), "p1")
    store.set_clock("", "turned")
    assert len(store.list_projects()) == 5
    assert store.get_deployment("d9") is not None
    assert len(store.records().projects) == 5
    store.remove_projects()
    store.reset(records_of(1))
    store.reset()
    assert store.list_projects() == ()


def test_every_key_is_in_the_namespace_of_its_world(
    shared_redis: RedisServer, redis_stores: Callable[..., Store]
) -> None:
    with monitored(shared_redis) as commands:
        use_all(redis_stores(world="w"))
    keys = re.findall(r'"([^" ]*project-stub:[^" ]*)"', "".join(commands))
    assert len(keys) > 100
    assert {key for key in keys if not key.startswith("{project-stub:w}:")} == set()
    of_scripts = [line for line in commands if " lua] " in line and '"the end"' not in line]
    assert len(of_scripts) > 50
    assert [line for line in of_scripts if "{project-stub:w}:" not in line] == []


def test_a_cluster_takes_every_script(tmp_path: Path) -> None:
    """Its nodes reject keys of two slots, and keys that a script did not declare."""
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with running_redis(tmp_path, *options) as node:
        run: Callable[..., Any] = node.client.execute_command
        run("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in run("CLUSTER", "INFO"):
            pass
        use_all(connect(node.url, threads=4)(world="w"))
