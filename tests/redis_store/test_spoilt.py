"""What another program wrote to Redis is no record: 503, and the log names the key."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of
from tests.redis_server import RedisServer, app_on
from tests.redis_store.conftest import assert_unavailable

pytestmark = pytest.mark.process

ID = "dpl_failed"
LIST, DEPLOYMENT = "/v1/projects", f"/v1/deployments/{ID}"
TIME = b"2026-01-05T09:00:00+00:00"


@pytest.fixture
def client(shared_redis: RedisServer, clock: Clock) -> FlaskClient:
    shared_redis.clear()
    begun = control_client_of(app_on(shared_redis.url, clock))
    assert begun.get(LIST).status_code == 200
    return control_client_of(app_on(shared_redis.url, clock))


def assert_named(client: FlaskClient, caplog: pytest.LogCaptureFixture, name: str) -> None:
    assert re.search(rf"Redis has something invalid in .*\{{project-stub:\}}:{name}\b", caplog.text)
    assert "secret" not in caplog.text
    assert "Traceback" not in caplog.text
    assert client.post("/_stub/reset").status_code == 204
    assert client.get(LIST).status_code == client.get(DEPLOYMENT).status_code == 200


@pytest.mark.parametrize(
    "row",
    [
        b"secret",
        b"\xffsecret",
        b"d\np\nsecret\nname\n{}",
        b"d\np\n2026-01-05T09:00:00\nsecret\n{}",
        b"d\np\n2026-01-05T09:00:00+01:00\nsecret\n{}",
        b"d\np\n" + TIME + b"\nsecret\nsecret",
        b"d\np\n" + TIME + b'\nsecret\n["secret"]',
        b"d\np\n" + TIME + b'\nsecret\n{"name": NaN}',
        b"d\np\n" + TIME + b"\nsecret\n" + 100_000 * b"[",
    ],
    ids=lambda row: str(row[:60]),
)
def test_a_spoilt_project(
    row: bytes, client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.client.lset("{project-stub:}:projects", 1, row)  # type: ignore[arg-type]
    assert_unavailable(client.get(LIST))
    assert_unavailable(client.get("/_stub/state"))
    assert_named(client, caplog, "projects")


@pytest.mark.parametrize(
    "stages",
    [
        b"secret",
        b"5",
        b"[]",
        b'["secret"]',
        b'[["secret"]]',
        b'[["secret", 5]]',
        b'[["queued", "secret"], ["failed", null]]',
        b'[["queued", null], ["secret", null]]',
        b'[["queued", -1], ["secret", null]]',
        b'[["queued", NaN], ["secret", null]]',
        b'[[["secret"], null]]',
        b'[["the secret\\"", null]]',
    ],
    ids=str,
)
def test_a_spoilt_deployment(
    stages: bytes, client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    row = b"\n".join([b"", ID.encode(), TIME, stages])
    shared_redis.client.hset("{project-stub:}:deployments", ID, row)
    assert_unavailable(client.get(DEPLOYMENT))
    assert_unavailable(client.get("/_stub/state"))
    assert_named(client, caplog, "deployments")


@pytest.mark.parametrize("name", ["state", "projects", "index", "deployments"])
def test_a_key_of_another_type(
    name: str, client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.client.set(f"{{project-stub:}}:{name}", "secret")
    assert_unavailable(client.post(LIST, json={"name": "a"}))
    assert_named(client, caplog, name)


@pytest.mark.parametrize(
    "text",
    [
        "secret",
        "5",
        "[]",
        '["secret", 0, 0]',
        "[null, 1e400, 0]",
        "[null, 999999999999999999, 0]",
        '["2026-01-05T09:00:00", 0, 0]',
    ],
)
def test_a_spoilt_setting_of_a_clock(
    text: str, client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.client.hset("{project-stub:}:state", "clock", text)
    requests: list[tuple[str, str, Any]] = [
        ("GET", LIST, None),
        ("GET", "/_stub/clock", None),
        ("POST", "/_stub/clock", {"advance": 1}),
        ("GET", LIST, None),
    ]
    for method, path, document in requests:
        assert_unavailable(client.open(path, method=method, json=document))
    assert_named(client, caplog, "state")


def test_a_deployment_of_a_project_that_is_not_there(
    client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    row = b"\n".join([b"nope", ID.encode(), TIME, b'[["failed", null]]'])
    shared_redis.client.hset("{project-stub:}:deployments", ID, row)
    document = {"status": "failed", "project_id": "prj_website"}
    assert_unavailable(client.put(f"/_stub/deployments/{ID}", json=document))
    assert_named(client, caplog, "deployments")
