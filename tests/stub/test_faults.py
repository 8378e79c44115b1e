"""Faults: the next matching requests fail, wait, or are cut short."""

import json
import re
import threading
import time
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import (
    SAMPLE_NAMES,
    SAMPLE_SEED,
    Clock,
    control_client_of,
    eventually,
    in_parallel,
    make_stub,
    names,
)
from tests.contract import CREATED, assert_invalid, assert_problem
from tests.live import running
from tests.stub.conftest import coverage, entries, status_of, verdict_of
from tests.wire import Connection, call, get, port_of

HTML = "<html><body>502 Bad Gateway \u2013 nginx 🚀</body></html>\n"
GATEWAY = {"status": 502, "body": HTML, "content_type": "text/html"}


def add(client: FlaskClient, **fault: Any) -> Any:
    response = client.post("/_stub/faults", json=fault)
    assert response.status_code == 201, response.text
    return response.json


def waiting(client: FlaskClient) -> Any:
    return client.get("/_stub/faults").json["faults"]


def test_a_fault_is_used_as_often_as_requested(stub: FlaskClient) -> None:
    wanted = {"method": "GET", "path": "/v1/deployments/*", "times": 2.0, "status": 503.0}
    made = add(stub, **wanted, retry_after=7)
    fault = {"id": made["id"], **wanted, "retry_after": 7}
    assert made == {**fault, "remaining": 2}
    assert stub.get("/v1/projects").status_code == 200
    response = stub.get("/v1/deployments/dpl_failed")
    assert_problem(response, 503, "injected_fault")
    assert response.headers["Retry-After"] == "7"
    assert waiting(stub) == [{**fault, "remaining": 1}]
    head = stub.head("/v1/deployments/a%2Fb")
    assert_problem(head, 503, "injected_fault", head=True)
    assert waiting(stub) == []
    assert status_of(stub, "dpl_failed") == "failed"


def test_faults_are_used_in_order_and_under_v1_alone(stub: FlaskClient) -> None:
    first = add(stub, status=502, path="*", times=None)
    add(stub, status=501, path="*", times=None)
    add(stub, status=429, method="POST", times=1)
    for path in ("/v1/projects", "/v1/nowhere", "/v1/projects/"):
        assert_problem(stub.get(path), 502, "injected_fault")
    assert_problem(stub.get("/elsewhere"), 404, "not_found")
    assert stub.get("/openapi.json").status_code == 200
    assert [each["remaining"] for each in waiting(stub)] == [None, None, 1]
    for _ in range(2):
        assert stub.delete(f"/_stub/faults/{first['id']}").status_code == 204
    assert_problem(stub.get("/v1/projects"), 501, "injected_fault")
    assert stub.delete("/_stub/faults").status_code == 204
    assert names(stub) == SAMPLE_NAMES


def test_faults_have_a_bound_and_unused_ones_have_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.faults.MAX_FAULTS", 10)
    monkeypatch.setattr("stub.worlds.MAX_UNUSED_FAULTS", 10)  # as many unused faults are kept
    stub = control_client_of(make_stub())
    for _ in range(10):
        add(stub, status=503)
    assert_invalid(stub.post("/_stub/faults", json={"status": 503}), "")
    assert len(waiting(stub)) == 10
    for method, path in (("DELETE", "/_stub/faults"), ("POST", "/_stub/reset")):
        stub.open(path, method=method)
        add(stub, status=503)
        stub.open(path, method=method)
        verdict = verdict_of(stub.application).document(0)
        assert [each["count"] for each in verdict["unused_faults"]] == [10]


def test_a_request_whose_response_is_cut_is_carried_out(stub: FlaskClient) -> None:
    add(stub, method="POST", cut=5)
    response = stub.post("/v1/projects", json={"name": "a"})
    assert (response.status_code, response.data) == (CREATED, b'{"id"')
    assert int(response.headers["Content-Length"]) > 100
    assert names(stub) == [*SAMPLE_NAMES, "a"]
    add(stub, cut=0.0, status=502)
    assert stub.get("/v1/projects").data == b""
    add(stub, cut=10**6)
    assert names(stub) == [*SAMPLE_NAMES, "a"]


def test_a_delayed_request_is_carried_out_first(clock: Clock) -> None:
    waits: list[tuple[float, list[str]]] = []

    def sleep(seconds: float) -> None:
        (meanwhile,) = in_parallel([lambda: names(control_client_of(app))])
        waits.append((seconds, meanwhile))

    app = make_stub(clock=clock, sleep=sleep)
    stub = control_client_of(app)
    add(stub, delay=0.5, method="POST")
    add(stub, delay=30, method="POST", status=504)
    assert stub.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    assert_problem(stub.post("/v1/projects", json={"name": "b"}), 504, "injected_fault")
    assert_problem(stub.get("/elsewhere"), 404, "not_found")
    assert waits == [(0.5, ["a"]), (30, ["a"])]


def test_a_delay_and_a_stall_end_when_the_client_closes() -> None:
    slept: list[float] = []
    stub = control_client_of(make_stub(sleep=slept.append))
    for effect in ("delay", "stall"):
        slept.clear()
        add(stub, **{effect: 30})
        stub.get("/v1/projects", environ_overrides={"server.is_open": lambda: len(slept) < 3})
        assert len(slept) == 3
        assert sum(slept) < 1


def test_a_fault_may_name_an_operation(stub: FlaskClient) -> None:
    assert add(stub, operation="getDeployment", status=503)["operation"] == "getDeployment"
    for path in ("/v1/projects", "/v1/deployments", "/v1/deployments/a/b"):
        assert stub.get(path).status_code != 503
    assert stub.head("/v1/deployments/x").status_code == 503
    assert stub.get("/v1/deployments/x").status_code == 404


# The body of a fault, such as the HTML of a gateway


def test_a_fault_sends_its_body_and_the_operation_is_not_performed(stub: FlaskClient) -> None:
    made = add(stub, **GATEWAY, method="POST", retry_after=3)
    assert made == {"id": made["id"], **GATEWAY, "method": "POST", "retry_after": 3,
                    "times": 1, "remaining": 1}  # fmt: skip
    response = stub.post("/v1/projects", json={"name": "a"})
    assert (response.status_code, response.text) == (502, HTML)
    assert dict(response.headers) == {
        "Content-Type": "text/html",
        "Content-Length": str(len(HTML.encode())),
        "Cache-Control": "no-store",
        "Retry-After": "3",
    }
    (entry,) = entries(stub)
    shown = (entry["operation"], entry["status"], entry["code"], entry["fault"])
    assert shown == ("createProject", 502, None, made["id"])
    assert coverage(stub)["operations"]["createProject"]["other"] == 1
    assert names(stub) == SAMPLE_NAMES
    add(stub, **GATEWAY)
    head = stub.head("/v1/projects")
    assert (head.status_code, head.data, head.content_length) == (502, b"", len(HTML.encode()))


def test_a_body_without_a_type_is_plain_text_and_can_be_cut(stub: FlaskClient) -> None:
    for body, cut in (("", 1), ("a\r\nb\0", 10**6), (10_000 * "€", 7)):
        add(stub, status=405, body=body, cut=cut)
        response = stub.get("/v1/projects")
        assert (response.status_code, response.data) == (405, body.encode()[:cut])
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert response.headers["Content-Length"] == str(len(body.encode()))
        assert response.headers["Allow"] == "GET, HEAD, POST"  # which each 405 has


def test_a_fault_with_a_body_may_have_any_status(stub: FlaskClient) -> None:
    page = {"status": 200, "body": HTML, "content_type": "text/html"}
    add(stub, **page, operation="createProject")
    response = stub.post("/v1/projects", json={"name": "a"})
    shown = (response.status_code, response.text, response.content_type)
    assert shown == (200, HTML, "text/html")
    assert names(stub) == SAMPLE_NAMES
    add(stub, status=307, body="", headers={"Location": "/v1/projects"})
    response = stub.get("/v1/deployments/x")
    assert (response.status_code, response.headers["Location"]) == (307, "/v1/projects")


HEADERS = {
    "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT",
    "X-RateLimit-Remaining": "0",
    "cache-control": "max-age=60",
    "Date": "Wed, 21 Oct 2026 07:27:00 GMT",
    "X-Empty": "",
}


@pytest.mark.parametrize(
    "effect",
    [{}, {"status": 429}, {"status": 204}, {"status": 304}, {**GATEWAY}, {"cut": 2}],
    ids=str,
)
def test_the_headers_of_a_fault_stand_in_place_of_those_of_the_response(
    stub: FlaskClient, effect: dict[str, Any]
) -> None:
    made = add(stub, **effect, headers=HEADERS, retry_after=3)
    assert made["headers"] == HEADERS
    response = stub.get("/v1/projects")
    assert response.status_code == effect.get("status", 200)
    for name, value in HEADERS.items():
        assert response.headers.getlist(name) == [value]
    (entry,) = entries(stub)
    assert (entry["fault"], entry["response"]["headers"]["Retry-After"]) == (
        made["id"],
        HEADERS["Retry-After"],
    )


@pytest.mark.process
def test_a_response_without_a_body_ends_where_the_next_begins(
    live_url: str, own_token: str
) -> None:
    fields = ("Host: localhost", f"Authorization: Bearer {own_token}")
    for status in (204, 304):
        fault = {"status": status, "headers": {"ETag": '"1"'}}
        call(live_url, "/_stub/faults", body=json.dumps(fault).encode(), token=own_token)
        with Connection(port_of(live_url)) as client:
            client.send(get("/v1/projects", *fields))
            head = client.until(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d " % status)
            assert b'\r\nEtag: "1"\r\n' in head
            assert not re.search(rb"(?i)\r\n(content-|transfer-encoding)", head)
            while client.more():
                pass
            assert client.unread == b""


def test_grease_leaves_the_body_of_a_fault_and_its_type_alone() -> None:
    axes = ("members", "json-text", "headers", "error-text", "media-type")
    stub = control_client_of(make_stub(seed=SAMPLE_SEED, grease=axes))
    for body, content_type in (
        (HTML, 'multipart/mixed; boundary="a b:c"'),
        ('{"detail": "x", "code": "y"}', "application/json;charset=utf-8 ; q=1"),
        ("", f"a/{126 * 'b'}"),
    ):
        add(stub, status=503, body=body, content_type=content_type)
        response = stub.get("/v1/projects")
        assert (response.status_code, response.text) == (503, body)
        assert response.headers.getlist("Content-Type") == [content_type]
        assert {*response.headers.keys()} == {"Content-Type", "Content-Length", "Cache-Control"}
        assert entries(stub)[-1]["grease"] == []


# What is invalid of a fault, and at which places
INVALID: list[tuple[Any, list[str]]] = [
    ({"status": 503, "dealy": 1}, ["/dealy"]),
    ({"status": 503, "operation": "createProject", "method": "POST"}, [""]),
    ({"status": 503, "operation": "createProject", "path": "/v1/*"}, [""]),
    ({"body": "x"}, ["/body", ""]),
    ({"status": 500, "body": 10_001 * "x"}, ["/body"]),
    ({"path": "", "status": 500, "content_type": "text/html"}, ["/path", "/content_type"]),
    ({"cut": 1, "content_type": "x", "body": 1}, ["/body", "/content_type", "/body"]),
    ({"status": 500, "body": "", "content_type": "a/b\r\nX-A: 1"}, ["/content_type"]),
    ({"path": "/projects", "status": 199, "times": 0}, ["/path", "/status", "/times"]),
    ({"status": 307, "headers": {"Location": "/v1/projects"}}, ["/status"]),
    ({"status": 204, "body": ""}, ["/status"]),
    ({"status": 304.0, "body": "x"}, ["/status"]),
    ({"status": "200", "body": "x"}, ["/status"]),
    ({"headers": {}}, ["/headers"]),
    ({"headers": ["Retry-After: 1"]}, ["/headers"]),
    ({"headers": {f"X-{number}": "" for number in range(21)}}, ["/headers"]),
    ({"drop": True, "headers": {"X-A": "1"}}, [""]),
    ({"drop": True, "status": 503}, [""]),
    ({"drop": True, "cut": 1, "retry_after": 1}, [""]),
    ({"status": 503, "performed": True}, ["/performed"]),
    ({"drop": 1}, ["/drop"]),
    ({"drop": False, "stall": 301}, ["/drop", "/stall"]),
    ({"cut": 0.5, "delay": 30.1, "retry_after": True}, ["/cut", "/delay", "/retry_after"]),
]
# Header fields, each of which is invalid
INVALID_FIELDS: list[dict[str, Any]] = [
    {"Retry-After": 1, "X-A": "a\r\nX-B: 1", "X-C": "ü", "X-D": " a", "X-E": 1001 * "a"},
    {"": "1", "a b": "1", "a:": "1", "a\n": "1", "ü": "1", 65 * "a": "1"},
    {"content-length": "1", "Content-Type": "a/b", "TRANSFER-ENCODING": "chunked"},
    {"Connection": "close", "Upgrade": "h2c", "Proxy-Authenticate": "Basic", "Trailer": "X-A"},
]


def test_an_invalid_fault_is_not_added(stub: FlaskClient) -> None:
    for fault, pointers in INVALID:
        assert_invalid(stub.post("/_stub/faults", json=fault), *pointers)
    for fields in INVALID_FIELDS:
        pointers = [f"/headers/{name}" for name in sorted(fields)]
        assert_invalid(stub.post("/_stub/faults", json={"headers": fields}), *pointers)
    assert waiting(stub) == []
    (error,) = assert_invalid(stub.post("/_stub/faults", json={"status": 201}), "/status")
    assert "from 400 to 599" in error["detail"]
    assert "create.status" in error["detail"]


@pytest.mark.process
@pytest.mark.parametrize("is_performed", [False, True])
def test_a_drop_closes_the_connection_without_a_byte(
    live_url: str, own_token: str, is_performed: bool
) -> None:
    def ask(path: str, document: Any = None) -> Any:
        body = b"" if document is None else json.dumps(document).encode()
        return call(live_url, path, body=body, token=own_token)

    shown = ask("/_stub/faults", {"drop": True, "performed": is_performed}).json
    assert (shown["drop"], shown["performed"]) == (True, is_performed)
    with Connection(port_of(live_url)) as client:
        fields = ("Host: localhost", f"Authorization: Bearer {own_token}")
        fields += ("Content-Type: application/json", "Content-Length: 15")
        client.send(get("/v1/projects", *fields, method="POST") + b'{"name":"shop"}')
        with suppress(ConnectionResetError):
            assert client.more() == b""
    projects = ask("/v1/projects").json["projects"]
    assert ("shop" in [each["name"] for each in projects]) is is_performed
    entry, _ = ask("/_stub/requests").json["requests"]
    status = CREATED if is_performed else 0
    assert (entry["status"], entry["fault"]) == (status, shown["id"])
    assert entry["response"] == {"status": status, "headers": {}, "body": ""}
    counts = ask("/_stub/coverage").json["operations"]["createProject"]
    assert [counts[str(CREATED)], counts["other"]] == [is_performed, not is_performed]
    filtered = ask("/_stub/requests?status=0").json["requests"]
    assert len(filtered) == (not is_performed)


@pytest.mark.process
def test_a_stall_ends_when_the_client_closes(live_url: str, own_token: str) -> None:
    def ask(path: str, body: bytes = b"") -> Any:
        return call(live_url, path, body=body, token=own_token)

    ask("/_stub/faults", b'{"stall": 0.1}')
    started = time.monotonic()
    assert ask("/v1/projects").status_code == 200
    assert time.monotonic() - started >= 0.1
    ask("/_stub/faults", b'{"stall": 300, "times": 40}')
    for _ in range(40):  # which are more than there are threads
        with Connection(port_of(live_url)) as client:
            fields = ("Host: localhost", f"Authorization: Bearer {own_token}")
            client.send(get("/v1/projects", *fields))
    eventually(lambda: len(ask("/_stub/requests").json["requests"]) == 41)


@pytest.mark.process
def test_requests_that_wait_hold_up_no_others() -> None:
    waiting, is_over = threading.Semaphore(0), threading.Event()

    def sleep(seconds: float) -> None:
        waiting.release()
        is_over.wait(60)

    app = make_stub(sleep=sleep)
    with running(app, threads=1) as server, ExitStack() as stack:
        port = server.effective_port
        url = f"http://127.0.0.1:{port}"
        call(url, "/_stub/faults", body=b'{"delay": 30, "times": 20}')
        slow = [stack.enter_context(Connection(port)) for _ in range(20)]
        for client in slow:
            client.send(get("/v1/projects", "Host: localhost", "Authorization: Bearer dev-token"))
        for _ in slow:
            assert waiting.acquire(timeout=20)
        assert call(url, "/v1/projects").status_code == 200
        is_over.set()
        assert [client.reply().status_code for client in slow] == 20 * [200]
        eventually(lambda: len(server.dispatcher.threads) == 1)


@pytest.mark.process
@pytest.mark.parametrize(
    ("version", "method", "size", "expected"),
    [("1.0", "GET", 5, 5), ("1.1", "GET", 9999, None), ("1.1", "HEAD", 0, 0)],
    ids=["HTTP/1.0", "more than there is", "HEAD"],
)
def test_a_cut_response_ends_its_connection(
    live_url: str, own_token: str, version: str, method: str, size: int, expected: int | None
) -> None:
    added = call(live_url, "/_stub/faults", body=b'{"cut": %d}' % size, token=own_token)
    assert added.status_code == 201
    fields = ["Host: localhost", f"Authorization: Bearer {own_token}"]
    fields += ["Connection: keep-alive"] if version == "1.0" else []
    with Connection(port_of(live_url)) as client:
        client.send(get("/v1/deployments/dpl_failed", *fields, version=version, method=method))
        head = client.until(b"\r\n\r\n")
        while client.more():
            pass
    length = re.search(rb"Content-Length: ([0-9]+)", head)
    assert length
    assert int(length[1]) > 50
    assert head.count(b"Connection: ") == 1
    assert len(client.unread) == (int(length[1]) if expected is None else expected)
