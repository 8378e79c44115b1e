"""verify URL -- COMMAND records the traffic of a command through a proxy, and judges it."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import ROOT
from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Direct, Service, Verified, listening, save, verify
from tests.verify.differences import on, on_list, on_projects, put
from verify.exchange import Exchange
from verify.record import Recorder

pytestmark = pytest.mark.process

BASE = "https://service.example/api"
PROJECTS = "/v1/projects"
BODY = '{"name": "my shop", "plan": "pro"}'


class Behind(Direct):
    """A client of a service at this address, which times out with a 504."""

    base = BASE

    def send(self, request: Exchange) -> Exchange:
        response = super().send(request)
        return replace(response, failure="timed out" if response.status == 504 else "")


class Proxy:
    """A recorder with a client for it."""

    def __init__(self, *changes: Any) -> None:
        self.service = Service(*changes)
        self.recorder = Recorder(Behind(self.service), TOKEN)
        self.client: FlaskClient = self.recorder.app.test_client()

    def call(
        self, method: str, path: str, body: str = "", token: str = TOKEN, **fields: str
    ) -> TestResponse:
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.open(path, method=method, data=body or None, headers=headers)

    def requests(self, query: str = "", token: str = TOKEN) -> list[str]:
        found = self.call("GET", f"/_stub/requests{query}", token=token).json
        assert found
        return [f"{each['method']} {each['path']} {each['status']}" for each in found["requests"]]


def test_a_request_and_its_response_are_passed_on() -> None:
    proxy = Proxy(on_list(lambda found: found[:1]), on("list", headers={"X-Total": "4"}))
    done = proxy.call("GET", f"{PROJECTS}?page=%2F", X_Own="a", Connection="X-Hop", X_Hop="b")
    (received,) = proxy.service.requests
    assert (received.method, received.target) == ("GET", f"{PROJECTS}?page=%2F")
    names = {name for name, _ in received.headers}
    assert {"X-Own", "Authorization"} <= names
    assert not {"X-Hop", "Connection", "Host"} & names
    assert done.data == proxy.service.sent[0].data()
    assert done.headers["X-Total"] == "4"
    created = proxy.call("POST", PROJECTS, BODY, Content_Type=parts.JSON)
    assert (created.status_code, proxy.service.requests[1].body) == (201, BODY.encode())


def test_the_log_has_what_was_passed_on() -> None:
    proxy = Proxy()
    proxy.call("POST", PROJECTS, BODY, Content_Type=parts.JSON)
    for _ in range(4):
        proxy.call("GET", "/v1/deployments/d-4")
    proxy.call("GET", PROJECTS, token="wrong-token-5")
    proxy.call("GET", PROJECTS, token="")
    log = proxy.recorder.log()
    assert log.base == BASE
    assert [(each.status, each.token) for each in log.exchanges] == [
        (201, TOKEN),
        (200, TOKEN),
        (200, TOKEN),
        (200, TOKEN),  # of equal ones the first and the last
        (200, TOKEN),
        (401, "wrong-token-5"),
        (401, ""),
    ]
    (created,) = log.creations
    assert created.sent_json == {"name": "my shop", "plan": "pro"}


def test_a_world_is_one_of_the_proxy_alone() -> None:
    proxy = Proxy()
    for world in ("job-1", "job-2", "job-2"):
        assert proxy.call("GET", PROJECTS, token=f"{TOKEN}.{world}").status_code == 200
    sent = {each.header("Authorization") for each in proxy.service.requests}
    assert sent == {f"Bearer {TOKEN}"}
    assert {each.token for each in proxy.recorder.log().exchanges} == {TOKEN}
    assert proxy.requests(token=f"{TOKEN}.job-1") == [f"GET {PROJECTS} 200"]
    assert len(proxy.requests(token=f"{TOKEN}.job-2")) == 2
    assert proxy.requests() == []


def test_a_fixture_of_tests_can_reset_a_world_and_page_through_its_requests() -> None:
    proxy = Proxy()
    assert proxy.call("GET", "/_stub/health", token="").json == {"status": "ok"}
    for path in (PROJECTS, "/v1/deployments/none", PROJECTS):
        proxy.call("GET", path)
    assert proxy.requests("?after=1&limit=1") == ["GET /v1/deployments/none 404"]
    assert proxy.requests("?operation=getDeployment") == ["GET /v1/deployments/none 404"]
    entry = proxy.call("GET", "/_stub/requests?after=1&limit=1").json
    assert entry
    assert entry["last"] == 3
    assert entry["requests"][0]["code"] == "no_deployment"
    assert TOKEN not in json.dumps(entry)
    assert proxy.call("POST", "/_stub/reset").status_code == 204
    assert proxy.requests() == []
    assert len(proxy.recorder.log().exchanges) == 3  # a reset is none of the service
    for method, path in (("GET", "/_stub/requests"), ("POST", "/_stub/reset")):
        assert proxy.call(method, path, token="wrong").status_code == 401


ELSEWHERE = [
    "/", "/v2/projects", "/v1projects", "/openapi.json", "/_stub/clock", "/v1/../admin",
    "/v1/%2e%2e/admin", "/v1/%252e%252e/admin", "/v1/..%2fadmin", "/v1/..;x/admin",
    "/v1/..%5cadmin",
]  # fmt: skip


def test_nothing_else_is_passed_on() -> None:
    proxy = Proxy()
    for path in ELSEWHERE:
        done = proxy.call("GET", path)
        assert done.status_code == 501, path
        assert done.json
        assert "paths below /v1 alone" in done.json["detail"]
    assert proxy.call("POST", "/_stub/reset", '{"projects": []}').status_code == 501
    assert proxy.service.requests == []


def test_the_urls_of_the_service_lead_to_the_proxy() -> None:
    url = f"{BASE}/v1/deployments/d-4"
    escaped = json.dumps({"url": url}).replace("/", "\\/").encode()
    proxy = Proxy(on("created", body=put(url=url), headers={"Location": url}))
    done = proxy.call("POST", PROJECTS, BODY, Content_Type=parts.JSON)
    assert done.headers["Location"] == "http://localhost/v1/deployments/d-4"
    assert done.json
    assert done.json["url"] == "http://localhost/v1/deployments/d-4"
    (recorded,) = proxy.recorder.log().exchanges
    assert (recorded.header("Location"), recorded.json["url"]) == (url, url)
    proxy = Proxy(on("list", raw=escaped))
    assert proxy.call("GET", PROJECTS).json == {"url": "http://localhost/v1/deployments/d-4"}


def test_odd_header_fields_are_passed_on() -> None:
    headers: dict[str, str | None] = {"Location": "http://[::1/ü", "X-Folded": "a\r\n b"}
    done = Proxy(on("list", headers=headers)).call("GET", PROJECTS)
    assert (done.status_code, done.headers["Location"]) == (200, "http://[::1/ü")
    assert done.headers["X-Folded"] == "a b"


def test_a_service_that_does_not_respond_is_told() -> None:
    proxy = Proxy(on("list", status=504))
    done = proxy.call("GET", PROJECTS)
    assert done.status_code == 502
    assert done.json
    assert done.json["detail"].endswith("to the recording proxy: timed out.")
    (recorded,) = proxy.recorder.log().exchanges
    assert recorded.failure == "timed out"


def test_bodies_are_whole_up_to_a_limit() -> None:
    size = 4 << 20
    proxy = Proxy(on("list", raw=b"x" * size))
    assert len(proxy.call("GET", PROJECTS).data) == size
    proxy.call("POST", PROJECTS, "x" * size)
    assert len(proxy.service.requests[-1].body) == size
    assert proxy.call("POST", PROJECTS, "x" * (size + 1)).status_code == 413
    assert len(proxy.service.requests) == 2


# The command

TESTS = """
import json, os, sys, urllib.error, urllib.request

def call(method, path, body=None, token=os.environ["STUB_TOKEN"]):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    url = os.environ["STUB_URL"] + path
    request = urllib.request.Request(url, body and body.encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read())
    except urllib.error.HTTPError as error:
        error.close()

world = os.environ["STUB_TOKEN"] + ".job-1"
call("GET", "/v1/projects")
created = call("POST", "/v1/projects", sys.argv[1], world)
for _ in range(3):
    call("GET", "/v1/deployments/d-4", None, world)
    call("GET", "/v1/projects")
call("GET", "/v1/deployments/none")
call("GET", "/v1/projects", None, "wrong-token-5")
sys.exit(int(sys.argv[2]))
"""


def record(service: Service, *options: str, status: int = 0, **more: Any) -> Verified:
    """A run with a command that has this status."""
    command = (sys.executable, "-c", TESTS, BODY, str(status))
    return verify(service, *options, "--", *command, **more)


def test_the_verdicts_and_the_profile_are_those_of_a_session() -> None:
    changes = (on("created", status=200), on("list", headers={"X-Region": "fra"}))
    known = save(Service(*changes)).profile
    service = Service(*changes)
    done = record(service, saves=True)
    assert (done.status, done.found) == (0, parts.differs(parts.POST_201))
    for name in ("list", "deployment", "statuses"):
        assert done.profile[name].keys() == known[name].keys()
    assert done.profile["statuses"] == known["statuses"]
    assert done.profile["create"]["request"] == {"name": "{project.name}", "plan": "pro"}
    assert [len(service.requests), len(service.created)] == [10, 1]  # nothing beside it


def test_the_exit_status_is_that_of_the_command_or_of_the_findings() -> None:
    for status, exit_status in ((3, 3), (0, 1)):
        done = record(Service(on_projects(put(sent=TOKEN))), status=status)
        assert (done.status, "finding: leaks: " in done.stdout) == (exit_status, True)
        assert TOKEN not in done.stdout + done.stderr + json.dumps(done.report)


def test_a_command_without_a_request_is_told() -> None:
    done = verify("http://127.0.0.1:1", "--", "/nowhere/command")
    assert done.status == 127
    done = verify("http://127.0.0.1:1", "--", "true")
    assert done.status == 2
    assert "warning: no request to /v1: does the command use STUB_URL?" in done.stderr


SUITE = """
from urllib.request import Request, urlopen

def test_a_list(stub):
    urlopen(Request(stub.url + "/v1/projects", headers=stub.headers)).close()
    assert [each["status"] for each in stub.requests()] == [200]

def test_another(stub):
    assert stub.requests() == []
"""


@pytest.mark.slow
def test_a_suite_with_the_fixture_runs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        (ROOT / "docs/fixtures/stub_fixture.py").read_text("utf-8"), "utf-8"
    )
    (tmp_path / "test_it.py").write_text(SUITE, "utf-8")
    service = Service()
    with listening(service) as url:
        pytest_words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))
        done = verify(url, "--", sys.executable, *pytest_words)
    assert done.status == 0, done
    assert len(service.requests) == 1
