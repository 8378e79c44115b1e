"""The journal of requests and responses."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of, make_stub
from tests.contract import CREATED, assert_problem
from tests.stub.conftest import coverage, entries, in_thread, interrupted, verdict_of


def test_an_entry_has_the_whole_request_and_its_outcome(stub: FlaskClient, clock: Clock) -> None:
    clock.advance(1.5)
    stub.post("/v1/projects?a=b%20c", json={"name": "x", "team": 1}, headers={"X-Mine": "é"})
    (entry,) = entries(stub)
    assert entry.pop("ms") > 0
    response, headers = entry.pop("response"), entry.pop("headers")
    assert response["body"].startswith('{"id": "prj_1"')
    assert headers["X-Mine"]
    assert headers["Authorization"] == "Bearer ***"
    assert entry == {
        "number": 1,
        "time": "2026-11-21T10:00:01.500Z",
        "method": "POST",
        "path": "/v1/projects",
        "query": "a=b%20c",
        "body": '{"name": "x", "team": 1}',
        "status": CREATED,
        "code": None,
        "reason": None,
        "operation": "createProject",
        "fault": None,
        "unpromised": ["createProject: query parameter a", "createProject: body member team"],
        "violations": [],
        "grease": [],
    }


def test_the_newest_entries_stay_and_the_numbers_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.journal.MAX_ENTRIES", 10)
    stub = control_client_of(make_stub())
    for number in range(15):
        stub.get(f"/v1/deployments/d{number}")
    found = stub.get("/_stub/requests").json
    assert [entry["path"] for entry in found["requests"]] == [
        f"/v1/deployments/d{number}" for number in range(5, 15)
    ]
    assert (found["dropped"], found["requests"][0]["number"]) == (5, 6)
    assert stub.delete("/_stub/requests").status_code == 204
    assert stub.get("/_stub/requests").json == {"requests": [], "last": 15, "dropped": 0}
    stub.get("/v1/projects")
    assert [entry["number"] for entry in entries(stub)] == [16]
    assert coverage(stub)["operations"]["getDeployment"]["404"] == 15


def test_the_journals_of_all_worlds_have_one_bound() -> None:
    """The oldest entries of all worlds go first, and as few as needed."""
    app = make_stub(journal_bytes=400_000)
    small, large, ended = (control_client_of(app, f"dev-token.{name}") for name in "abc")

    def use(client: FlaskClient, count: int) -> Any:
        for _ in range(count):
            client.get("/v1/projects", headers={"X-Long": 7000 * "é"})
        return client.get("/_stub/requests").json

    use(ended, 10)
    ended.post("/_stub/reset")
    assert use(small, 10)["dropped"] == 0
    kept = [use(large, 100), use(small, 1)]
    counts = [len(each["requests"]) for each in kept]
    assert (counts[1], kept[1]["dropped"]) == (1, 10)
    assert counts[0] + kept[0]["dropped"] == 100
    assert kept[0]["requests"][-1]["number"] == 100
    assert 250_000 < sum(counts) * 7_000 < 400_000  # bytes of the long header
    dropped = 10 + use(large, 0)["dropped"]
    for _ in range(2):  # also when the world has ended
        assert verdict_of(app).document(0)["dropped"] == dropped
        large.post("/_stub/reset")
    assert use(small, 15)["dropped"] == 10  # as there is room now


def test_an_incomplete_body_is_recorded_as_empty(stub: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "10"}
    response = stub.post(
        "/v1/projects", data=b"abc", content_type="application/json", environ_overrides=environ
    )
    assert_problem(response, 400, "malformed_request")
    assert [(entry["body"], entry["status"]) for entry in entries(stub)] == [("", 400)]


def test_an_entry_has_the_response_as_it_was_sent(stub: FlaskClient) -> None:
    stub.put("/_stub/grease", json={"axes": ["members", "headers", "success-code"], "seed": 7})
    for method, path, content_type, fault in (
        ("GET", "/v1/projects", None, None),
        ("POST", "/v1/projects", "application/json", None),
        ("GET", "/nope", None, None),
        ("HEAD", "/v1/projects", None, None),
        ("GET", "/v1/projects", None, {"status": 502, "body": "<p>Ö</p>", "retry_after": 3}),
        ("GET", "/v1/projects", None, {"cut": 9}),
    ):
        if fault:
            stub.post("/_stub/faults", json=fault)
        sent = stub.open(path, method=method, data='{"name": "été"}', content_type=content_type)
        shown = {"status": sent.status_code, "headers": dict(sent.headers), "body": sent.text}
        assert entries(stub)[-1]["response"] == shown


def test_the_texts_of_an_entry_are_bounded(stub: FlaskClient) -> None:
    stub.post(f"/v1/{1000 * 'é'}", data=3000 * "ü")
    members = {f"m{number:04}": 1 for number in range(3000)}
    stub.post("/v1/projects", json={"name": "a", **members})
    listed = stub.get("/v1/projects").text
    first, second, third = entries(stub)
    assert 4090 < len(first["body"].encode()) <= 4096
    assert 150 < len(first["violations"][0].encode()) <= 160
    assert second["unpromised"] == [f"createProject: body member {name}" for name in members][:100]
    assert third["response"]["body"] == listed[:4096] != listed


def test_the_beginning_of_a_long_body_is_shown_whatever_is_masked(stub: FlaskClient) -> None:
    stub.post("/v1/projects", data=b"x" * 400 + b" dev-token" * 3000)
    kept = entries(stub)[-1]["body"]
    assert "xx *** ***" in kept
    assert "dev" not in kept


def test_room_is_made_also_while_a_request_clears_the_journal() -> None:
    app = make_stub(journal_bytes=20_000)
    client = control_client_of(app)
    for line_of_the_clearing in range(40):
        for _ in range(2):
            client.get("/v1/projects", headers={"X-Long": 8_000 * "a"})

        def clear(line: int, at: int = line_of_the_clearing) -> None:
            if line == at:
                in_thread(lambda: control_client_of(app).delete("/_stub/requests"), 0.01)
            assert line < 1000, "the journals are dropped without an end"

        with interrupted(clear, "journal.py"):
            client.get("/v1/projects", headers={"X-Long": 8_000 * "a"})
