"""Responses that come late, or whose connection ends; the recorded table has the other faults."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of, in_parallel, make_stub, names
from tests.contract import CREATED, assert_problem
from tests.live import running
from tests.wire import Connection, call, get, port_of


def add(client: FlaskClient, **fault: Any) -> Any:
    response = client.post("/_stub/faults", json=fault)
    assert response.status_code == 201, response.text
    return response.json


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


def test_the_path_of_a_fault_may_be_encoded_in_any_spelling() -> None:
    stub = control_client_of(make_stub())
    spellings = ("é/1", "%C3%A9%2F1", "%c3%a9%2f1", "é%2F1", "é*")
    for sent in ("%C3%A9%2F1", "%c3%a9%2f1"):
        for spelling in spellings:
            add(stub, path=f"/v1/deployments/{spelling}", status=503)
            response = stub.get(f"/v1/deployments/{sent}")
            assert_problem(response, 503, "injected_fault")


@pytest.mark.process
def test_a_drop_closes_the_connection_without_a_byte(live_url: str, own_token: str) -> None:
    fields = ("Host: localhost", f"Authorization: Bearer {own_token}")
    fields += ("Content-Type: application/json", "Content-Length: 15")
    for is_performed in (False, True):
        fault = json.dumps({"drop": True, "performed": is_performed}).encode()
        call(live_url, "/_stub/faults", body=fault, token=own_token)
        with Connection(port_of(live_url)) as client:
            client.send(get("/v1/projects", *fields, method="POST") + b'{"name":"shop"}')
            with suppress(ConnectionResetError):
                assert client.more() == b""
        projects = call(live_url, "/v1/projects", token=own_token).json["projects"]
        assert ("shop" in [each["name"] for each in projects]) is is_performed


@pytest.mark.process
def test_a_delay_ends_when_the_client_has_closed() -> None:
    with running(make_stub(), threads=1) as server:
        url = f"http://127.0.0.1:{server.effective_port}"
        call(url, "/_stub/faults", body=b'{"delay": 300}')
        with Connection(server.effective_port) as client:
            client.send(get("/v1/projects", "Host: localhost", "Authorization: Bearer dev-token"))
            client.sock.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.more()
        assert call(url, "/v1/projects").status_code == 200


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
