"""What something else wrote to Redis is no document: 503, and the log names the key."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from tests.conftest import Clock, control_client_of, names
from tests.redis_server import RedisServer, app_on
from tests.redis_store.conftest import assert_unavailable, key_of

pytestmark = pytest.mark.process

NEEDS_DOCUMENT = [
    ("GET", "/v1/projects", None),
    ("GET", "/v1/deployments/dpl_failed", None),
    ("POST", "/v1/projects", {"name": "a"}),
    ("GET", "/_stub/state", None),
    ("GET", "/_stub/clock", None),
    ("POST", "/_stub/clock", {"advance": 1}),
    ("GET", "/_stub/ready", None),
]
SPOILT: list[Callable[[bytes], bytes]] = [
    lambda text: b"secret",
    lambda text: b"\xffsecret",
    lambda text: 9999 * b"[",
    lambda text: text[:-1],
    lambda text: text.replace(b'"website"', b'"secret"'),
    lambda text: text.replace(b'"prj_website"', b"5"),
    lambda text: text.replace(b'"clock": null', b'"clock": [null, [1e300, 0, 0], 0]'),
]


def test_a_spoilt_document_is_named_and_a_reset_mends_it(
    shared_redis: RedisServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.clear()
    redis = shared_redis.client
    for spoil in (*SPOILT, None):
        assert len(names(control_client_of(app_on(shared_redis.url, clock)))) == 3
        text: Any = redis.get(key_of(""))
        if spoil:
            spoilt = spoil(text)
            assert spoilt != text
            redis.set(key_of(""), spoilt)
        else:
            redis.delete(key_of(""))
            redis.lpush(key_of(""), "secret")
        client = control_client_of(app_on(shared_redis.url, clock))
        for method, path, document in NEEDS_DOCUMENT:
            caplog.clear()
            assert_unavailable(client.open(path, method=method, json=document))
            messages = [each.message for each in caplog.records]
            assert messages == [f"Redis has something invalid in {key_of('')}"]
        assert client.post("/_stub/reset").status_code == 204
        assert len(names(client)) == 3


# What spoils a world, and the token of the tenant that has it.
OWNERS = [(b"team-a/job", "one"), (b"team-a/b\n\xff", "one"), (b"b\n\xff", "plain")]


@pytest.mark.parametrize(("world", "owner"), OWNERS)
def test_a_spoilt_key_is_named_to_its_tenant_alone(
    world: bytes,
    owner: str,
    programs: list[Flask],
    shared_redis: RedisServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared_redis.client.set(key_of("").encode() + world, "secret")
    for token in ("one", "two", "plain"):
        client = control_client_of(programs[0], token)
        assert client.get("/v1/projects").status_code == 200
        for response in (client.get("/_stub/worlds"), client.delete("/_stub/worlds?idle=0")):
            if token == owner:
                assert_unavailable(response)
            else:
                assert response.status_code in (200, 204)
    name = repr(key_of("").encode() + world)[2:-1]
    messages = [record.message for record in caplog.records]
    assert messages == 2 * [f"Redis has something invalid in {name}"]
