"""The access log: a line for each request, with its number in the journal and its reason."""

import re
from collections.abc import Callable
from typing import Any

from flask import Flask, Response
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import client_of
from web.access_log import Line, line_of
from web.redaction import Redactor

PREFLIGHT = {"Origin": "http://127.0.0.1:5173", "Access-Control-Request-Method": "GET"}


Send = Callable[[FlaskClient], Any]


def logged(send: Send, token: str = "dev-token", **options: Any) -> list[str]:
    """The lines for what `send` sends, without their milliseconds."""
    lines: list[Line] = []

    def log(response: Response) -> Response:
        lines.append(line_of(response))
        return response

    app: Flask = create_app(log=log, **options)
    send(client_of(app, f"Bearer {token}"))
    texts = [line.text(Redactor(["dev-token"])) for line in lines]
    assert all(re.search(r" \d+\.\d ms\n$", text) for text in texts)
    return [text.rpartition(" ms")[0].rpartition(" ")[0] for text in texts]


def test_a_line_has_the_number_of_the_request_in_its_world() -> None:
    def send(client: FlaskClient) -> None:
        client.get("/v1/projects")
        client.get("/_stub/state")
        client.post("/v1/projects", json={"name": "x"})
        client.get("/v1/nothing")

    lines = ["GET /v1/projects 200", "POST /v1/projects 201", "GET /v1/nothing 404 not_found"]
    for world, place in (("", ""), (".job-5", "job-5 ")):
        first, control, *others = logged(send, f"dev-token{world}")
        assert control == f"{place}GET /_stub/state 200"
        assert [first, *others] == [f"{place}#{n} {line}" for n, line in enumerate(lines, 1)]


REJECTIONS: list[tuple[dict[str, Any], str]] = [
    ({"json": {}}, "422 invalid_body (/name is required)"),
    ({"json": {"name": "", "id": 1}}, "422 invalid_body (/id is set by the service: omit it)"),
    ({"json": []}, "422 invalid_body (must be a JSON object)"),
    ({"data": "x"}, "415 unsupported_media_type (Send `Content-Type: application/json`, in UTF"),
    ({"data": "{", "content_type": "application/json"}, "400 malformed_json (Send JSON that"),
]


def test_a_rejected_request_has_its_first_reason() -> None:
    for body, line in REJECTIONS:
        (shown,) = logged(lambda client: client.post("/v1/projects?page=2", **body))  # noqa: B023
        assert shown.startswith(f"#1 POST /v1/projects?page=2 {line}")


def test_a_response_that_was_varied_or_requested_says_so() -> None:
    def send(client: FlaskClient) -> None:
        client.post("/_stub/faults", json={"status": 503})
        client.put("/_stub/grease", json={"axes": ["headers", "members"], "seed": 1})
        client.get("/v1/projects")
        client.get("/v1/projects")

    assert logged(send)[2:] == [
        "#1 GET /v1/projects 503 injected_fault fault flt_1 grease members,headers",
        "#2 GET /v1/projects 200 grease members,headers",
    ]


def test_a_control_request_that_fails_has_its_detail_and_all_reasons() -> None:
    def send(client: FlaskClient) -> None:
        client.post("/_stub/pact", json={"state": 1, "params": "x"})
        client.get("/_stub/nothing")
        client.put("/_stub/deployments/x", json={"status": "UP", "dev-token": 1})

    first, second, third = logged(send)
    assert first == (
        "POST /_stub/pact 422 invalid_body (The body is JSON, but its content is invalid: see "
        "`errors`. /state must be a string; /params must be a JSON object)"
    )
    assert second == (
        "GET /_stub/nothing 404 not_found (There is nothing at this path. /_stub/openapi.json "
        "lists the paths that exist.)"
    )
    assert "/*** is not a known member" in third
    assert "dev-token" not in third


def test_a_line_is_one_line_without_tokens() -> None:
    def send(client: FlaskClient) -> None:
        client.get("/v1/dev%2Dtoken?a=dev-token&access_token=s")
        client.post("/v1/projects", json={"name": "x", "id\n\u202e": 1}, headers={"X": "y"})
        client.get("/v1/projects", headers={"Authorization": "Bearer dev-token.dev-token"})
        client.get("/_stub/state", headers={"Authorization": "bearer dev-token.job-5"})
        client.get(f"/v1/{3000 * 'x'}")

    first, second, third, fourth, last = logged(send, strict=True)
    assert first == "#1 GET /v1/***?a=***&access_token=*** 404 not_found"
    assert second.endswith("(/id?? is not in the contract (--strict))")
    assert third == "*** #1 GET /v1/projects 200"
    assert fourth.startswith("job-5 GET /_stub/state 401 token_invalid (")
    assert len(last) < 2100


def test_what_a_browser_sends_by_itself_has_no_number() -> None:
    paths = ("/favicon.ico", "/.well-known/x", "/apple-touch-icon.png")

    def send(client: FlaskClient) -> None:
        for path in paths:
            client.get(path)
        client.options("/v1/projects", headers={**PREFLIGHT, "Authorization": ""})

    lines = [*(f"GET {path} 404 not_found" for path in paths)]
    lines.append("OPTIONS /v1/projects 401 token_missing")
    for origins in ((), ("http://localhost:1",)):
        assert logged(send, stub_options=StubOptions(cors_origins=origins)) == lines


def test_without_the_stub_a_line_has_no_number() -> None:
    def send(client: FlaskClient) -> None:
        client.get("/v1/projects")

    assert logged(send, stub_options=None) == ["GET /v1/projects 200"]
