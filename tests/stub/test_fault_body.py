"""Faults with a body of their own, such as the HTML of a gateway."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import SAMPLE_SEED, control_client_of
from tests.contract import assert_invalid
from tests.stub.conftest import coverage, entries

HTML = "<html><body>502 Bad Gateway \u2013 nginx 🚀</body></html>\n"
GATEWAY = {"status": 502, "body": HTML, "content_type": "text/html"}


def add(client: FlaskClient, **fault: Any) -> Any:
    response = client.post("/_stub/faults", json=fault)
    assert response.status_code == 201, response.text
    return response.json


def test_a_fault_sends_its_body_as_it_is(stub: FlaskClient) -> None:
    made = add(stub, **GATEWAY, method="GET", retry_after=3)
    assert made == {"id": made["id"], **GATEWAY, "method": "GET", "retry_after": 3,
                    "times": 1, "remaining": 1}  # fmt: skip
    assert stub.get("/_stub/faults").json == {"faults": [made]}
    response = stub.get("/v1/projects")
    assert (response.status_code, response.text) == (502, HTML)
    assert response.headers["Content-Type"] == "text/html"
    assert response.headers["Content-Length"] == str(len(HTML.encode()))
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Retry-After"] == "3"
    (entry,) = entries(stub)
    shown = (entry["operation"], entry["status"], entry["code"], entry["fault"])
    assert shown == ("listProjects", 502, None, made["id"])
    assert coverage(stub)["operations"]["listProjects"]["other"] == 1


def test_head_has_the_headers_of_the_body_alone(stub: FlaskClient) -> None:
    add(stub, **GATEWAY)
    head = stub.head("/v1/projects")
    assert (head.status_code, head.data) == (502, b"")
    assert head.headers["Content-Type"] == "text/html"
    assert head.headers["Content-Length"] == str(len(HTML.encode()))


@pytest.mark.parametrize("body", ["", "a\r\nb\0", "{}", 10_000 * "€"], ids=len)
def test_a_body_without_a_type_is_plain_text(stub: FlaskClient, body: str) -> None:
    add(stub, status=503, body=body)
    response = stub.get("/v1/projects")
    assert (response.status_code, response.data) == (503, body.encode())
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Content-Length"] == str(len(body.encode()))


@pytest.mark.parametrize("cut", [0, 7, 10**6])
def test_a_body_can_be_cut(stub: FlaskClient, cut: int) -> None:
    add(stub, **GATEWAY, cut=cut)
    response = stub.get("/v1/projects")
    assert response.data == HTML.encode()[:cut]
    assert response.headers["Content-Length"] == str(len(HTML.encode()))


def test_nothing_is_created(stub: FlaskClient) -> None:
    listed = stub.get("/v1/projects").data
    add(stub, **GATEWAY)
    assert stub.post("/v1/projects", json={"name": "a"}).text == HTML
    assert stub.get("/v1/projects").data == listed


@pytest.mark.parametrize(
    ("status", "header"), [(401, "WWW-Authenticate"), (405, "Allow"), (400, None)]
)
def test_a_status_keeps_the_header_that_it_must_have(
    stub: FlaskClient, status: int, header: str | None
) -> None:
    add(stub, status=status, body="x")
    headers = stub.get("/v1/projects").headers
    found = [name for name in ("WWW-Authenticate", "Allow") if name in headers]
    assert found == ([header] if header else [])


@pytest.mark.parametrize("body", [HTML, "[1, 2]", '{"detail": "x", "code": "y"}', ""])
@pytest.mark.parametrize("status", [400, 503])
def test_grease_leaves_the_body_of_a_fault_alone(status: int, body: str) -> None:
    options = StubOptions(grease=("members", "json-text", "headers", "error-text", "media-type"))
    stub = control_client_of(create_app(seed=SAMPLE_SEED, stub_options=options))
    add(stub, status=status, body=body, content_type="application/json")
    response = stub.get("/v1/projects")
    assert (response.status_code, response.text) == (status, body)
    assert response.headers["Content-Type"] == "application/json"
    assert {*response.headers.keys()} == {"Content-Type", "Content-Length", "Cache-Control"}
    assert entries(stub)[0]["grease"] == []


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "text/html; charset=utf-8",
        "text/html;charset=iso-8859-1 ; q=1",
        'multipart/mixed; boundary="a b:c"',
        "application/vnd.x+json",
        f"a/{126 * 'b'}",
    ],
)
def test_a_content_type_is_sent_to_the_letter(stub: FlaskClient, content_type: str) -> None:
    add(stub, status=500, body="x", content_type=content_type)
    assert stub.get("/v1/projects").headers.getlist("Content-Type") == [content_type]


@pytest.mark.parametrize(
    "content_type",
    [
        *("", "text", "text/", "/html", "text/html/x", "text/ html", "text/html;", "te,xt/html"),
        *("text/html; charset", "text/html; a=b c", 'text/html; a="b', 'text/html; a="\\""'),
        *("text/html\r\nX-A: 1", "text/html\n", "text/html\r", 'text/html; a="\r\nX-A: 1"'),
        *("text/html\0", "text/html\u2028", "text/häml", " text/html", "text/html; a=ü"),
        f"a/{127 * 'b'}",
        *(None, 7, True, ["text/html"], {}),
    ],
)
def test_any_other_content_type_is_invalid(stub: FlaskClient, content_type: Any) -> None:
    fault = {"status": 500, "body": "x", "content_type": content_type}
    assert_invalid(stub.post("/_stub/faults", json=fault), "/content_type")
    assert stub.get("/_stub/faults").json == {"faults": []}


@pytest.mark.parametrize(
    ("fault", "pointers"),
    [
        ({"body": "x", "delay": 1}, ["/body"]),
        ({"body": "x"}, ["", "/body"]),
        ({"status": 500, "body": 10_001 * "x"}, ["/body"]),
        ({"status": 500, "body": None}, ["/body"]),
        ({"status": 500, "body": ["x"]}, ["/body"]),
        ({"status": 500, "content_type": "text/html"}, ["/content_type"]),
        ({"cut": 1, "content_type": "x", "body": 1},
         ["/body", "/body", "/content_type"]),
    ],
)  # fmt: skip
def test_a_body_is_a_text_for_a_status(
    stub: FlaskClient, fault: dict[str, Any], pointers: list[str]
) -> None:
    assert_invalid(stub.post("/_stub/faults", json=fault), *pointers)
    assert stub.get("/_stub/faults").json == {"faults": []}


def test_the_console_shows_the_beginning_of_a_body(stub: FlaskClient) -> None:
    for _ in range(30):
        add(stub, status=502, body=10_000 * "\u202e", content_type=f"a/{126 * 'b'}")
    response = stub.get("/_stub/console")
    assert len(response.data) < 100_000
    first = response.json["faults"]["first"][0]
    assert (first["body"][0], first["body"][-1]) == ("\u202e", "…")
