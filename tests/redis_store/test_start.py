"""A program whose store cannot be used says so in one line, and does not start."""

import json
import socket
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.contract import assert_problem
from tests.program import not_started, run
from tests.redis_server import RedisServer
from tests.wire import call

pytestmark = pytest.mark.process

INVALID = [
    "redis://u:secret/x@host",
    "redis://u:secret@127.0.0.1?socket_timeout=9",
    "redis://:12#secret@host",
    "redis://u:secret@x@host",
    "redis://u:secret%@host",
    "redis://u:secret@host?ssl_secret=1",
    "http://u:secret@host",
]


def assert_told(url: str, *words: str) -> None:
    """The program does not start, and one line says why, without a user or a password."""
    shown = not_started("--store", url)
    assert shown.count("\n") == 1
    assert [word for word in words if word not in shown] == []
    assert "secret" not in shown
    assert "someone" not in shown


def test_an_invalid_url_of_a_store_is_not_shown() -> None:
    for url in INVALID:
        assert_told(url, "give ", "redis://")


def test_the_reason_is_told(shared_redis: RedisServer, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        assert_told(f"redis://someone:secret@{address}/0", address, "refused")
    here = f"127.0.0.1:{shared_redis.port}"
    shared_redis.client.acl_setuser(
        "limited", enabled=True, nopass=True, keys=["other"], commands=["+@all"]
    )
    assert_told(f"redis://limited:x@{here}/0", "no permissions")
    shared_redis.client.acl_deluser("limited")
    assert_told(f"redis://someone:secret@{here}/0", "invalid username-password pair")
    assert_told(f"redis://{here}/99", "DB index is out of range")
    invalid = tmp_path / "invalid.pem"
    invalid.write_text("secret")
    assert_told(f"rediss://{here}?ssl_ca_certs={invalid}", "no certificate")


def test_a_password_of_any_characters_is_encoded(shared_redis: RedisServer) -> None:
    password = "a/b?c#d@e%f g:h[é"
    shared_redis.client.acl_setuser(
        "encoded", enabled=True, passwords=[f"+{password}"], keys=["*"], commands=["+@all"]
    )
    address = f"127.0.0.1:{shared_redis.port}/0"
    run("--store", f"redis://encoded:{quote(password, safe='')}@{address}")
    shared_redis.client.acl_deluser("encoded")
    shown = not_started("--store", f"redis://encoded:{password}@{address}")
    assert "%23" in shown
    assert all(part not in shown for part in ("a/b", "c#d", "g:h"))


def test_a_world_has_at_most_1000_projects(shared_redis: RedisServer, tmp_path: Path) -> None:
    shared_redis.clear()
    given = ("--store", shared_redis.url, "--max-projects", "1001")
    assert "1001 is too many with --store: give at most 1000" in not_started(*given)
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"projects": [{"name": f"p{number}"} for number in range(1000)]}))
    options = ("--store", shared_redis.url, "--seed", str(seed))
    done = run(*options, during=lambda url: call(url, "/v1/projects", body=b'{"name": "more"}'))
    assert_problem(done.result, 507, "store_full")


def test_without_the_package_the_option_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis_store"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    command = f'"{sys.executable}" -m pip install redis'
    assert_told("redis://127.0.0.1", f"redis is not installed: run `{command}`")
