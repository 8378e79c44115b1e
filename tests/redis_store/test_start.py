"""A program whose store cannot be used says so in one line, and does not start."""

import socket
import sys

import pytest

from tests.program import not_started
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
        "http://u:secret@host",
        "x:secret",
    ],
)
def test_an_invalid_url_of_a_store_is_not_shown(url: str) -> None:
    shown = not_started("--store", url)
    assert shown.count("\n") == 1
    assert "redis://" in shown
    assert "secret" not in shown


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
