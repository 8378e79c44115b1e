"""The failures of --probe: which request meets one, what its client gets, and what it did then."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from cli.probe_report import table
from stub.failures import Attempt, Failures
from tests.conftest import (
    SAMPLE_NAMES,
    SAMPLE_SEED,
    TOKEN,
    control_client_of,
    eventually,
    make_stub,
    names,
)
from tests.contract import CREATED, assert_problem
from tests.live import serving
from tests.stub.conftest import entries
from tests.wire import Connection, call, get, port_of

OPERATIONS = ("listProjects", "createProject", "getDeployment")
SHOP = b'{"name": "shop"}'


def failing(
    name: str, plain: Failures | None = None, stall: float = 20.0
) -> tuple[FlaskClient, Failures]:
    """A client of an app whose operations each fail once, or those that had succeeded plainly."""
    if name and plain is None:
        attempts = [Attempt(each, "", number) for number, each in enumerate(OPERATIONS)]
        plain = Failures(attempts=[replace(each, is_success=True) for each in attempts])
    failures = Failures(name, plain, stall)
    app = make_stub(seed=SAMPLE_SEED, failures=failures)
    return control_client_of(app), failures


@contextmanager
def served(name: str, **more: Any) -> Iterator[tuple[str, Failures]]:
    """Its server, with two threads, of which a stall takes one."""
    client, failures = failing(name, **more)
    with serving(client.application, threads=2) as port:
        yield f"http://127.0.0.1:{port}", failures


def exchange(url: str, path: str, body: bytes = b"") -> bytes:
    """All bytes of the response, until the connection closes."""
    fields = ["Host: localhost", f"Authorization: Bearer {TOKEN}", "Connection: close"]
    fields += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with Connection(port_of(url)) as connection:
        connection.send(get(path, *fields, method="POST" if body else "GET") + body)
        with suppress(ConnectionResetError):
            while connection.more():
                pass
        return connection.unread


def test_an_outage_performs_nothing_and_leaves_what_would_fail() -> None:
    plain_client, plain = failing("")
    client, failures = plain_client, plain

    def send_what_fails() -> None:
        assert client.get("/v1/deployments/none").status_code == 404
        for name, status in (("website", 409), ("", 422)):
            assert client.post("/v1/projects", json={"name": name}).status_code == status

    def send_what_succeeds() -> Iterator[TestResponse]:
        for method, path in (
            ("POST", "projects"),
            ("GET", "projects"),
            ("GET", "deployments/dpl_failed"),
        ):
            yield client.open(f"/v1/{path}", method=method, json={"name": "shop"})

    send_what_fails()
    assert [each.status_code for each in send_what_succeeds()] == [CREATED, 200, 200]
    client, failures = failing("unavailable", plain)
    send_what_fails()
    for response in send_what_succeeds():
        assert_problem(response, 503, "injected_fault")
        assert response.headers["Retry-After"] == "1"
    assert [each["fault"] for each in entries(client)] == 3 * [None] + 3 * ["unavailable"]
    assert names(client) == SAMPLE_NAMES
    assert client.post("/v1/projects", json={"name": "shop"}).status_code == CREATED
    assert client.get("/v1/deployments/dpl_failed").status_code == 200
    assert {*failures.met} == {*OPERATIONS}


@pytest.mark.process
def test_a_lost_response_is_performed_and_has_no_byte() -> None:
    with served("lost-response") as (url, _):
        assert exchange(url, "/v1/projects", b"{}").startswith(b"HTTP/1.1 422 ")
        assert exchange(url, "/v1/projects", SHOP) == b""
        assert exchange(url, "/v1/projects", SHOP).startswith(b"HTTP/1.1 409 ")
        assert exchange(url, "/v1/projects") == b""
        assert exchange(url, "/v1/projects").startswith(b"HTTP/1.1 200 ")
        entry = call(url, "/_stub/requests").json["requests"][1]
        assert (entry["status"], entry["fault"]) == (CREATED, "lost-response")
        assert entry["response"]["body"] == ""


@pytest.mark.process
def test_a_cut_body_is_performed_and_ends_early() -> None:
    with served("cut-body") as (url, _):
        head, _, body = exchange(url, "/v1/projects", SHOP).partition(b"\r\n\r\n")
        cut, whole = (exchange(url, "/v1/projects").partition(b"\r\n\r\n")[2] for _ in range(2))
        assert cut == whole[:10]
        created = json.dumps(json.loads(whole)["projects"][-1]) + "\n"
        assert head.startswith(b"HTTP/1.1 %d " % CREATED)
        assert f"Content-Length: {len(created)}\r\n".encode() in head
        assert body == created.encode()[:10]


def test_a_wrong_body_is_a_page_with_the_status_of_a_success() -> None:
    client, _ = failing("wrong-body")
    response = client.post("/v1/projects", json={"name": "shop"})
    assert (response.status_code, response.mimetype) == (200, "text/html")
    assert response.data.startswith(b"<!DOCTYPE html>")
    (entry,) = entries(client)
    assert (entry["operation"], entry["fault"]) == ("createProject", "wrong-body")
    assert client.get("/v1/projects").mimetype == "text/html"
    assert names(client) == SAMPLE_NAMES


@pytest.mark.process
def test_a_stalled_response_comes_late_and_what_the_client_does_is_seen() -> None:
    with served("stalled", stall=0.3) as (url, failures):
        assert exchange(url, "/v1/projects").startswith(b"HTTP/1.1 200 ")
        waited = failures.met["listProjects"]
        assert waited.reaction["waited"]
        assert 0.3 <= waited.ended - waited.arrived < 10
        failures.settle(OPERATIONS)
        assert "  listProjects   waited 0.3 s\n" in table([failures])
        assert [each.text for each in failures.findings()] == ["waits: listProjects after stalled"]
    with served("stalled") as (url, failures):
        with Connection(port_of(url)) as connection:
            fields = ("Host: localhost", f"Authorization: Bearer {TOKEN}")
            connection.send(get("/v1/deployments/dpl_failed", *fields))
            eventually(lambda: "getDeployment" in failures.met)
            assert call(url, "/v1/projects", body=b"{}").status_code == 422  # by the other thread
            assert call(url, "/_stub/requests").status_code == 200
            assert connection.is_silent()
        eventually(lambda: failures.met["getDeployment"].ended > 0)
        assert failures.met["getDeployment"].reaction["closed_after"] is not None


def test_a_fault_of_the_tests_and_an_operation_that_never_succeeded_meet_no_failure() -> None:
    plain_client, plain = failing("")
    assert plain_client.get("/v1/projects").status_code == 200
    assert plain_client.get("/v1/deployments/none").status_code == 404
    client, failures = failing("cut-body", plain)
    client.post("/_stub/faults", json={"delay": 0})
    assert client.get("/v1/projects").status_code == 200
    assert client.get("/v1/projects", headers={"Prefer": "code=500"}).status_code == 500
    assert client.get("/v1/deployments/dpl_failed").status_code == 200
    assert not failures.met


LIST: dict[str, Any] = {"path": "/v1/projects"}
AGAIN: list[tuple[list[dict[str, Any]], list[dict[str, Any]], int]] = [
    # What was asked plain and in the run, and how often it is repeated.
    ([LIST], [LIST] * 3, 2),
    ([LIST] * 2, [LIST] * 2, 0),
    ([LIST] * 3, [LIST] * 2, 0),
    ([LIST], [LIST, {"path": "/v1/projects?page=2"}], 0),
    ([LIST], [LIST, {**LIST, "data": "a body"}], 0),
    ([LIST], [LIST, {**LIST, "headers": {"Authorization": f"Bearer {TOKEN}.world"}}], 0),
    ([{"path": "/v1/projects?page=2"}], [LIST] * 2, 1),
]


def ran(
    name: str,
    plain: list[dict[str, Any]],
    run: list[dict[str, Any]],
    *,
    is_broken: bool = False,
) -> Failures:
    """The failures of a run that sent these requests, after a plain one."""
    client, failures = failing("")
    for each in plain:
        client.open(**each)
    client, failures = failing(name, failures)
    for each in run:
        client.open(**each)
    failures.settle(OPERATIONS, is_broken=is_broken)
    return failures


def told_of(failures: Failures) -> dict[str, str]:
    """What the table has of each operation, with N for each number of seconds."""
    rows = re.sub(r"[0-9]+\.[0-9]+ s", "N s", table([failures])).splitlines()
    return dict(row.split(maxsplit=1) for row in rows[1:])


def repeated(
    plain: list[dict[str, Any]], run: list[dict[str, Any]], *, is_broken: bool = False
) -> list[float]:
    """After how many seconds the list was asked for again in a run, after a plain one."""
    failures = ran("unavailable", plain, run, is_broken=is_broken)
    again: list[float] = failures.reactions["listProjects"]["again_after"]
    return again


OTHER: dict[str, Any] = {"path": "/v1/deployments/none"}
# What was sent plainly and in the run, whether that broke, and what a wrong body is said to be.
TAKEN: list[tuple[list[dict[str, Any]], list[dict[str, Any]], bool, str]] = [
    ([LIST], [LIST], False, "accepted"),
    ([LIST, OTHER, LIST], [LIST, OTHER, LIST], False, "accepted"),
    ([LIST], [LIST], True, "gave up"),
    ([LIST], [LIST, LIST], False, "again after N s"),
    ([LIST, LIST], [LIST, LIST], False, "gave up"),  # it polls, perhaps once less than plainly
    ([OTHER], [OTHER], False, "not met"),
]


def test_a_wrong_body_is_accepted_if_the_run_passes_and_sends_it_once() -> None:
    for plain, run, is_broken, expected in TAKEN:
        failures = ran("wrong-body", plain, run, is_broken=is_broken)
        assert told_of(failures)["listProjects"] == expected, (plain, run)
        found = [each.text for each in failures.findings()]
        wrong = ["accepts: listProjects after wrong-body"] if expected == "accepted" else []
        assert found == wrong


# The keys of a request that got no response and of its repetitions, and what is said of these.
KEYS: list[tuple[list[str], str, bool]] = [
    (["a", "a"], "again, same key, after N s", False),
    (["a", "a", "a"], "again, same key, after N s (2 times)", False),
    (["a", "b"], "again after N s", True),
    (["a", "a", "b"], "again after N s (2 times)", True),
    (["", ""], "again after N s", True),
]


def test_a_repetition_with_the_same_idempotency_key_is_no_duplicate() -> None:
    create = {"path": "/v1/projects", "method": "POST", "json": {"name": "shop"}}
    for keys, expected, is_duplicate in KEYS:
        run = [{**create, "headers": {"Idempotency-Key": key}} for key in keys]
        failures = ran("lost-response", run[:1], run)
        assert told_of(failures)["createProject"] == expected
        found = [each.text for each in failures.findings()]
        assert found == is_duplicate * ["repeats: createProject after lost-response"]


def test_in_a_run_that_is_broken_requests_in_a_row_are_repetitions() -> None:
    for plain, run, counts in (
        ([LIST, OTHER, LIST], [LIST, LIST, OTHER], [0, 1]),
        ([LIST, LIST, OTHER, LIST], [LIST, LIST, OTHER], [0, 0]),
        ([LIST, OTHER, LIST], [LIST, OTHER, LIST], [0, 0]),
    ):
        for is_broken, count in zip((False, True), counts, strict=True):
            assert len(repeated(plain, run, is_broken=is_broken)) == count, (plain, run)


def test_a_repetition_is_a_later_request_beyond_those_of_the_plain_run() -> None:
    for plain, run, count in AGAIN:
        again = repeated(plain, run)
        assert (len(again), again) == (count, sorted(again)), (plain, run)
        assert all(0 <= each < 10 for each in again)
