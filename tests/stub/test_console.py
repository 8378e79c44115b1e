"""The console over HTTP: its files, and the view of a world that the page polls."""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import ROOT, SAMPLE_NAMES, TOKEN, Clock, control_client_of, seed_of
from tests.contract import STUB, assert_problem
from tests.stub.conftest import entries

FOLDER = ROOT / "stub" / "console"
FILES = {
    "/": ("index.html", "text/html"),
    **{
        f"/_stub/console/{path.name}": (path.name, "text/javascript")
        for path in FOLDER.glob("*.js")
    },
    "/_stub/console/console.css": ("console.css", "text/css"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def view(client: FlaskClient, after: int = 0) -> Any:
    return client.get(f"/_stub/console?after={after}").json


def numbers(client: FlaskClient, after: int = 0) -> list[int]:
    return [entry["number"] for entry in view(client, after)["requests"]["entries"]]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", FILES)
def test_the_files_need_no_token_and_have_the_headers_of_a_safe_page(
    anonymous: FlaskClient, path: str, method: str
) -> None:
    name, media_type = FILES[path]
    response = anonymous.open(path, method=method)
    assert response.status_code == 200
    content = (FOLDER / name).read_bytes()
    assert response.data == (content if method == "GET" else b"")
    assert response.headers["Content-Type"] == f"{media_type}; charset=utf-8"
    assert response.headers["Content-Security-Policy"] == POLICY
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response.headers["Cache-Control"] == "no-store"


# The library, from `preact/standalone.module.js` of the npm package htm 3.1.1.
LIBRARY = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"


def test_each_module_that_a_module_imports_exists() -> None:
    for path in FOLDER.glob("*.js"):
        for name in re.findall(r'from "\./(.+?)"', path.read_text("utf-8")):
            assert (FOLDER / name).exists()


@pytest.mark.parametrize(
    "file",
    ["nope.js", "index.html", "__init__.py", "preact.txt", "..%2Findex.html", "%00", "a/b.js"],
)
def test_another_file_is_404(client: FlaskClient, anonymous: FlaskClient, file: str) -> None:
    assert_problem(client.get(f"/_stub/console/{file}"), 404, "not_found")
    assert_problem(anonymous.get(f"/_stub/console/{file}"), 401, "token_missing")


def test_the_library_is_the_published_one_with_its_licenses() -> None:
    assert sha256((FOLDER / "preact.js").read_bytes()).hexdigest() == LIBRARY
    text = (FOLDER / "preact.txt").read_text("utf-8")
    for name in ("htm 3.1.1", "Apache License", "Preact", "The MIT License"):
        assert name in text


def test_the_page_is_small_and_its_modules_are_short() -> None:
    paths = [each for each in FOLDER.iterdir() if each.suffix in (".html", ".js", ".css")]
    assert sum(path.stat().st_size for path in paths) <= 150_000
    for path in FOLDER.glob("*.js"):
        assert len(path.read_text("utf-8").splitlines()) <= 200


def test_no_file_names_an_address_elsewhere() -> None:
    for path in FOLDER.iterdir():
        if path.suffix in (".html", ".js", ".css"):
            text = path.read_text("utf-8")
            for known in ("1998/Math/MathML", "1999/xhtml", "1999/xlink", "2000/svg"):
                text = text.replace(f"http://www.w3.org/{known}", "")
            assert "//" not in re.sub("// |<//>", "", text), path.name


@pytest.mark.parametrize("path", FILES)
def test_another_method_is_rejected(client: FlaskClient, anonymous: FlaskClient, path: str) -> None:
    assert_problem(client.post(path), 405, "method_not_allowed")
    assert_problem(anonymous.post(path), 401, "token_missing")


@pytest.mark.parametrize("path", [*FILES, "/_stub/console"])
def test_without_the_stub_each_path_is_unknown(path: str) -> None:
    app = create_app(stub_options=None)
    client = app.test_client()
    assert_problem(client.get(path), 401, "token_missing")
    response = client.get(path, headers={"Authorization": "Bearer dev-token"})
    assert_problem(response, 404, "not_found")


def test_the_view_needs_the_token(anonymous: FlaskClient) -> None:
    assert_problem(anonymous.get("/_stub/console"), 401, "token_missing")


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "x=1", "after=1&limit=2"])
def test_an_invalid_query_is_400(stub: FlaskClient, query: str) -> None:
    assert_problem(stub.get(f"/_stub/console?{query}"), 400, "unknown_query")


def test_the_view_is_that_of_the_sample_at_first(stub: FlaskClient) -> None:
    shown = view(stub)
    assert (shown["world"], shown["requests"]) == ("", {"first": 1, "last": 0, "entries": []})
    assert shown["clock"] == {"now": "2026-11-21T10:00:00.000Z", "ahead": 0, "frozen": False}
    assert shown["projects"]["count"] == len(SAMPLE_NAMES)
    assert {each["name"] for each in shown["projects"]["newest"]} == set(SAMPLE_NAMES)
    assert shown["faults"] == {"count": 0, "first": []}
    assert shown["grease"]["axes"] == []
    assert shown["coverage"]["met"] == 0


def test_the_view_masks_secrets_in_the_target_of_a_request(stub: FlaskClient) -> None:
    stub.get(f"/v1/{TOKEN}?x={TOKEN}&access_token=other")
    (entry,) = view(stub)["requests"]["entries"]
    assert entry["target"] == "/v1/***?x=***&access_token=***"


def test_the_view_has_the_code_and_the_name_of_a_request(stub: FlaskClient) -> None:
    for name in ("", 30 * "é", f"my {TOKEN}", "\ud800\u202e", 1):
        stub.post("/v1/projects", json={"name": name})
    stub.post("/v1/projects", json=["name"])
    shown = [(each["code"], each["name"]) for each in view(stub)["requests"]["entries"]]
    assert shown == [
        ("invalid_body", ""),
        (None, 20 * "é" + "…"),
        (None, "my ***"),
        ("malformed_json", "?\u202e"),
        ("invalid_body", None),
        ("invalid_body", None),
    ]


def test_the_view_shows_the_newest_project_first_with_the_status_of_its_deployment(
    stub: FlaskClient, clock: Clock
) -> None:
    clock.advance(1)
    made = stub.post("/v1/projects", json={"name": "<b>shop</b>"}).json
    statuses = []
    for _ in range(3):
        newest = view(stub)["projects"]["newest"][0]
        statuses.append(newest.pop("status"))
        stub.post("/_stub/clock", json={"advance": 2})
    assert statuses == ["queued", "building", "succeeded"]
    assert newest == {
        "id": made["id"],
        "name": "<b>shop</b>",
        "created_at": made["created_at"],
        "deployment": made["latest_deployment_id"],
        "since": made["created_at"],
        "timeline": [
            {"status": "queued", "seconds": 2},
            {"status": "building", "seconds": 2},
            {"status": "succeeded", "seconds": None},
        ],
    }


def test_the_contract_names_each_member_of_the_view(stub: FlaskClient) -> None:
    stub.get("/v1/projects")
    declared = STUB.components["schemas"]["View"]["properties"]
    shown = view(stub)
    for part, items in (("projects", "newest"), ("requests", "entries")):
        schema = declared[part]["properties"][items]["items"]
        for each in shown[part][items]:
            assert [*each] == [*schema["properties"]] == schema["required"]


def test_the_view_has_the_entries_after_a_number(stub: FlaskClient) -> None:
    stub.get("/v1/projects?page=1")
    stub.delete("/v1/projects")
    stub.get("/v1/deployments/nope")
    first, second, _ = view(stub)["requests"]["entries"]
    del first["ms"]
    assert first == {
        "number": 1,
        "time": "2026-11-21T10:00:00.000Z",
        "method": "GET",
        "target": "/v1/projects?page=1",
        "status": 200,
        "code": None,
        "name": None,
        "unpromised": 1,
        "violations": 0,
        "fault": False,
        "grease": False,
    }
    assert (second["method"], second["status"], second["violations"]) == ("DELETE", 405, 1)
    assert numbers(stub, after=2) == [3]
    assert numbers(stub, after=3) == []
    assert numbers(stub, after=99) == []


def test_the_view_has_the_newest_100_entries(stub: FlaskClient) -> None:
    for _ in range(130):
        stub.get("/v1/deployments/x")
    assert numbers(stub) == [*range(31, 131)]
    assert numbers(stub, after=100) == [*range(101, 131)]
    stub.delete("/_stub/requests")
    assert view(stub)["requests"] == {"first": 131, "last": 130, "entries": []}


def test_the_page_is_in_no_journal_and_no_coverage(stub: FlaskClient) -> None:
    for path in (*FILES, "/_stub/console", "/_stub/console?after=1", "/_stub/console?after=x"):
        stub.get(path)
    stub.post("/")
    assert entries(stub) == []
    assert view(stub)["coverage"]["met"] == 0
    assert view(stub)["coverage"]["violations"] == {"count": 0, "first": []}


def test_the_view_shows_clock_faults_and_grease(stub: FlaskClient) -> None:
    stub.post("/_stub/clock", json={"advance": 70, "frozen": True})
    stub.post("/_stub/faults", json={"status": 503, "times": 2})
    stub.put("/_stub/grease", json={"axes": ["times"], "seed": 7})
    shown = view(stub)
    assert shown["clock"] == {"now": "2026-11-21T10:01:10.000Z", "ahead": 70, "frozen": True}
    fault = {"id": "flt_1", "status": 503, "times": 2, "remaining": 2}
    assert shown["faults"] == {"count": 1, "first": [fault]}
    assert (shown["grease"]["axes"], shown["grease"]["seed"]) == (["times"], 7)
    assert "members" in shown["grease"]["default"]["axes"]


def test_the_view_shows_the_parts_of_the_start_to_switch_on() -> None:
    options = StubOptions(grease=("members@Project",), grease_seed=7)
    stub = control_client_of(create_app(stub_options=options))
    stub.put("/_stub/grease", json={"axes": []})
    limited = {"axes": ["members"], "seed": 7, "parts": ["Project"]}
    assert view(stub)["grease"] == {"axes": [], "seed": 7, "default": limited}


def test_worlds_have_views_of_their_own(
    stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    world("a").get("/v1/projects")
    assert (view(world("a"))["world"], numbers(world("a"))) == ("a", [1])
    assert numbers(stub) == []


def test_an_instance_ends_with_a_reset(app: Flask, stub: FlaskClient) -> None:
    first = view(stub)["instance"]
    assert view(stub)["instance"] == first
    stub.post("/_stub/reset")
    assert view(stub)["instance"] != first
    assert view(control_client_of(create_app()))["instance"] != view(stub)["instance"]


def fill(stub: FlaskClient) -> None:
    """Fill a world with what is long."""
    for number in range(60):
        name = f"{number:03}" + 97 * '"'
        assert stub.post("/v1/projects", json={"name": name}).status_code == 201
    for number in range(30):
        pattern = "/v1/" + 250 * '"'
        fault = {"method": f"M{number}" + 20 * "'", "path": pattern, "status": 503, "delay": 1}
        assert stub.post("/_stub/faults", json=fault).status_code == 201
    for number in range(50):
        path = f"/v1/deployments/{number}" + 500 * '"'
        body = {"name": 200 * '"'}
        query = {f"q{number}" + 300 * "x": 1}
        assert stub.get(path, query_string=query, json=body).status_code == 404
        odd = stub.open(f"/v1/{number}" + 500 * "\t", method=40 * "A", json=body)
        assert odd.status_code == 404


@pytest.mark.parametrize("axes", [[], ["ids"]])
def test_the_view_is_at_most_100_kb_whatever_is_stored(axes: list[str]) -> None:
    project = "prj" + 252 * "x"
    deployments = [
        {"id": f"d{number:03}" + 251 * "y", "project_id": project, "status": 64 * "z"}
        for number in range(3)
    ]
    document = {"projects": [{"name": 100 * "😀", "id": project}], "deployments": deployments}
    stub = control_client_of(create_app(seed=seed_of(document)))
    stub.put("/_stub/grease", json={"axes": axes, "seed": 3})
    fill(stub)
    response = stub.get("/_stub/console")
    assert len(response.json["requests"]["entries"]) == 100
    assert len(response.json["projects"]["newest"]) == 50
    assert response.json["projects"]["count"] == 61
    assert response.json["faults"]["count"] == 30
    assert len(response.data) <= 100_000


def test_the_view_has_fewer_projects_where_they_are_large() -> None:
    document = {
        "projects": [
            {
                "id": f"{number:02}" + 253 * "😀",
                "name": f"{number:02}" + 98 * "😀",
                "created_at": "2999-01-01T00:00:00Z",
            }
            for number in range(60)
        ]
    }
    stub = control_client_of(create_app(seed=seed_of(document)))
    fill(stub)
    response = stub.get("/_stub/console")
    newest = response.json["projects"]["newest"]
    assert 10 < len(newest) < 50
    newest_names = [each["name"] for each in stub.get("/v1/projects").json["projects"][::-1]]
    assert [each["name"] for each in newest] == newest_names[: len(newest)]
    assert len(response.data) <= 100_000


def test_a_long_target_is_cut(stub: FlaskClient) -> None:
    stub.get("/v1/" + 200 * "é")
    stub.get("/v1/a%E2%80%AEb%0A")
    stub.get("/v1/\U0002ebf0")  # new in Unicode 15.1, which Python 3.12 does not know
    long, hidden, new = (entry["target"] for entry in view(stub)["requests"]["entries"])
    assert long == "/v1/" + 58 * "é" + "…"
    assert hidden == "/v1/a\u202eb\n"  # which the page makes visible
    assert new == "/v1/\U0002ebf0"
