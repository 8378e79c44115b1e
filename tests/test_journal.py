"""The journal and the coverage: what was asked, what nothing promises, and never a token."""

import json
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from stub import coverage_table
from tests.conftest import Clock, assert_problem, control_client_of, counting_ids, in_parallel
from tests.contract import V1


@pytest.fixture
def stub(app: Flask) -> FlaskClient:
    return control_client_of(app)


def entries(client: FlaskClient, query: str = "") -> list[Any]:
    found: list[Any] = client.get(f"/_stub/requests{query}").json["requests"]
    return found


def coverage(client: FlaskClient) -> Any:
    return client.get("/_stub/coverage").json


def test_an_entry_tells_the_whole_request_and_its_answer(stub: FlaskClient, clock: Clock) -> None:
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
        "operation": "createProject",
        "fault": None,
        "unpromised": ["createProject: query parameter a", "createProject: body member team"],
        "violations": [],
        "grease": [],
    }


@pytest.mark.parametrize(
    ("method", "path", "authorization", "expected"),
    [
        ("GET", "/v1/projects", "Bearer dev-token", ("listProjects", 200, None, [], [])),
        ("HEAD", "/v1/projects", "Bearer dev-token",
         ("listProjects", 200, None, ["listProjects: HEAD"], [])),
        ("GET", "/v1/deployments/x", "Bearer dev-token",
         ("getDeployment", 404, "deployment_not_found", [], [])),
        ("GET", "/v1/deployments/x", "Bearer wrong",
         ("getDeployment", 401, "token_invalid", [], [])),
        ("GET", "/v1/projects", "",
         ("listProjects", 401, "token_missing", [], ["listProjects: no Authorization header"])),
        ("GET", "/v1/projects", "bearer wrong",
         ("listProjects", 401, "token_invalid", [],
          ["listProjects: an Authorization header of another form"])),
        ("DELETE", "/v1/projects", "Bearer dev-token",
         (None, 405, "method_not_allowed", [], ["no operation: DELETE /v1/projects"])),
        ("GET", "/v2/projects", "Bearer dev-token",
         (None, 404, "not_found", [], ["no operation: GET /v2/projects"])),
        ("GET", "//v1/projects", "Bearer dev-token",
         (None, 404, "not_found", [], ["no operation: GET //v1/projects"])),
        ("GET", "/v1/a%0ab", "",
         (None, 401, "token_missing", [],
          ["no operation: no Authorization header", "no operation: GET /v1/a?b"])),
    ],
)  # fmt: skip
def test_what_is_leaned_on_and_what_is_broken_is_told(
    stub: FlaskClient, method: str, path: str, authorization: str, expected: tuple[Any, ...]
) -> None:
    environ = {"HTTP_AUTHORIZATION": authorization, "PATH_INFO": unquote(path)}
    stub.open("/", method=method, environ_overrides=environ)
    (entry,) = entries(stub)
    names = ("operation", "status", "code", "unpromised", "violations")
    assert tuple(entry[name] for name in names) == expected


def test_what_is_not_of_the_interface_is_not_recorded(app: Flask, stub: FlaskClient) -> None:
    for path in ("/_stub/health", "/_stub/nope", "/openapi.json", "/", "/_stub/coverage"):
        stub.get(path)
        app.test_client().get(path)
    assert entries(stub) == []
    assert coverage(stub)["met"] == 0


def test_the_newest_1000_are_kept_and_numbers_run_on(stub: FlaskClient) -> None:
    for number in range(1005):
        stub.get(f"/v1/deployments/d{number}")
    answer = stub.get("/_stub/requests").json
    assert answer["dropped"] == 5
    assert [entry["number"] for entry in answer["requests"]] == list(range(6, 1006))
    assert answer["requests"][0]["path"] == "/v1/deployments/d5"
    assert stub.delete("/_stub/requests").status_code == 204
    assert stub.get("/_stub/requests").json == {"requests": [], "dropped": 0}
    stub.get("/v1/projects")
    assert [entry["number"] for entry in entries(stub)] == [1006]
    assert coverage(stub)["operations"]["getDeployment"]["404"] == 1005


def test_filters_choose_by_operation_and_status(stub: FlaskClient) -> None:
    for path in ("/v1/projects", "/v1/deployments/x", "/v1/deployments/dpl_failed", "/nope"):
        stub.get(path)
    for query, paths in {
        "?operation=listProjects": ["/v1/projects"],
        "?status=404": ["/v1/deployments/x", "/nope"],
        "?status=404&operation=getDeployment": ["/v1/deployments/x"],
        "?operation=nope": [],
    }.items():
        assert [entry["path"] for entry in entries(stub, query)] == paths


def test_parts_are_bounded(stub: FlaskClient) -> None:
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


SECRET = "s3cret/t0k~n+="
SPELLED = [
    SECRET,
    "".join(f"%{ord(char):02X}" for char in SECRET),
    "".join(f"%25{ord(char):02x}" for char in SECRET),
    "".join(f"\\u{ord(char):04x}" for char in SECRET),
    SECRET.replace("/", "\\/"),
]


@pytest.mark.parametrize("spelled", SPELLED)
def test_no_token_is_in_any_part(spelled: str) -> None:
    client = control_client_of(create_app(tokens=[SECRET], strict=True), SECRET)
    padding = 2040 * "p"
    for path in (f"/v1/deployments/{spelled}", f"/v1/{spelled}?{spelled}={spelled}&x"):
        client.get(path, headers={"X-Token": spelled, "Cookie": f"a={spelled}"})
    client.get(f"/v1/{padding}{spelled}?{padding}{spelled}")
    client.post("/v1/projects", data=f'{{"name": "{spelled}", "{spelled}": 1}}')
    body = f'{{"name": "a", "x{spelled}": 1}}'
    client.post("/v1/projects", data=body, content_type="application/json")
    client.post("/v1/projects", data=4090 * "p" + spelled)
    client.open("/v1/projects", method=SECRET.replace("/", "-").upper())
    shown = client.get("/_stub/requests").text + client.get("/_stub/coverage").text
    for each in (*SPELLED, json.dumps(spelled)[1:-1], "s3cr"):
        assert each not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "headers",
    [
        {"Proxy-Authorization": "Basic tr1ed"},
        {"X-Api-Key": "tr1ed"},
        {"X-Auth-Token": "tr1ed"},
        {"Cookie": "session=tr1ed"},
        {"Bearer": "tr1ed"},
        {"Dev-Token": "x"},
        {"X-Dev-Token-2": "x"},
    ],
)
def test_no_header_shows_a_secret(stub: FlaskClient, headers: dict[str, str]) -> None:
    for _ in range(2):
        stub.get("/v1/projects", headers=headers)
        shown = stub.get("/_stub/requests").text
        assert "tr1ed" not in shown
        assert "dev-token" not in shown.lower()
        assert "***" in shown


@pytest.mark.parametrize(
    ("authorization", "shown"),
    [
        ("Bearer tr1ed", "Bearer ***"),
        ("bearer  tr1ed", "Bearer ***"),
        ("Bearer a, Bearer tr1ed", "Bearer ***"),
        ("Bearer\ttr1ed", "***"),
        ("Bearertr1ed", "***"),
        ("Basic tr1ed", "***"),
        ("tr1ed", "***"),
    ],
)
def test_the_credential_of_the_authorization_header_is_masked(
    stub: FlaskClient, authorization: str, shown: str
) -> None:
    stub.get("/v1/projects", environ_overrides={"HTTP_AUTHORIZATION": authorization})
    assert entries(stub)[0]["headers"]["Authorization"] == shown


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("access_token=tr1ed", "access_token=***"),
        ("a=b&access%5Ftoken=tr%31ed&c", "a=b&access%5Ftoken=***&c"),
        ("access_token=a&access_token=b", "access_token=***&access_token=***"),
        ("access_token=", "access_token="),
        ("access_token", "access_token"),
        ("page_token=p&token=t&Access_Token=x", "page_token=p&token=t&Access_Token=x"),
        ("redirect=/?access_token=x", "redirect=/?access_token=x"),
    ],
)
def test_the_value_of_the_parameter_access_token_is_masked(
    stub: FlaskClient, query: str, shown: str
) -> None:
    stub.get(f"/v1/projects?{query}")
    assert entries(stub)[0]["query"] == shown


def test_nothing_else_is_searched_for(stub: FlaskClient) -> None:
    body = '{"name": "token: website", "api_key": "k", "note": "Bearer of news"}'
    stub.post("/v1/projects/tr1ed", data=body, headers={"Referer": "http://x/?token=tr1ed"})
    wrong = {"HTTP_AUTHORIZATION": "Bearer tr1ed"}
    stub.post("/v1/tr1ed?q=tr1ed", data="tr1ed", environ_overrides=wrong)
    first, second = entries(stub)
    assert (first["path"], first["body"]) == ("/v1/projects/tr1ed", body)
    assert first["headers"]["Referer"] == "http://x/?token=tr1ed"
    assert (second["path"], second["query"], second["body"]) == ("/v1/tr1ed", "q=tr1ed", "tr1ed")


def test_a_valid_token_is_masked_whole() -> None:
    app = create_app(tokens=["s3cr3t-abcdef"])
    for query, token in (("token=s3c", "s3cr3t-abcdef"), ("", "s3cr3t")):
        client = control_client_of(app, token)
        client.get(f"/v1/s3cr3t-abcdef?{query}", headers={"X-Note": "s3cr3t-abcdef"})
    shown = control_client_of(app, "s3cr3t-abcdef").get("/_stub/requests").text
    assert "abcdef" not in shown
    assert shown.count('"/v1/***"') == 2


def test_a_token_is_redacted_though_what_is_around_it_is_as_ever() -> None:
    stub = control_client_of(create_app(tokens=["S3CR-3T"]), "S3CR-3T")
    for method, path in (("GET", ""), ("GET", "?S3CR-3T"), ("S3CR-3T", ""), ("GET", "/S3CR-3T")):
        stub.open(f"/v1/projects{path}", method=method)
    assert "S3CR-3T" not in stub.get("/_stub/requests").text
    assert [entry["method"] for entry in entries(stub)] == ["GET", "GET", "***", "GET"]


@pytest.mark.parametrize("size", [401, 2500])
def test_a_long_token_is_redacted_before_the_cut(size: int) -> None:
    token = size * "k"
    stub = control_client_of(create_app(tokens=[token]), token)
    spelled = "".join(f"\\u{ord(char):04x}" for char in token)
    for sent in (token, spelled):
        stub.post("/v1/projects", data=4000 * " " + sent)
    assert {entry["body"].strip() for entry in entries(stub)} == {"***"}


def test_a_token_encoded_over_and_over_hides_the_part(stub: FlaskClient) -> None:
    once = "".join(f"%{ord(char):02x}" for char in "dev-token")
    twice = "".join(f"%{ord(char):02x}" for char in once)
    for sent in (twice, "%%36%34ev-token"):
        stub.get(f"/v1/projects?a={sent}")
    assert all("%" not in entry["query"] for entry in entries(stub))


def test_a_word_that_ends_a_part_is_no_token(stub: FlaskClient) -> None:
    stub.get("/v1/deployments/my-token?sort=token")
    stub.post("/v1/projects", data='{"name": "token projects"}')
    first, second = entries(stub)
    assert first["headers"]["Host"] == "localhost"
    assert (first["path"], first["query"]) == ("/v1/deployments/my-token", "sort=token")
    assert (second["path"], second["body"]) == ("/v1/projects", '{"name": "token projects"}')


def test_a_token_in_another_encoding_is_in_no_part(stub: FlaskClient) -> None:
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        stub.post("/v1/projects", data="name=dev-token".encode(encoding))
    assert [entry["body"] for entry in entries(stub)] == 3 * ["name=***"]


def test_a_body_that_breaks_off_is_recorded_as_none(stub: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "10"}
    response = stub.post(
        "/v1/projects", data=b"abc", content_type="application/json", environ_overrides=environ
    )
    assert_problem(response, 400, "malformed_request")
    assert [(entry["body"], entry["status"]) for entry in entries(stub)] == [("", 400)]


def test_a_request_told_before_is_told_again_with_its_own_body(stub: FlaskClient) -> None:
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


def test_the_coverage_counts_every_declared_outcome(stub: FlaskClient) -> None:
    for path in ("dpl_failed", "dpl_failed", "dpl_queued", "x", "y"):
        stub.get(f"/v1/deployments/{path}")
    stub.head("/v1/deployments/dpl_failed")
    stub.post("/v1/projects", json={"name": "a", "team": 1})
    stub.post("/v1/projects", json={"name": "b", "team": 2}, headers={"Prefer": "code=503"})
    control_client_of(stub.application, "wrong").get("/v1/projects")
    control_client_of(stub.application, "wrong.w").get("/v1/projects")
    told = coverage(stub)
    declared = {
        operation["operationId"]: {*operation["responses"], "other"}
        for _, _, operation in V1.operations()
    }
    declared["createProject"] -= {"200"}  # of grease alone
    assert {name: {*counts} for name, counts in told["operations"].items()} == declared
    seen = {
        (name, status): count
        for name, counts in told["operations"].items()
        for status, count in counts.items()
        if count
    }
    assert seen == {
        ("getDeployment", "200"): 4,
        ("getDeployment", "404"): 2,
        ("createProject", "201"): 1,
        ("createProject", "other"): 1,
        ("listProjects", "401"): 2,
    }
    assert told["met"] == 4
    assert told["of"] == sum(map(len, declared.values())) - 3
    assert told["deployment_statuses"] == {
        "queued": 1, "building": 0, "succeeded": 0, "failed": 2, "canceled": 0
    }  # fmt: skip
    assert told["unpromised"] == [
        {"what": "getDeployment: HEAD", "count": 1, "example": 6},
        {"what": "createProject: body member team", "count": 2, "example": 7},
    ]
    assert told["violations"] == []


def test_kinds_are_bounded_and_the_rest_are_others(stub: FlaskClient) -> None:
    for number in range(1010):
        stub.get(f"/v1/projects?p{number}=1")
    stub.get("/v1/projects?p7=1")
    rows = coverage(stub)["unpromised"]
    assert len(rows) == 1001
    assert rows[7] == {"what": "listProjects: query parameter p7", "count": 2, "example": 8}
    assert rows[-1] == {"what": "others", "count": 10, "example": 1001}


def test_statuses_are_bounded_but_those_of_the_contract(stub: FlaskClient) -> None:
    for number in range(1010):
        stub.put("/_stub/deployments/x", json={"status": f"own-{number}"})
        stub.get("/v1/deployments/x")
    stub.get("/v1/deployments/dpl_queued")
    told = coverage(stub)
    assert len(told["deployment_statuses"]) == 1000 + 5 + 1
    assert told["deployment_statuses"]["others"] == 10
    assert told["deployment_statuses"]["queued"] == 1
    assert told["operations"]["getDeployment"]["200"] == 1011


def test_counts_are_exact_under_many_clients(app: Flask) -> None:
    def ask() -> None:
        client = control_client_of(app)
        for _ in range(50):
            client.get("/v1/deployments/dpl_failed?a=1")

    assert in_parallel(8 * [ask]) == 8 * [None]
    told = coverage(control_client_of(app))
    assert told["operations"]["getDeployment"]["200"] == 400
    assert told["deployment_statuses"]["failed"] == 400
    assert told["unpromised"][0]["count"] == 400
    numbers = [entry["number"] for entry in entries(control_client_of(app))]
    assert numbers == list(range(1, 401))


def test_the_report_at_the_end_is_of_the_main_world() -> None:
    app = create_app(new_id=counting_ids())
    control_client_of(app, "dev-token.w").get("/v1/projects")
    assert coverage_table(app) == ""
    client = control_client_of(app)
    client.head("/v1/projects")
    client.get("/v1/dev-token")
    first, *lines = coverage_table(app).splitlines()
    assert first == f"coverage: 1 of {coverage(client)['of']} outcomes met"
    assert lines[0].startswith("  listProjects   200 x1; not met: 400 401")
    assert lines[-2:] == [
        "unpromised: listProjects: HEAD (x1, first in request 1)",
        "violations: no operation: GET /v1/*** (x1, first in request 2)",
    ]


def test_the_report_at_the_end_is_short() -> None:
    app = create_app()
    client = control_client_of(app)
    for number in range(25):
        client.get(f"/v1/projects?p{number}=1")
    lines = coverage_table(app).splitlines()
    assert len(lines) == 1 + 3 + 20 + 1
    assert lines[-1] == "unpromised: 5 more in /_stub/coverage"


@pytest.mark.parametrize("stray", [40_000 * '"', 40_000 * "=", 8000 * "bearer ", 40_000 * "%"])
def test_whatever_is_sent_is_looked_through_once(stub: FlaskClient, stray: str) -> None:
    # Quadratic in the length it would run into the time limit of a test.
    words = " ".join(60 * "x" + str(number) for number in range(8))
    stub.post("/v1/projects", data="bearer" + stray, headers={"Authorization": f"Bearer {words}"})
    stub.post("/v1/projects", data=10 * ("bearer" + stray))
    assert len(entries(stub)) == 2


def test_text_that_only_looks_like_a_token_is_told(stub: FlaskClient) -> None:
    body = '{"access_token": {"a": 1}, "off": "of", "name": "Bearer of news"}'
    stub.post("/v1/projects", data=body)
    assert entries(stub)[0]["body"] == body


def test_headers_are_cut_whole(stub: FlaskClient) -> None:
    headers = {
        "X-A": 9000 * "a",
        "X-B": "b",
        **{f"X-Secret{n}-{1900 * 'n'}": "s" for n in "abcdefg"},
    }
    stub.get("/v1/projects", headers=headers)
    kept = entries(stub)[0]["headers"]
    assert "" not in kept
    assert sum(len(name) + len(value) for name, value in kept.items()) <= 8192


def test_an_entry_tells_a_hundred_things_and_the_coverage_counts_all(stub: FlaskClient) -> None:
    stub.post("/v1/projects", json={"name": "a", **{f"m{number:04}": 1 for number in range(3000)}})
    sentences = [f"createProject: body member m{number:04}" for number in range(1000)]
    assert entries(stub)[0]["unpromised"] == sentences[:100]
    *rows, others = coverage(stub)["unpromised"]
    assert [row["what"] for row in rows] == sentences
    assert others == {"what": "others", "count": 2000, "example": 1}
