"""The journal of requests and responses."""

import tracemalloc

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import Clock, control_client_of, seed_of
from tests.contract import assert_problem
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
    large.post("/_stub/reset")
    assert stub_of(app).judge().document(0)["dropped"] == kept[1]["dropped"]
    for _ in range(15):  # for which there is room now
        small.get("/v1/projects", headers=headers)
    assert small.get("/_stub/requests").json["dropped"] == 0


def test_a_hundred_first_requests_of_findings_are_kept_whole() -> None:
    app = create_app()
    stub = control_client_of(app)
    for number in range(120):
        stub.post(f"/v1/projects?p{number}")
    found = stub_of(app).judge(["unpromised"]).findings
    whole = [finding.first["headers"] != {} for finding in found if finding.first]
    assert whole.count(True) == 99  # and that of the rejection
    assert whole == sorted(whole, reverse=True)


def test_header_fields_of_one_name_are_joined(app: Flask, stub: FlaskClient) -> None:
    @app.after_request
    def add_links(response: Response) -> Response:
        for link in ("</a>", "</b>"):
            response.headers.add("Link", link)
        return response

    stub.get("/v1/projects")
    assert entries(stub)[0]["response"]["headers"]["Link"] == "</a>, </b>"


def test_an_incomplete_body_is_recorded_as_empty(stub: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "10"}
    response = stub.post(
        "/v1/projects", data=b"abc", content_type="application/json", environ_overrides=environ
    )
    assert_problem(response, 400, "malformed_request")
    assert [(entry["body"], entry["status"]) for entry in entries(stub)] == [("", 400)]


def test_a_word_finds_nothing_that_is_masked(stub: FlaskClient) -> None:
    stub.get("/v1/projects?access_token=hidden&a=dev-token")
    stub.post("/v1/projects", json={"name": "the dev-token"})
    for word in ("hidden", "dev-token", "dev"):
        assert entries(stub, f"?q={word}") == []
    assert len(entries(stub, "?q=***")) == 2


def response_of(stub: FlaskClient) -> dict[str, object]:
    """The response in the newest entry."""
    found: dict[str, object] = entries(stub)[-1]["response"]
    return found


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


def test_the_texts_of_an_entry_are_bounded(stub: FlaskClient) -> None:
    stub.post(f"/v1/{1000 * 'é'}", data=3000 * "ü")
    members = {f"m{number:04}": 1 for number in range(3000)}
    stub.post("/v1/projects", json={"name": "a", **members})
    first, second = entries(stub)
    assert 4090 < len(first["body"].encode()) <= 4096
    assert 150 < len(first["violations"][0].encode()) <= 160
    assert second["unpromised"] == [f"createProject: body member {name}" for name in members][:100]


def test_the_beginning_of_a_long_body_is_shown_whatever_is_masked(stub: FlaskClient) -> None:
    for body, shown in (
        (b"dev-token " * 3000, "*** *** "),
        (b"x" * 400 + b" dev-token" * 3000, "xx *** ***"),
    ):
        stub.post("/v1/projects", data=body)
        kept = entries(stub)[-1]["body"]
        assert shown in kept
        assert "dev" not in kept


NEWEST = 15
# What of 15 entries is shown; each third is of a project, the others of unknown deployments.
SELECTED = [
    ("after=0&limit=3", [1, 2, 3]),
    ("after=3&limit=3", [4, 5, 6]),
    ("after=14", [15]),
    ("limit=2", [1, 2]),
    ("after=15", []),
    ("after=999999999999999", []),
    ("limit=0", []),
    ("after=2&operation=getDeployment&status=404&limit=2", [4, 5]),
    ("operation=listProjects", [3, 6, 9, 12, 15]),
    ("operation=createProject", []),
    ("status=2xx", [3, 6, 9, 12, 15]),
    ("status=201", []),
    ("status=599", []),
    ("status=4xx&limit=3", [1, 2, 4]),
    ("before=8&limit=3", [5, 6, 7]),
    ("before=2&limit=3", [1]),
    ("before=999999999999999&limit=1", [15]),
    ("before=6&limit=2&status=4xx", [4, 5]),
    ("before=7&limit=2&q=deployments", [4, 5]),
    ("before=6&after=2&limit=9", [3, 4, 5]),
    ("before=1", []),
    ("before=0", []),
    ("before=6&limit=0", []),
]


def test_entries_are_selected_by_number_operation_and_status(stub: FlaskClient) -> None:
    for number in range(1, NEWEST + 1):
        stub.get(f"/v1/deployments/d{number}" if number % 3 else "/v1/projects")
    for query, numbers in SELECTED:
        found = stub.get(f"/_stub/requests?{query}").json
        assert [entry["number"] for entry in found["requests"]] == numbers, query
        assert found["last"] == NEWEST


FOUND = [
    ("get", [1, 4, 5, 6]),
    ("GET projects", [1]),
    ("projects?page=4", [1]),
    ("V1/PROJECTS", [1, 2, 3]),
    ("ÉTÉ", [2]),
    ("prj_1", [2, 4]),
    ("dpl_2", [2, 4, 5]),
    ("name_taken", [3]),
    ("website post", [3]),
    ("404", [6]),
    ("4xx", [3, 5, 6]),
    ("4XX get", [5, 6]),
    ("2xx 200", [1, 4]),
    ("40", [3, 5, 6]),
    ("04", []),
    ("4444", [6]),
    ("9xx", []),
    ("get post", []),
    ("team", []),
    ("Content-Type", []),
    (" ", [1, 2, 3, 4, 5, 6]),
]


def test_entries_are_found_by_words(stub: FlaskClient) -> None:
    stub.get("/v1/projects?page=4")
    stub.post("/v1/projects", json={"name": "Été 4", "team": 1})
    stub.post("/v1/projects", json={"name": "website"})
    stub.get("/v1/deployments/dpl_2")
    stub.get("/v1/deployments/dpl_2", headers={"Authorization": "Bearer wrong"})
    stub.get("/v1/deployments/4444")
    for query, numbers in FOUND:
        shown = stub.get("/_stub/requests", query_string={"q": query}).json["requests"]
        assert [entry["number"] for entry in shown] == numbers, query


def test_an_unknown_filter_or_one_that_no_entry_can_match_is_400(stub: FlaskClient) -> None:
    for query in (
        "after=-1", "after=x", "limit=", "limit=1.5", "after=%D9%A1", "after=1234567890123456",
        "before=x", "before=1&before=2", "status=1000", "status=100", "status=204", "status=600",
        "status=", "status=409&status=201", "status=3xx", "status=4040", "status=4XX", "page=1",
        "operation=createProjekt", "operation=", "operation=getDeployment%20",
        "operation=listProjects|createProject", "q=", f"q={257 * 'q'}", "q=a&q=b",
    ):  # fmt: skip
        response = stub.get(f"/_stub/requests?{query}")
        detail = assert_problem(response, 400, "unknown_query")["detail"]
        assert "operation, status, after, before, limit, q" in detail
        assert "listProjects, createProject, getDeployment" in detail


def test_an_entry_has_the_response_as_it_was_sent(stub: FlaskClient) -> None:
    stub.put("/_stub/grease", json={"axes": ["members", "headers", "success-code"], "seed": 7})
    for method, path, content_type in (
        ("GET", "/v1/projects", None),
        ("POST", "/v1/projects", "application/json"),
        ("POST", "/v1/projects", "text/plain"),
        ("DELETE", "/v1/projects", None),
        ("GET", "/nope", None),
        ("HEAD", "/v1/projects", None),
    ):
        sent = stub.open(path, method=method, data='{"name": "été"}', content_type=content_type)
        shown = {"status": sent.status_code, "headers": dict(sent.headers), "body": sent.text}
        assert response_of(stub) == shown


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
    assert size < 10 * len(sent.data)  # 20 responses were sent
    assert response_of(stub)["body"] == sent.text[:4096]
