"""A Redis server that cannot be used: at the start, for a while, or for one world."""

import json
import re
import signal
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from redis_store import RedisStores
from tests.conftest import (
    SAMPLE_NAMES,
    control_client_of,
    counting_ids,
    eventually,
    in_parallel,
    make_stub,
    names,
)
from tests.contract import CREATED, assert_problem
from tests.program import not_started, run
from tests.redis_server import RedisServer
from tests.redis_store.conftest import JOB
from tests.wire import call, free_port

pytestmark = pytest.mark.process
Log = pytest.LogCaptureFixture

# A URL with the address of a server, of a port where nothing listens, or with a file that is no
# certificate; and words of the error.
UNUSABLE = [
    ("redis://u:secret/x@{here}", "percent-encode"),
    ("redis://:12#secret@{here}", "percent-encode"),
    ("redis://u:secret@x@{here}", "percent-encode"),
    ("redis://u:secret%@{here}", "percent-encode"),
    ("redis://u:secret@{here}?socket_timeout=9", "percent-encode"),
    ("redis://u:secret@{here}?ssl_secret=1", "percent-encode"),
    ("http://u:secret@{here}", "'--store': the URL is invalid: give redis://"),
    ("redis://someone:secret@{nowhere}/0", "the store at redis://{nowhere}/0 cannot be used"),
    ("redis://someone:secret%2F%23%40@{here}/0", "invalid username-password pair"),
    ("redis://limited:x@{here}/0", "no permissions"),
    ("redis://{here}/99", "DB index is out of range"),
    ("rediss://{here}?ssl_ca_certs={file}", "no certificate"),
]


@pytest.mark.parametrize(("url", "words"), UNUSABLE)
def test_the_program_does_not_start_and_says_why_without_a_secret(
    redis: RedisServer, tmp_path: Path, url: str, words: str
) -> None:
    file = tmp_path / "secret"
    file.write_text("secret")
    redis.client.acl_setuser(
        "limited", enabled=True, nopass=True, keys=["other"], commands=["+@all"]
    )
    places = {"here": f"127.0.0.1:{redis.port}", "nowhere": f"127.0.0.1:{free_port()}"}
    shown = not_started("--store", url.format(**places, file=quote(str(file))))
    assert words.format(**places) in shown
    assert shown.count("\n") == 1
    assert not {"secret", "someone"} & {*re.findall(r"\w+", shown)}


def test_a_world_has_at_most_1000_projects(redis: RedisServer, tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"projects": [{"name": f"p{number}"} for number in range(1000)]}))
    create = partial(call, target="/v1/projects", body=b'{"name": "more"}')
    done = run("--store", redis.url, "--seed", str(seed), during=create)
    assert_problem(done.result, 507, "store_full")


def test_without_the_package_the_option_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis_store"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    command = f'"{sys.executable}" -m pip install redis'
    expected = f"redis is not installed: run `{command}`"
    assert expected in not_started("--store", "redis://127.0.0.1")


# An outage


PATHS = ("/v1/projects", "/v1/deployments/dpl_failed", "/_stub/ready")


def assert_unavailable(*responses: Any) -> None:
    for response in responses:
        assert_problem(response, 503, "store_unavailable")
        assert response.headers["Retry-After"] == "1"


def test_an_outage_passes_and_each_response_of_it_has_its_line_in_the_log(
    one: FlaskClient, redis: RedisServer, caplog: Log
) -> None:
    create = partial(one.post, "/v1/projects", json={"name": "lost"})
    assert names(one) == SAMPLE_NAMES
    redis.kill()
    assert_unavailable(*map(one.get, PATHS), create(), *in_parallel(8 * [create]))
    assert len(caplog.messages) == len(PATHS) + 9
    assert all(f"the store at {redis.url} cannot be used: " in each for each in caplog.messages)
    redis.start()
    assert names(one) == SAMPLE_NAMES


@pytest.mark.slow
@pytest.mark.xdist_group("time")
def test_a_server_that_hangs_does_not_hang_requests(one: FlaskClient, redis: RedisServer) -> None:
    clients = [control_client_of(one.application, "dev-token.job") for _ in range(8)]
    jobs = [partial(client.get, path) for client, path in product(clients, PATHS)]
    redis.process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert_unavailable(*in_parallel(jobs))
    assert time.monotonic() - started < 10
    redis.process.send_signal(signal.SIGCONT)
    eventually(lambda: one.get("/_stub/ready").status_code == 200)


def test_a_full_server_reads_and_does_not_write_and_no_command_is_logged(
    one: FlaskClient, redis: RedisServer, caplog: Log
) -> None:
    one.post("/_stub/clock", json={"frozen": True, "tick": 1})
    redis.client.config_set("maxmemory", 1)
    seed = {"projects": [{"name": "a"}]}
    assert_unavailable(
        one.post("/v1/projects", json={"name": "a"}), one.post("/_stub/reset", json=seed)
    )
    assert names(one) == SAMPLE_NAMES
    assert one.get("/v1/deployments/dpl_failed").status_code == 200  # without a tick
    assert one.get("/_stub/clock").json["now"] == "2026-11-21T10:00:00.000Z"
    assert {*caplog.messages} == {f"the store at {redis.url} cannot be used: out of memory error"}
    redis.client.config_set("maxmemory", 0)
    assert one.post("/v1/projects", json={"name": "a"}).status_code == CREATED


def test_a_create_whose_connection_is_lost_is_not_repeated(redis: RedisServer) -> None:
    next_id = counting_ids()

    def new_id(*of: Any) -> str:
        """Comes between the read and the write of a create, and loses the first connection."""
        found = next_id(*of)
        if found == "prj_1":
            redis.client.client_kill_filter(_type="normal")
        return found

    client = control_client_of(make_stub(new_id=new_id, stores=RedisStores(redis.url)))
    assert_unavailable(client.post("/v1/projects", json={"name": "a"}))
    assert client.post("/v1/projects", json={"name": "a"}).status_code == CREATED


FOREIGN: list[tuple[bytes, Any]] = [
    (b"project-stub:spoilt", "secret"),
    (b"project-stub:spoilt", {"projects": "secret"}),
    (b"project-stub:b\n\xff", "secret"),
    (b"project-stub:b\n\xff", {"projects": "1"}),
]


@pytest.mark.parametrize(("key", "value"), FOREIGN)
def test_the_list_of_worlds_leaves_out_a_foreign_key_and_names_it_in_the_log(
    one: FlaskClient, redis: RedisServer, key: bytes, value: Any, caplog: Log
) -> None:
    assert names(one) == SAMPLE_NAMES
    if isinstance(value, dict):
        redis.client.hset(key, mapping=value)
    else:
        redis.client.set(key, value)
    listed = [each["name"] for each in one.get("/_stub/worlds").json["worlds"]]
    assert listed == ["", "job"]
    assert caplog.messages == [f"Redis has something invalid in {repr(key)[2:-1]}"]


@pytest.mark.parametrize("document", [None, {"version": "x", "document": "{}"}])
def test_a_reset_mends_a_spoilt_world(
    one: FlaskClient, other: FlaskClient, redis: RedisServer, document: Any, caplog: Log
) -> None:
    assert one.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    if document:
        redis.client.hset(JOB, mapping=document)
    else:
        redis.client.set(JOB, "secret")
    assert_unavailable(
        other.get("/v1/projects"),
        other.post("/v1/projects", json={"name": "b"}),
        other.post("/_stub/clock", json={"advance": 1}),
    )
    assert caplog.messages == 3 * [f"Redis has something invalid in {JOB}"]
    assert other.post("/_stub/reset").status_code == 204
    assert names(one) == SAMPLE_NAMES
