"""The access log: a line for each request, with its number in the journal and its reasons."""

from typing import Any

from flask.testing import FlaskClient

from tests.conftest import client_of
from tests.contract import CREATED
from tests.stub.conftest import logged_stub

PREFLIGHT = {"Origin": "http://127.0.0.1:5173", "Access-Control-Request-Method": "GET"}


def logged(token: str = "dev-token", **options: Any) -> tuple[FlaskClient, list[str]]:
    """A client, and the lines for what it sends."""
    app, lines = logged_stub(**options)
    return client_of(app, f"Bearer {token}"), lines


def test_a_line_has_the_number_of_the_request_in_its_world() -> None:
    for world, place in (("", ""), (".job-5", "job-5 ")):
        client, lines = logged(f"dev-token{world}")
        client.get("/v1/projects")
        client.get("/_stub/state")
        client.post("/v1/projects", json={"name": "x"})
        client.get("/v1/nothing")
        assert lines == [
            f"{place}#1 GET /v1/projects 200",
            f"{place}GET /_stub/state 200",
            f"{place}#2 POST /v1/projects {CREATED}",
            f"{place}#3 GET /v1/nothing 404 not_found",
        ]


def test_a_rejected_request_has_its_reasons() -> None:
    client, lines = logged()
    client.post("/v1/projects?page=2", json={"name": "", "id": 1})
    client.post("/v1/projects", json=[])
    client.post("/v1/projects", data="x")
    client.post("/v1/projects", data="{", content_type="application/json")
    client.post("/_stub/pact", json={"state": 1, "action": "x"})
    client.get("/_stub/nothing")
    assert lines[0] == (
        "#1 POST /v1/projects?page=2 422 invalid_body "
        "(/id is set by the service: omit it; /name must not be blank)"
    )
    assert lines[1] == "#2 POST /v1/projects 422 invalid_body (must be a JSON object)"
    assert lines[2].startswith("#3 POST /v1/projects 415 unsupported_media_type (Send `Content-")
    assert lines[3].startswith("#4 POST /v1/projects 400 malformed_json (Send JSON that")
    assert lines[4].endswith("(/action must be setup or teardown; /state must be a string)")
    assert lines[5].startswith("GET /_stub/nothing 404 not_found (There is nothing at this path. ")


def test_a_response_that_was_varied_or_requested_says_so() -> None:
    client, lines = logged()
    client.post("/_stub/faults", json={"status": 503})
    client.put("/_stub/grease", json={"axes": ["headers", "members"], "seed": 1})
    client.get("/v1/projects")
    client.get("/v1/projects")
    assert lines[2:] == [
        "#1 GET /v1/projects 503 injected_fault fault flt_1 grease members,headers",
        "#2 GET /v1/projects 200 grease members,headers",
    ]


def test_a_line_is_short_and_one_line_without_tokens() -> None:
    client, lines = logged(strict=True)
    client.get("/v1/dev%2Dtoken?a=dev-token&access_token=s")
    client.post("/v1/projects", json={"name": "x", "id\n\u202e": 1, "dev-token": 1})
    client.get("/v1/projects", headers={"Authorization": "Bearer dev-token.dev-token"})
    client.get("/_stub/state", headers={"Authorization": "bearer dev-token.job-5"})
    client.get(f"/v1/{3000 * 'x'}")
    client.post("/v1/projects", json={"name": "x", **{400 * f"{n}": 1 for n in range(30)}})
    assert lines[0] == "#1 GET /v1/***?a=***&access_token=*** 404 not_found"
    own = "is not in the contract (--strict)"
    assert lines[1].endswith(f"(/*** {own}; /id?? {own})")
    assert lines[2] == "*** #1 GET /v1/projects 200"
    assert lines[3].startswith("job-5 GET /_stub/state 401 token_invalid (")
    assert len(lines[4]) < 2100
    assert lines[5].count("; /") == 19
    assert len(lines[5]) < 20 * 330


def test_what_a_browser_sends_by_itself_has_no_number() -> None:
    paths = ("/favicon.ico", "/.well-known/x", "/apple-touch-icon.png")
    for origins in ((), ("http://localhost:1",)):
        client, lines = logged(cors_origins=origins)
        for path in paths:
            client.get(path)
        client.options("/v1/projects", headers={**PREFLIGHT, "Authorization": ""})
        expected = [f"GET {path} 404 not_found" for path in paths]
        assert lines == [*expected, "OPTIONS /v1/projects 401 token_missing"]
