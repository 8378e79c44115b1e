"""The journal of requests and responses."""

import json

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import Clock, control_client_of
from tests.contract import STUB, V1, assert_problem
from tests.stub.conftest import coverage, entries


def test_an_entry_has_the_whole_request_and_its_outcome(stub: FlaskClient, clock: Clock) -> None:
    clock.advance(1.5)
    stub.post("/v1/projects?a=b%20c", json={"name": "x", "team": 1}, headers={"X-Mine": "é"})
    (entry,) = entries(stub)
    assert entry.pop("ms") > 0
    headers = entry.pop("headers")
    assert headers["X-Mine"]
    assert headers["Authorization"] == "Bearer ***"
    assert entry == {
        "number": 1,
        "time": "2026-11-21T10:00:01.500Z",
        "method": "POST",
        "path": "/v1/projects",
        "query": "a=b%20c",
        "body": '{"name": "x", "team": 1}',
        "status": 201,
        "code": None,
        "reason": None,
        "operation": "createProject",
        "fault": None,
        "unpromised": ["createProject: query parameter a", "createProject: body member team"],
        "violations": [],
        "grease": [],
    }


def test_the_newest_entries_are_kept_and_the_numbers_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stub.journal.MAX_ENTRIES", 10)
    stub = control_client_of(create_app())
    for number in range(15):
        stub.get(f"/v1/deployments/d{number}")
    found = stub.get("/_stub/requests").json
    assert found["dropped"] == 5
    assert [entry["number"] for entry in found["requests"]] == list(range(6, 16))
    assert found["requests"][0]["path"] == "/v1/deployments/d5"
    assert stub.delete("/_stub/requests").status_code == 204
    assert stub.get("/_stub/requests").json == {"requests": [], "last": 15, "dropped": 0}
    stub.get("/v1/projects")
    assert [entry["number"] for entry in entries(stub)] == [16]
    assert coverage(stub)["operations"]["getDeployment"]["404"] == 15


def test_entries_are_filtered_by_operation_and_status(stub: FlaskClient) -> None:
    for path in ("/v1/projects", "/v1/deployments/x", "/v1/deployments/dpl_failed", "/nope"):
        stub.get(path)
    for query, paths in {
        "?operation=listProjects": ["/v1/projects"],
        "?status=404": ["/v1/deployments/x", "/nope"],
        "?status=404&operation=getDeployment": ["/v1/deployments/x"],
        "?status=201": [],
        "?operation=createProject": [],
    }.items():
        assert [entry["path"] for entry in entries(stub, query)] == paths


def test_each_part_of_an_entry_is_bounded(stub: FlaskClient) -> None:
    stub.post(
        f"/v1/{3000 * 'é'}?{3000 * 'q'}",
        data=3000 * "ü",
        headers={f"X-{number}": 1000 * "h" for number in range(20)},
    )
    (entry,) = entries(stub)
    assert 2040 < len(entry["path"].encode()) <= 2048
    assert len(entry["query"]) == 2048
    assert 4090 < len(entry["body"].encode()) <= 4096
    assert 7000 < len(json.dumps(entry["headers"])) < 9000
    assert len(entry["violations"][0]) <= 160


def test_all_headers_together_are_bounded(stub: FlaskClient) -> None:
    headers = {
        "X-A": 9000 * "a",
        "X-B": "b",
        **{f"X-Secret{n}-{1900 * 'n'}": "s" for n in "abcdefg"},
    }
    stub.get("/v1/projects", headers=headers)
    kept = entries(stub)[0]["headers"]
    assert "" not in kept
    assert sum(len(name) + len(value) for name, value in kept.items()) <= 8192


def test_an_entry_names_100_unpromised_members_and_the_coverage_counts_all(
    stub: FlaskClient,
) -> None:
    stub.post("/v1/projects", json={"name": "a", **{f"m{number:04}": 1 for number in range(3000)}})
    sentences = [f"createProject: body member m{number:04}" for number in range(1000)]
    assert entries(stub)[0]["unpromised"] == sentences[:100]
    *rows, others = coverage(stub)["unpromised"]
    assert [row["what"] for row in rows] == sentences
    assert others == {"what": "others", "count": 2000, "example": 1}


def test_an_incomplete_body_is_recorded_as_empty(stub: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "10"}
    response = stub.post(
        "/v1/projects", data=b"abc", content_type="application/json", environ_overrides=environ
    )
    assert_problem(response, 400, "malformed_request")
    assert [(entry["body"], entry["status"]) for entry in entries(stub)] == [("", 400)]


def test_equal_requests_are_recorded_with_their_own_bodies(stub: FlaskClient) -> None:
    for body in ('{"a": 1}', '{"b": 1}', '{"dev-token": 1}', "", '{"a": 1}'):
        stub.post("/v1/projects?q", data=body.ljust(20) if body else "")
    assert [entry["body"].strip() for entry in entries(stub)] == [
        '{"a": 1}', '{"b": 1}', '{"***": 1}', "", '{"a": 1}'
    ]  # fmt: skip
    assert [entry["unpromised"][1:] for entry in entries(stub)] == [
        ["createProject: body member a"],
        ["createProject: body member b"],
        ["createProject: body member ***"],
        [],
        ["createProject: body member a"],
    ]


def test_the_journal_can_be_followed(stub: FlaskClient) -> None:
    for number in range(1, 8):
        stub.get(f"/v1/deployments/d{number}")

    def numbers(query: str) -> list[int]:
        found = stub.get(f"/_stub/requests?{query}").json
        assert found["last"] == 7
        return [entry["number"] for entry in found["requests"]]

    assert numbers("after=0&limit=3") == [1, 2, 3]
    assert numbers("after=3&limit=3") == [4, 5, 6]
    assert numbers("after=6") == [7]
    assert numbers("limit=2") == [1, 2]
    assert numbers("after=7") == numbers("after=999999999999999") == numbers("limit=0") == []
    assert numbers("after=2&operation=getDeployment&status=404&limit=1") == [3]


@pytest.mark.parametrize(
    "query",
    ["after=-1", "after=x", "limit=", "limit=1.5", "after=%D9%A1", "status=1000", "page=1",
     "after=1234567890123456", "operation=createProjekt", "operation=", "operation=createproject",
     "operation=getDeployment%20", "operation=listProjects|createProject", "status=100",
     "status=204", "status=302", "status=600", "status=", "status=409&status=201",
     "operation=listProjects&operation=createProject"],
)  # fmt: skip
def test_an_unknown_filter_or_one_that_no_entry_can_match_is_400(
    stub: FlaskClient, query: str
) -> None:
    response = stub.get(f"/_stub/requests?{query}")
    detail = assert_problem(response, 400, "unknown_query")["detail"]
    assert "operation, status, after, limit" in detail
    assert "listProjects, createProject, getDeployment" in detail


def test_the_filters_take_the_operations_and_statuses_of_the_contract(stub: FlaskClient) -> None:
    operations = [operation for _, _, operation in V1.operations()]
    statuses = {status for operation in operations for status in operation["responses"]}
    for query in (*(f"status={each}" for each in statuses), "status=599"):
        assert entries(stub, f"?{query}") == []
    declared = STUB.document["paths"]["/_stub/requests"]["get"]["parameters"]
    names = [operation["operationId"] for operation in operations]
    assert declared[0]["schema"]["enum"] == names
    for name in names:
        assert entries(stub, f"?operation={name}") == []
