"""The failures of --probe: which request meets one, what its client gets, and what it did then."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from cli.probe_report import table
from stub.failures import Attempt, Failures
from tests.conftest import SAMPLE_NAMES, SAMPLE_SEED, TOKEN, control_client_of, make_stub, names
from tests.contract import CREATED, assert_problem
from tests.stub.conftest import entries

OPERATIONS = ("listProjects", "createProject", "getDeployment")
SHOP = {"name": "shop"}


def failing(
    name: str, plain: Failures | None = None, **options: Any
) -> tuple[FlaskClient, Failures]:
    """A client of an app whose operations each fail once, or those that had succeeded plainly."""
    if name and plain is None:
        attempts = [Attempt(each, "", number) for number, each in enumerate(OPERATIONS)]
        plain = Failures(attempts=[replace(each, is_success=True) for each in attempts])
    failures = Failures(name, plain, 20)
    app = make_stub(seed=SAMPLE_SEED, failures=failures, **options)
    return control_client_of(app), failures


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
            yield client.open(f"/v1/{path}", method=method, json=SHOP)

    send_what_fails()
    assert [each.status_code for each in send_what_succeeds()] == [CREATED, 200, 200]
    client, failures = failing("unavailable", plain)
    send_what_fails()
    for response in send_what_succeeds():
        assert_problem(response, 503, "injected_fault")
        assert response.headers["Retry-After"] == "1"
    assert [each["fault"] for each in entries(client)] == 3 * [None] + 3 * ["unavailable"]
    assert names(client) == SAMPLE_NAMES
    assert client.post("/v1/projects", json=SHOP).status_code == CREATED
    assert client.get("/v1/deployments/dpl_failed").status_code == 200
    assert {*failures.met} == {*OPERATIONS}


def test_a_lost_response_is_performed_and_has_no_byte() -> None:
    client, _ = failing("lost-response")
    assert client.post("/v1/projects", json={}).status_code == 422
    lost = client.post("/v1/projects", json=SHOP)
    assert (lost.status_code, lost.data) == (CREATED, b"")
    assert client.post("/v1/projects", json=SHOP).status_code == 409
    assert client.get("/v1/projects").data == b""
    assert names(client) == [*SAMPLE_NAMES, "shop"]
    faults = [each["fault"] for each in entries(client)]
    assert faults == [None, "lost-response", None, "lost-response", None]


def test_a_cut_body_is_performed_and_ends_early() -> None:
    client, _ = failing("cut-body")
    cut = client.post("/v1/projects", json=SHOP)
    assert (cut.status_code, cut.data) == (CREATED, b'{"id": "pr')
    assert int(cut.headers["Content-Length"]) > 100
    listed = [client.get("/v1/projects").data for _ in range(2)]
    assert listed[0] == listed[1][:10]


def test_a_wrong_body_is_a_page_with_the_status_of_a_success() -> None:
    client, _ = failing("wrong-body")
    response = client.post("/v1/projects", json=SHOP)
    assert (response.status_code, response.mimetype) == (200, "text/html")
    assert response.data.startswith(b"<!DOCTYPE html>")
    (entry,) = entries(client)
    assert (entry["operation"], entry["fault"]) == ("createProject", "wrong-body")
    assert client.get("/v1/projects").mimetype == "text/html"
    assert names(client) == SAMPLE_NAMES


def test_a_stalled_response_comes_late_and_what_the_client_does_is_seen() -> None:
    slept: list[float] = []
    client, failures = failing("stalled", sleep=slept.append)
    assert client.get("/v1/projects").status_code == 200
    assert slept == [20]
    is_open = {"server.is_open": lambda: len(slept) < 4}
    client.get("/v1/deployments/dpl_failed", environ_overrides=is_open)
    failures.settle(OPERATIONS)
    assert told_of(failures) == {
        "listProjects": "waited 20 s",
        "createProject": "not met",
        "getDeployment": "closed after N s",
    }
    (finding,) = failures.findings()
    assert (finding.text, finding.first_name) == ("waits: listProjects after stalled", "#1")


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
    create = {"path": "/v1/projects", "method": "POST", "json": SHOP}
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
        failures = ran("unavailable", plain, run)
        again = failures.reactions["listProjects"]["again_after"]
        assert (len(again), again) == (count, sorted(again)), (plain, run)
        assert all(0 <= each < 10 for each in again)
        found = [each.text for each in failures.findings()]
        assert found == bool(count) * ["hurries: listProjects after unavailable"]
