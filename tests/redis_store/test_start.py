"""A program whose store cannot be used says so in one line, and does not start."""

import socket
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from redis import RedisError

from tests.program import not_started, run
from tests.redis_server import RedisServer

pytestmark = pytest.mark.process


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
        "redis://:12#secret@host",
        "redis://secret#x@host",
        "redis://secret?x@host",
        "redis://:12/secret@host",
        "redis://u:1?db=secret@host",
        "redis://u:secret@x@host",
        "redis://u:secret%@host",
        "redis://u:secret x@host",
        "redis://host/0#secret",
        "redis://u:secret@host:secret",
        "redis://u:secret@host?ssl_secret=1",
        "http://u:secret@host",
        "x:secret",
    ],
)
def test_an_invalid_url_of_a_store_is_not_shown(url: str) -> None:
    shown = not_started("--store", url)
    assert shown.count("\n") == 1
    assert "redis://" in shown
    assert "secret" not in shown


def test_a_password_of_any_characters_is_encoded(shared_redis: RedisServer) -> None:
    password = "a/b?c#d@e%f g:h[é"
    shared_redis.client.acl_setuser(
        "encoded", enabled=True, passwords=[f"+{password}"], keys=["*"], commands=["+@all"]
    )
    address = f"127.0.0.1:{shared_redis.port}/0"
    run("--store", f"redis://encoded:{quote(password, safe='')}@{address}")
    shown = not_started("--store", f"redis://encoded:{password}@{address}")
    assert "%23" in shown
    assert all(part not in shown for part in ("a/b", "c#d", "g:h"))
    shown = not_started("--store", f"redis://encoded:secret@{address}")
    assert "rejects the user or the password" in shown
    assert "secret" not in shown
    shared_redis.client.acl_deluser("encoded")


@pytest.mark.parametrize("option", ["ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile"])
def test_a_certificate_that_cannot_be_used_is_named(option: str, tmp_path: Path) -> None:
    missing, invalid = tmp_path / "missing.pem", tmp_path / "invalid.pem"
    invalid.write_text("secret")
    for path in [missing] if option == "ssl_keyfile" else [missing, invalid]:
        shown = not_started("--store", f"rediss://127.0.0.1:1/0?{option}={path}")
        assert shown.count("\n") == 1
        assert f"{option}: {path} cannot be used: " in shown
        assert "secret" not in shown


def test_a_connection_that_cannot_be_made_is_an_invalid_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RedisError("secret")

    monkeypatch.setattr("redis.BlockingConnectionPool.from_url", fail)
    shown = not_started("--store", "redis://127.0.0.1")
    assert "the URL is invalid" in shown
    assert "secret" not in shown


def test_a_database_that_the_server_lacks_is_told(shared_redis: RedisServer) -> None:
    shown = not_started("--store", f"redis://127.0.0.1:{shared_redis.port}/99")
    assert "DB index is out of range" in shown


def test_a_user_without_rights_does_not_start(shared_redis: RedisServer) -> None:
    shared_redis.client.acl_setuser(
        "limited", enabled=True, nopass=True, keys=["other"], commands=["+@all"]
    )
    shown = not_started("--store", f"redis://limited:x@127.0.0.1:{shared_redis.port}/0")
    shared_redis.client.acl_deluser("limited")
    assert shown.count("\n") == 1
    assert "permissions" in shown


def test_without_the_package_the_option_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis_store"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    shown = not_started("--store", "redis://127.0.0.1")
    assert shown.count("\n") == 1
    assert "pip install -r" in shown
    assert "requirements-redis.txt" in shown
