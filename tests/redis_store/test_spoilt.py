"""What another program wrote to Redis is no record: 503, and the log names the key."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of
from tests.redis_server import RedisServer, app_on
from tests.redis_store.conftest import assert_unavailable

pytestmark = pytest.mark.process

SET = "{project-stub:}:"
LIST, DEPLOYMENT, STATE = "/v1/projects", "/v1/deployments/dpl_failed", "/_stub/state"
# A command that spoils a key, and the requests that need it.
SPOILT: list[tuple[list[Any], list[str]]] = [
    (["SET", f"{SET}state", "secret"], [LIST, DEPLOYMENT, STATE]),
    (["SET", f"{SET}projects", "secret"], [LIST, STATE]),
    (["SET", f"{SET}deployments", "secret"], [DEPLOYMENT, STATE]),
    (["HSET", f"{SET}state", "clock", "secret"], [LIST, "/_stub/clock"]),
    (["HSET", f"{SET}state", "clock", "5"], [LIST, "/_stub/clock"]),
    (["LSET", f"{SET}projects", "1", b"\xffsecret"], [LIST, STATE]),
    (["LSET", f"{SET}projects", "1", '["secret"]'], [LIST, STATE]),
    (["HSET", f"{SET}deployments", "dpl_failed", "secret"], [DEPLOYMENT, STATE]),
    (["HSET", f"{SET}deployments", "dpl_failed", "5"], [DEPLOYMENT, STATE]),
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
