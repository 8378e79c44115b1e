"""verify URL -- COMMAND records the traffic of a command through a proxy, and judges it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.conftest import ROOT
from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Direct, Service, learn, verify
from tests.verify.differences import on, on_projects, put
from verify.seen.service_log import PROJECTS, ServiceExchange
from verify.sources.record import Recorder

BASE = "https://service.example/api"
BODY = '{"name": "my shop", "plan": "pro"}'


class Behind(Direct):
    """A client of a service at this address."""

    base = BASE

    def open(self, request: ServiceExchange) -> tuple[ServiceExchange, None]:
        return self.send(request), None


class Proxy:
    """A recorder with a client for it."""

    def __init__(self, *changes: Any) -> None:
        self.service = Service(*changes)
        self.recorder = Recorder(Behind(self.service), TOKEN)
        self.client = self.recorder.app.test_client()

    def call(
        self, method: str, path: str, body: str = "", token: str = TOKEN, **fields: str
    ) -> TestResponse:
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.open(path, method=method, data=body or None, headers=headers)

    def create(self) -> TestResponse:
        return self.call("POST", PROJECTS, BODY, Content_Type=parts.JSON)

    def requests(self, token: str = TOKEN) -> list[str]:
        found: Any = self.call("GET", "/_stub/requests", token=token).json
        return [f"{each['method']} {each['path']} {each['status']}" for each in found["requests"]]


def test_a_request_and_its_response_are_passed_on() -> None:
    odd: dict[str, str | None] = {"Location": "http://[::1/ü", "X-Folded": "a\r\n b"}
    proxy = Proxy(on("list", headers=odd), on("created", raw=b"x" * (4 << 20)))
    done = proxy.call("GET", f"{PROJECTS}?page=%2F", X_Own="a", Connection="X-Hop", X_Hop="b")
    (received,) = proxy.service.requests
    assert (received.method, received.target) == ("GET", f"{PROJECTS}?page=%2F")
    names = {name for name, _ in received.request_fields}
    assert {"X-Own", "Authorization"} <= names
    assert not {"X-Hop", "Connection", "Host"} & names
    assert (done.status_code, done.data) == (200, proxy.service.sent[0].content)
    assert done.headers["Location"] == odd["Location"]
    assert done.headers["X-Folded"] == "a b"
    created = proxy.create()
    assert (created.status_code, len(created.data)) == (201, 4 << 20)
    assert proxy.service.requests[1].request_body == BODY.encode()
    assert proxy.call("POST", PROJECTS, "x" * ((4 << 20) + 1)).status_code == 413
    assert len(proxy.service.requests) == 2
    proxy = Proxy(on("unknown", headers={"Content-Length": "7"}))
    assert proxy.call("HEAD", PROJECTS).headers["Content-Length"] == "7"


def test_the_log_has_what_was_passed_on() -> None:
    proxy = Proxy()
    proxy.create()
    for _ in range(4):
        proxy.call("GET", "/v1/deployments/d-4")
    proxy.call("GET", PROJECTS, token="wrong-token-5")
    proxy.call("GET", PROJECTS, token="")
    log = proxy.recorder.log()
    assert log.base == BASE
    read = [(200, TOKEN)] * 4  # of equal ones the first and the last
    assert [(each.status, each.token) for each in log.exchanges] == [
        (201, TOKEN), *read, (401, "wrong-token-5"), (401, ""),
    ]  # fmt: skip
    (created,) = log.creations
    assert created.request_json == {"name": "my shop", "plan": "pro"}


def test_a_world_is_one_of_the_proxy_alone() -> None:
    proxy = Proxy()
    for world in ("job-1", "job-2", "job-2"):
        assert proxy.call("GET", PROJECTS, token=f"{TOKEN}.{world}").status_code == 200
    sent = {each.find_request_field("Authorization") for each in proxy.service.requests}
    assert sent == {f"Bearer {TOKEN}"}
    assert {each.token for each in proxy.recorder.log().exchanges} == {TOKEN}
    assert proxy.requests(token=f"{TOKEN}.job-1") == [f"GET {PROJECTS} 200"]
    assert len(proxy.requests(token=f"{TOKEN}.job-2")) == 2
    assert proxy.requests() == []


def test_a_fixture_of_tests_can_reset_a_world_and_read_its_requests() -> None:
    proxy = Proxy()
    assert proxy.call("GET", "/_stub/health", token="").json == {"status": "ok"}
    for path in (PROJECTS, "/v1/deployments/none", PROJECTS):
        proxy.call("GET", path)
    assert proxy.requests()[1] == "GET /v1/deployments/none 404"
    journal: Any = proxy.call("GET", "/_stub/requests").json
    assert journal["last"] == 3
    assert "no_deployment" in journal["requests"][1]["response"]["body"]
    assert TOKEN not in json.dumps(journal)
    for query, numbers in (
        ("path=/v1/projects", [1, 3]),
        ("method=GET&status=4xx", [2]),
        ("method=POST", []),
        ("limit=1", [1]),
        ("limit=1&after=1", [2]),
    ):
        found: Any = proxy.call("GET", f"/_stub/requests?{query}").json
        assert [each["number"] for each in found["requests"]] == numbers, query
    for query in ("before=1", "operation=listProjects"):
        assert proxy.call("GET", f"/_stub/requests?{query}").status_code == 400
    assert proxy.call("POST", "/_stub/reset").status_code == 204
    assert proxy.requests() == []
    assert len(proxy.recorder.log().exchanges) == 3  # a reset is none of the service
    for method, path in (("GET", "/_stub/requests"), ("POST", "/_stub/reset")):
        assert proxy.call(method, path, token="wrong").status_code == 401


ELSEWHERE = [
    "/", "/v2/projects", "/v1projects", "/_stub/clock", "/v1/../admin", "/v1/%2e%2e/admin",
    "/v1/%252e%252e/admin", "/v1/..%2fadmin", "/v1/..;x/admin", "/v1/..%5cadmin",
]  # fmt: skip


def test_nothing_else_is_passed_on() -> None:
    proxy = Proxy()
    for path in ELSEWHERE:
        done: Any = proxy.call("GET", path)
        assert done.status_code == 501, path
        assert "only passes on paths below /v1" in done.json["detail"]
    assert proxy.call("POST", "/_stub/reset", '{"projects": []}').status_code == 501
    assert proxy.service.requests == []


def test_the_urls_of_the_service_lead_to_the_proxy() -> None:
    url, here = f"{BASE}/v1/deployments/d-4", "http://localhost/v1/deployments/d-4"
    escaped = json.dumps({"url": url}).replace("/", "\\/").encode()
    proxy = Proxy(on("created", body=put(url=url), headers={"Location": url}),
                  on("list", raw=escaped))  # fmt: skip
    done: Any = proxy.create()
    assert (done.headers["Location"], done.json["url"]) == (here, here)
    (recorded,) = proxy.recorder.log().exchanges
    assert (recorded.find_response_field("Location"), recorded.response_json["url"]) == (url, url)
    assert proxy.call("GET", PROJECTS).json == {"url": here}


def test_a_service_that_does_not_respond_is_told() -> None:
    proxy = Proxy(on("list", failure="timed out"))
    done: Any = proxy.call("GET", PROJECTS)
    assert done.status_code == 502
    assert done.json["detail"].endswith("to the recording proxy: timed out.")
    (recorded,) = proxy.recorder.log().exchanges
    assert recorded.failure == "timed out"


# The command

SUITE = """
import pytest
from tests.wire import call

def ask(stub, path, body=b""):
    call(stub.url, path, body=body, token=stub.token)

def test_a_creation(stub):
    ask(stub, "/v1/projects")
    ask(stub, "/v1/projects", b'{"name": "my shop", "plan": "pro"}')
    for _ in range(3):
        ask(stub, "/v1/deployments/d-4")
        ask(stub, "/v1/projects")
    assert [each["status"] for each in stub.requests()] == [200, 201] + 6 * [200]

def test_errors(stub):
    assert stub.requests() == []
    ask(stub, "/v1/deployments/none")
    call(stub.url, "/v1/projects", token="wrong-token-5")
    pytest.exit("as another runner may end", 3)
"""


@pytest.mark.process
def test_a_suite_with_the_fixture_gives_the_verdicts_and_the_profile_of_a_session(
    tmp_path: Path,
) -> None:
    fixture = (ROOT / "deployment_stub/stub_fixture.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(fixture, "utf-8")
    (tmp_path / "test_it.py").write_text(SUITE, "utf-8")
    changes = (on("created", status=200), on("list", headers={"X-Region": "fra"}))
    known = learn(Service(*changes))
    service = Service(*changes, on_projects(put(sent=TOKEN)))
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))
    env = {"VERIFY_TOKEN": TOKEN, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    saved = tmp_path / "profile.json"
    done = verify(service, "--save", str(saved), "--", sys.executable, *words, env=env)
    assert done.status == 3  # that of the command
    assert "\nfinding: leaks: " in done.stdout
    assert TOKEN not in done.stdout + done.stderr + json.dumps(done.report)
    verdicts = {each["part"]: each["verdict"] for each in done.report["parts"]}
    assert [part for part in verdicts if verdicts[part] == "differs"] == [parts.POST_201]
    profile = json.loads(saved.read_text())
    for name in ("list", "deployment", "statuses"):
        assert profile[name].keys() == known[name].keys()
    assert profile["statuses"] == known["statuses"]
    assert profile["create"]["request"] == {"name": "{project.name}", "plan": "pro"}
    assert [len(service.requests), len(service.created)] == [10, 1]  # nothing beside it


@pytest.mark.process
def test_a_command_without_a_request_is_told() -> None:
    assert verify("http://127.0.0.1:1", "--", "/nowhere/command").status == 127
    done = verify("http://127.0.0.1:1", "--", "true")
    assert done.status == 2
    assert "warning: no request to /v1: does the command use STUB_URL?" in done.stderr
