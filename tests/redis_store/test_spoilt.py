"""What another program wrote to Redis is no record: 503, and the log names the key."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from redis_store import connect
from tests.conftest import Clock, control_client_of, make_stub
from tests.redis_server import RedisServer, app_on
from tests.redis_store.conftest import assert_unavailable

pytestmark = pytest.mark.process

SET = "{project-stub:}:"
LIST, DEPLOYMENT, STATE = "/v1/projects", "/v1/deployments/dpl_failed", "/_stub/state"
TIME = "2026-01-01T00:00:00.000+00:00"
NO_CLOCKS = [
    "secret",
    "5",
    "[null, 1e300, 0]",
    "[null, 1e12, 0]",
    "[null, 0, 1e300]",
    "[null, 0, NaN]",
    '["2026-01-01T00:00:00", 0, 0]',
    '["2026-01-01T00:00:00+01:00", 0, 0]',
    9999 * "[",
]
NO_PROJECTS = [
    b"\xffsecret",
    '["secret"]',
    f'["p", 5, "{TIME}", "d", "{{}}"]',
    f'["p", "secret", "{TIME}", "d", {{}}]',
    '["p", "secret", "2026-01-01T00:00:00", "d", "{}"]',
]
NO_DEPLOYMENTS = [
    "secret",
    "5",
    '["d", null, "2026-01-01T00:00:00", [["failed", null]]]',
    f'["d", 5, "{TIME}", [["failed", null]]]',
    f'["d", null, "{TIME}", [["failed", 1]]]',
    f'["d", null, "{TIME}", [["failed", "1"], ["secret", null]]]',
    f'["d", null, "{TIME}", [["failed", NaN], ["secret", null]]]',
    f'["d", null, "{TIME}", [["failed", Infinity], ["secret", null]]]',
    f'["d", null, "{TIME}", [[5, null]]]',
    f'["d", null, "{TIME}", []]',
]
# A command that spoils a key, and the requests that need it.
SPOILT: list[tuple[list[Any], list[str]]] = [
    (["SET", f"{SET}state", "secret"], [LIST, DEPLOYMENT, STATE]),
    (["SET", f"{SET}projects", "secret"], [LIST, STATE, "/_stub/worlds"]),
    (["SET", f"{SET}deployments", "secret"], [DEPLOYMENT, STATE]),
]
SPOILT += [
    (["HSET", f"{SET}state", "clock", row], [LIST, "/_stub/clock", "/_stub/ready"])
    for row in NO_CLOCKS
]
SPOILT += [(["LSET", f"{SET}projects", "1", row], [LIST, STATE]) for row in NO_PROJECTS]
SPOILT += [
    (["HSET", f"{SET}deployments", "dpl_failed", row], [DEPLOYMENT, STATE])
    for row in NO_DEPLOYMENTS
]


def test_a_spoilt_key_is_named_and_a_reset_mends_it(
    shared_redis: RedisServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for command, paths in SPOILT:
        shared_redis.clear()
        client: FlaskClient = control_client_of(app_on(shared_redis.url, clock))
        assert client.get(DEPLOYMENT).status_code == 200
        shared_redis.client.execute_command(*command)  # type: ignore[no-untyped-call]
        for path in paths:
            caplog.clear()
            assert_unavailable(client.get(path))
            assert re.search(rf"Redis has something invalid in .*{command[1]}\b", caplog.text)
        assert "secret" not in caplog.text
        assert client.post("/_stub/reset").status_code == 204
        assert client.get(LIST).status_code == client.get(DEPLOYMENT).status_code == 200


def test_a_clock_that_cannot_be_advanced_any_more_is_named(
    shared_redis: RedisServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.clear()
    client = control_client_of(app_on(shared_redis.url, clock))
    last = '["9999-12-31T23:59:59+00:00", 0, 0]'
    shared_redis.client.hset(f"{SET}state", "clock", last)
    assert client.get(LIST).status_code == 200
    assert_unavailable(client.post("/_stub/clock", json={"advance": 1}))
    assert f"Redis has something invalid in {SET}state" in caplog.text


# The beginning of the name of a key, and the token of its tenant.
OWNERS = [(b"team-a/", "one"), (b"", "plain")]


@pytest.mark.parametrize(("prefix", "owner"), OWNERS)
def test_a_key_whose_name_is_no_text_is_named_to_its_tenant_alone(
    prefix: bytes, owner: str, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.clear()
    tokens = ["team-a=one", "team-b=two", "plain"]
    app = make_stub(tokens=tokens, new_store=connect(shared_redis.url, 8))
    shared_redis.client.hset(b"{project-stub:%b\n\xff}:state" % prefix, "clock", "")
    for token in ("one", "two", "plain"):
        client = control_client_of(app, token)
        assert client.get(LIST).status_code == 200
        for response in (client.get("/_stub/worlds"), client.delete("/_stub/worlds?idle=0")):
            if token == owner:
                assert_unavailable(response)
            else:
                assert response.status_code in (200, 204)
    name = rf"{{project-stub:{prefix.decode()}\n\xff}}:state"
    messages = [record.message for record in caplog.records]
    assert messages == 2 * [f"Redis has something invalid in {name}"]
