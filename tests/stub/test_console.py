"""The console over HTTP: its files, and what the recorded table does not show of its view."""

from typing import Any

from flask.testing import FlaskClient

from tests.conftest import ROOT, control_client_of, make_stub
from tests.contract import CREATED, assert_problem
from tests.stub.conftest import Clients

FOLDER = ROOT / "stub" / "console"
MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
FILES = {
    f"/_stub/console/{path.name}": path
    for path in FOLDER.iterdir()
    if path.suffix in (".js", ".css")
} | {"/": FOLDER / "index.html"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def view(client: FlaskClient) -> Any:
    return client.get("/_stub/console").json


def test_the_files_need_no_token_and_have_headers_of_a_safe_page(anonymous: FlaskClient) -> None:
    for path, file in FILES.items():
        response = anonymous.get(path)
        assert (response.status_code, response.data) == (200, file.read_bytes())
        assert dict(response.headers) == {
            "Content-Type": f"{MEDIA_TYPES[file.suffix[1:]]}; charset=utf-8",
            "Content-Length": str(len(response.data)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        head = anonymous.head(path)
        assert (head.status_code, head.data, head.headers) == (200, b"", response.headers)


def test_nothing_else_is_served_without_a_token(
    client: FlaskClient, anonymous: FlaskClient
) -> None:
    for file in ("nope.js", "__init__.py", "preact.txt", "..%2Fpact.py", "a/b.js"):
        assert_problem(client.get(f"/_stub/console/{file}"), 404, "not_found")
    assert_problem(anonymous.get("/_stub/console"), 401, "token_missing")


def test_a_world_has_a_view_and_an_instance_until_a_reset(
    stub: FlaskClient, world: Clients
) -> None:
    client = world("a")
    client.get("/v1/projects")
    first = view(client)
    assert (first["world"], first["requests"]["last"]) == ("a", 1)
    assert view(stub)["requests"]["last"] == 0
    assert view(client)["instance"] == first["instance"] != view(stub)["instance"]
    client.post("/_stub/reset")
    assert view(client)["instance"] != first["instance"]


def test_each_part_of_the_view_has_a_limit() -> None:
    stub = control_client_of(make_stub())
    stub.put("/_stub/grease", json={"axes": ["ids"], "seed": 3})
    for number in range(60):
        name = f"{number:03}" + 97 * '"'
        assert stub.post("/v1/projects", json={"name": name}).status_code == CREATED
    for number in range(30):
        fault = {"method": 32 * "M", "path": "/v1/" + 250 * '"', "status": 502,
                 "body": 10_000 * "\u202e", "content_type": f"a/{126 * 'b'}"}  # fmt: skip
        assert stub.post("/_stub/faults", json=fault).status_code == 201
        stub.delete(f"/v1/{number}{500 * 'x'}")
        stub.get(f"/v1/projects?q{number}{300 * 'x'}=1")
    response = stub.get("/_stub/console")
    assert len(response.data) <= 100_000
    shown = response.json
    newest, faults = shown["projects"]["newest"], shown["faults"]
    assert (shown["projects"]["count"], len(newest)) == (60, 50)
    assert (faults["count"], len(faults["first"])) == (30, 20)
    assert faults["first"][0]["body"] == 120 * "\u202e" + "…"
    for kind in ("unpromised", "violations"):
        found = shown["coverage"][kind]
        assert (found["count"] > 20, len(found["first"])) == (True, 10)
