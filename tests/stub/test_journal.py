"""The journal of requests and responses."""

import json
import tracemalloc

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import Clock, control_client_of, seed_of
from tests.contract import STUB, V1, assert_problem
from tests.stub.conftest import coverage, entries, stub_of


def test_an_entry_has_the_whole_request_and_its_outcome(stub: FlaskClient, clock: Clock) -> None:
    clock.advance(1.5)
    stub.post("/v1/projects?a=b%20c", json={"name": "x", "team": 1}, headers={"X-Mine": "é"})
    (entry,) = entries(stub)
    assert entry.pop("ms") > 0
    response = entry.pop("response")
    assert response["body"].startswith('{"id": "prj_1"')
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


def test_the_journals_of_all_worlds_have_one_bound() -> None:
    """The oldest entries of the largest world go first, and as few as needed."""
    app = create_app(stub_options=StubOptions(journal_bytes=400_000))
    small, large, ended = (control_client_of(app, f"dev-token.{name}") for name in "abc")
    headers = {"X-Long": 7000 * "é"}
    for client, count in ((small, 10), (ended, 10)):
        for _ in range(count):
            client.get("/v1/projects", headers=headers)
    ended.post("/_stub/reset")
    for _ in range(100):
        large.get("/v1/projects", headers=headers)
    kept = [client.get("/_stub/requests").json for client in (small, large)]
    counts = [len(each["requests"]) for each in kept]
    assert (counts[0], kept[0]["dropped"]) == (10, 0)
    assert counts[1] + kept[1]["dropped"] == 100
    assert [entry["number"] for entry in kept[1]["requests"]][-1] == 100
    assert 250_000 < sum(counts) * 7_000 < 400_000  # bytes of the long header
    assert stub_of(app).judge().document(0)["dropped"] == kept[1]["dropped"]
    large.delete("/_stub/requests")
    assert large.get("/_stub/requests").json == {"requests": [], "last": 100, "dropped": 0}
    assert stub_of(app).judge().document(0)["dropped"] == kept[1]["dropped"]
    large.post("/_stub/reset")
    assert stub_of(app).judge().document(0)["dropped"] == kept[1]["dropped"]


def test_the_first_requests_of_findings_are_within_the_bound() -> None:
    app = create_app(stub_options=StubOptions(journal_bytes=300_000))
    stub = control_client_of(app)
    for number in range(100):
        stub.get(f"/v1/projects?p{number}", headers={"X-Long": 7000 * "h"})
    found = stub_of(app).judge(["unpromised"]).findings
    assert [finding.what[-3:] for finding in found] == [f"p{n}".rjust(3) for n in range(100)]
    whole = [finding.first["headers"] != {} for finding in found if finding.first]
    assert (len(whole), whole[0], whole[-1]) == (100, False, True)
    assert whole.count(True) < 30


def test_entries_are_filtered_by_operation_and_status(stub: FlaskClient) -> None:
    for path in ("/v1/projects", "/v1/deployments/x", "/v1/deployments/dpl_failed", "/nope"):
        stub.get(path)
    for query, paths in {
        "?operation=listProjects": ["/v1/projects"],
        "?status=404": ["/v1/deployments/x", "/nope"],
        "?status=404&operation=getDeployment": ["/v1/deployments/x"],
        "?status=4xx": ["/v1/deployments/x", "/nope"],
        "?status=2xx": ["/v1/projects", "/v1/deployments/dpl_failed"],
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


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"dev-token " * 3000, "*** *** "),
        (b"shop" + b"\0" * 30_000, "shop"),
        (b"x" * 4000 + b" dev-token" * 3000, "xx *** ***"),
    ],
    ids=["tokens", "zeros", "both"],
)
def test_the_beginning_of_a_long_body_is_shown_whatever_is_masked(
    stub: FlaskClient, body: bytes, shown: str
) -> None:
    stub.post("/v1/projects", data=body)
    kept = entries(stub)[-1]["body"]
    assert shown in kept
    assert "dev" not in kept


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


def test_the_bound_of_the_headers_is_in_bytes(stub: FlaskClient) -> None:
    stub.get("/v1/projects", headers={f"X-{number}": 900 * "é" for number in range(9)})
    kept = entries(stub)[0]["headers"]
    size = sum(len(text.encode()) for each in kept.items() for text in each)
    assert 8180 < size <= 8192


def test_header_fields_of_one_name_are_joined(app: Flask, stub: FlaskClient) -> None:
    @app.after_request
    def add_links(response: Response) -> Response:
        for link in ("</a>", "</b>"):
            response.headers.add("Link", link)
        return response

    stub.get("/v1/projects")
    assert entries(stub)[0]["response"]["headers"]["Link"] == "</a>, </b>"


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


def test_the_journal_can_be_read_from_its_end(stub: FlaskClient) -> None:
    for number in range(1, 8):
        stub.get(f"/v1/deployments/d{number}" if number % 2 else "/v1/projects")

    def numbers(query: str) -> list[int]:
        return [entry["number"] for entry in entries(stub, f"?{query}")]

    assert numbers("before=8&limit=3") == [5, 6, 7]
    assert numbers("before=5&limit=3") == [2, 3, 4]
    assert numbers("before=2&limit=3") == numbers("before=2") == [1]
    assert numbers("before=999999999999999&limit=1") == [7]
    assert numbers("before=6&limit=2&status=4xx") == [3, 5]
    assert numbers("before=7&limit=2&q=deployments") == [3, 5]
    assert numbers("before=6&after=2&limit=9") == [3, 4, 5]
    assert numbers("before=1") == numbers("before=0") == numbers("before=6&limit=0") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("get", [1, 4, 5, 6]),
        ("GET projects", [1]),
        ("projects?page=4", [1]),
        ("V1/PROJECTS", [1, 2, 3]),
        ("ÉTÉ", [2]),
        ("prj_1", [2, 4]),
        ("dpl_2", [2, 4, 5]),
        ("name_taken", [3]),
        ("website post", [3]),
        ("website", [3]),
        ("404", [6]),
        ("4xx", [3, 5, 6]),
        ("4XX get", [5, 6]),
        ("2xx 200", [1, 4]),
        ("4", [3, 5, 6]),
        ("40", [3, 5, 6]),
        ("04", []),
        ("4444", [6]),
        ("9xx", []),
        ("get post", []),
        ("team", []),
        ("Content-Type", []),
        (" ", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_entries_are_found_by_words(stub: FlaskClient, query: str, found: list[int]) -> None:
    stub.get("/v1/projects?page=4")
    stub.post("/v1/projects", json={"name": "Été 4", "team": 1})
    stub.post("/v1/projects", json={"name": "website"})
    stub.get("/v1/deployments/dpl_2")
    stub.get("/v1/deployments/dpl_2", headers={"Authorization": "Bearer wrong"})
    stub.get("/v1/deployments/4444")
    shown = stub.get("/_stub/requests", query_string={"q": query}).json["requests"]
    assert [entry["number"] for entry in shown] == found


def test_a_word_finds_nothing_that_is_masked(stub: FlaskClient) -> None:
    stub.get("/v1/projects?access_token=hidden&a=dev-token")
    stub.post("/v1/projects", json={"name": "the dev-token"})
    for word in ("hidden", "dev-token", "dev"):
        assert entries(stub, f"?q={word}") == []
    assert len(entries(stub, "?q=***")) == 2


@pytest.mark.parametrize(
    "query",
    ["after=-1", "after=x", "limit=", "limit=1.5", "after=%D9%A1", "status=1000", "page=1",
     "after=1234567890123456", "operation=createProjekt", "operation=", "operation=createproject",
     "operation=getDeployment%20", "operation=listProjects|createProject", "status=100",
     "status=204", "status=302", "status=600", "status=", "status=409&status=201", "status=3xx",
     "status=4040", "status=4XX", "status=4x", "before=-1", "before=x", "before=",
     "before=1&before=2", "q=", f"q={257 * 'q'}", "q=a&q=b",
     "operation=listProjects&operation=createProject"],
)  # fmt: skip
def test_an_unknown_filter_or_one_that_no_entry_can_match_is_400(
    stub: FlaskClient, query: str
) -> None:
    response = stub.get(f"/_stub/requests?{query}")
    detail = assert_problem(response, 400, "unknown_query")["detail"]
    assert "operation, status, after, before, limit, q" in detail
    assert "listProjects, createProject, getDeployment" in detail


def test_the_filters_take_the_operations_and_statuses_of_the_contract(stub: FlaskClient) -> None:
    operations = [operation for _, _, operation in V1.operations()]
    statuses = {status for operation in operations for status in operation["responses"]}
    for query in (*(f"status={each}" for each in statuses), "status=599", "status=5xx"):
        assert entries(stub, f"?{query}") == []
    declared = STUB.document["paths"]["/_stub/requests"]["get"]["parameters"]
    names = [operation["operationId"] for operation in operations]
    assert declared[0]["schema"]["enum"] == names
    for name in names:
        assert entries(stub, f"?operation={name}") == []


def response_of(stub: FlaskClient) -> dict[str, object]:
    """The response in the newest entry."""
    found: dict[str, object] = entries(stub)[-1]["response"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/v1/projects", {}),
        ("POST", "/v1/projects", {}),
        ("POST", "/v1/projects", {"Content-Type": "text/plain"}),
        ("GET", "/v1/projects", {"Authorization": ""}),
        ("DELETE", "/v1/projects", {}),
        ("GET", "/nope", {}),
    ],
)
def test_an_entry_has_the_response_as_it_was_sent(
    stub: FlaskClient, method: str, path: str, headers: dict[str, str]
) -> None:
    text = '{"name": "été"}'
    headers = {"Content-Type": "application/json", **headers}
    sent = stub.open(path, method=method, data=text, headers=headers)
    shown = {"status": sent.status_code, "headers": dict(sent.headers), "body": sent.text}
    assert response_of(stub) == shown


def test_a_response_to_head_has_no_body(stub: FlaskClient) -> None:
    sent = stub.head("/v1/projects")
    assert response_of(stub) == {"status": 200, "headers": dict(sent.headers), "body": ""}
    assert int(sent.headers["Content-Length"]) > 0


def test_a_response_is_shown_with_what_a_fault_did_to_it(stub: FlaskClient) -> None:
    gateway = {"status": 502, "body": "<p>Ö</p>", "content_type": "text/html", "retry_after": 3}
    stub.post("/_stub/faults", json=gateway)
    sent = stub.get("/v1/projects")
    assert response_of(stub) == {
        "status": 502, "headers": dict(sent.headers), "body": "<p>Ö</p>"
    }  # fmt: skip
    assert (sent.headers["Retry-After"], sent.headers["Content-Type"]) == ("3", "text/html")
    for cut in (0, 9, 10_000):
        stub.post("/_stub/faults", json={"cut": cut})
        sent = stub.get("/v1/projects")
        assert response_of(stub)["body"] == sent.text
        assert len(sent.data) == min(cut, int(sent.headers["Content-Length"]))


def test_a_response_is_shown_as_grease_varied_it(stub: FlaskClient) -> None:
    stub.put("/_stub/grease", json={"axes": ["members", "headers", "success-code"], "seed": 7})
    sent = stub.post("/v1/projects", json={"name": "a"})
    assert sent.status_code == 200
    shown = {"status": 200, "headers": dict(sent.headers), "body": sent.text}
    assert response_of(stub) == shown


def test_a_response_has_the_headers_for_a_browser() -> None:
    stub = control_client_of(create_app(stub_options=StubOptions(cors_origins=["http://a"])))
    sent = stub.get("/v1/projects", headers={"Origin": "http://a"})
    assert response_of(stub)["headers"] == dict(sent.headers)
    assert sent.headers["Access-Control-Allow-Origin"] == "http://a"


def test_of_a_long_response_only_the_beginning_is_kept() -> None:
    projects = [{"name": f"project {number}"} for number in range(5000)]
    stub = control_client_of(create_app(seed=seed_of({"projects": projects})))
    tracemalloc.start()
    try:
        for number in range(20):
            stub.post("/v1/projects", json={"name": f"another {number}"})
            sent = stub.get("/v1/projects")
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 5 * len(sent.data)
    shown = response_of(stub)
    assert shown["body"] == sent.text[:4096]
    assert shown["headers"] == dict(sent.headers)
