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
LIST, DEPLOYMENT, CLOCK = "/v1/projects", f"/v1/deployments/{ID}", "/_stub/clock"
TIME = b"2026-01-05T09:00:00+00:00"
PROJECTS = [
    b"secret",
    b"\xffsecret",
    b"d\np\nsecret\nname\n{}",
    b"d\np\n" + TIME + b"\nsecret\nsecret",
    b"d\np\n" + TIME + b'\nsecret\n["secret"]',
    b"d\np\n" + TIME + b"\nsecret\n" + 100_000 * b"[",
]
TIMELINES = [
    b"secret",
    b"[]",
    b'["secret"]',
    b'[["secret", 5]]',
    b'[["queued", "secret"], ["failed", null]]',
    b'[["queued", null], ["secret", null]]',
    b'[["queued", -1], ["secret", null]]',
    b'[["queued", NaN], ["secret", null]]',
    b'[["the secret\\"", null]]',
]
SETTINGS = [
    "secret",
    "5",
    "[]",
    '["secret", 0, 0]',
    "[null, 1e400, 0]",
    "[null, 999999999999, 0]",
    '["2026-01-05T09:00:00", 0, 0]',
]


@pytest.fixture
def client(shared_redis: RedisServer, clock: Clock) -> FlaskClient:
    shared_redis.clear()
    begun = control_client_of(app_on(shared_redis.url, clock))
    assert begun.get(LIST).status_code == 200
    return control_client_of(app_on(shared_redis.url, clock))


@pytest.fixture(autouse=True)
def _a_reset_mends(
    client: FlaskClient, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> Any:
    yield
    assert "secret" not in caplog.text
    assert "Traceback" not in caplog.text
    assert client.post("/_stub/reset").status_code == 204
    assert client.get(LIST).status_code == client.get(DEPLOYMENT).status_code == 200


def assert_named(caplog: pytest.LogCaptureFixture, key: str) -> None:
    assert re.search(rf"Redis has something invalid in .*\{{project-stub:\}}:{key}\b", caplog.text)


def assert_seen(client: FlaskClient, caplog: pytest.LogCaptureFixture, path: str, key: str) -> None:
    """The path and the state of the stub each give 503, and the log names the key."""
    for each in (path, "/_stub/state"):
        caplog.clear()
        assert_unavailable(client.get(each))
        assert_named(caplog, key)


def test_a_spoilt_project(
    client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    for row in PROJECTS:
        shared_redis.client.lset("{project-stub:}:projects", 1, row)  # type: ignore[arg-type]
        assert_seen(client, caplog, LIST, "projects")


def test_a_spoilt_deployment(
    client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    for timeline in TIMELINES:
        row = b"\n".join([b"", ID.encode(), TIME, timeline])
        shared_redis.client.hset("{project-stub:}:deployments", ID, row)
        assert_seen(client, caplog, DEPLOYMENT, "deployments")


def test_a_deployment_of_a_project_that_is_not_there(
    client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    row = b"\n".join([b"nope", ID.encode(), TIME, b'[["failed", null]]'])
    shared_redis.client.hset("{project-stub:}:deployments", ID, row)
    document = {"status": "failed", "project_id": "prj_website"}
    assert_unavailable(client.put(f"/_stub/deployments/{ID}", json=document))
    assert_named(caplog, "deployments")


@pytest.mark.parametrize("key", ["state", "projects", "index", "deployments"])
def test_a_key_of_another_type(
    key: str, client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    shared_redis.client.set(f"{{project-stub:}}:{key}", "secret")
    assert_unavailable(client.post(LIST, json={"name": "a"}))
    assert_named(caplog, key)


def test_a_spoilt_setting_of_a_clock(
    client: FlaskClient, shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    for text in SETTINGS:
        shared_redis.client.hset("{project-stub:}:state", "clock", text)
        caplog.clear()
        for method, path in (("GET", LIST), ("GET", CLOCK), ("POST", CLOCK)):
            document = {"advance": 1} if method == "POST" else None
            assert_unavailable(client.open(path, method=method, json=document))
        assert_named(caplog, "state")
