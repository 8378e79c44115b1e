"""The service over HTTP, and without the stub; tests/replayed has the many responses."""

import gc
from typing import Any

import pytest
from werkzeug.test import create_environ

from app import create_app
from auth import allow_list
from store import MemoryStore
from tests.conftest import BEARER, client_of, make_stub
from tests.contract import assert_invalid, assert_problem
from web.speedups import speed_up


def test_an_exception_is_500_and_logged_without_the_token(caplog: pytest.LogCaptureFixture) -> None:
    def fail(prefix: str) -> str:
        raise RuntimeError("dev-token: a secret of the store")

    response = client_of(make_stub(new_id=fail)).post("/v1/projects", json={"name": "a"})
    assert_problem(response, 500, "internal_error")
    assert "secret" not in response.text
    assert "RuntimeError: ***: a secret of the store" in caplog.text
    assert "dev-token" not in caplog.text


# Requests, and how many objects each may leave: Werkzeug's search for a route leaves a closure.
GARBAGE: list[tuple[str, str, Any, int]] = [
    ("GET", "/v1/projects", None, 0),
    ("GET", "/v1/deployments/dpl_none", None, 0),
    ("POST", "/v1/projects", {"name": "a"}, 0),
    ("POST", "/v1/projects", {}, 0),
    ("PUT", "/v1/projects", {}, 10),
    ("GET", "/v1/nothing", None, 10),
]


@pytest.mark.parametrize(("method", "path", "document", "most"), GARBAGE)
def test_requests_leave_nothing_to_the_garbage_collector(
    method: str, path: str, document: Any, most: int
) -> None:
    def start_response(*args: Any) -> Any:
        pass

    app = speed_up(make_stub())
    environs = [
        create_environ(path, method=method, json=document, headers=BEARER) for _ in range(102)
    ]
    for environ in environs[:2]:
        app(environ, start_response)
    gc.collect()
    gc.disable()
    for environ in environs[2:]:
        app(environ, start_response)
    # The test runner has a few objects of its own.
    assert gc.collect() < 100 * (most + 1)
    gc.enable()


def test_the_service_alone_has_neither_worlds_nor_control_routes() -> None:
    app = create_app(allow_list(MemoryStore()))
    client, anonymous = client_of(app), app.test_client()
    for method in ("GET", "HEAD"):
        assert anonymous.open("/openapi.json", method=method).status_code == 200
    assert_problem(anonymous.post("/openapi.json"), 401, "token_missing")
    assert client.get("/v1/projects", headers={"Prefer": "code=503"}).json == {"projects": []}
    for path in ("/_stub/health", "/llms.txt"):
        assert_problem(anonymous.get(path), 401, "token_missing")
        assert_problem(client.get(path), 404, "not_found")
    for token in ("dev-token.job", "dev-token="):
        response = client.get("/v1/projects", headers={"Authorization": f"Bearer {token}"})
        assert_problem(response, 401, "token_invalid")


def test_tokens_of_the_service_alone_replace_the_published_one() -> None:
    app = create_app(allow_list(MemoryStore(), ["one", "two=="]))
    for token in ("one", "two=="):
        assert client_of(app, f"Bearer {token}").get("/v1/projects").status_code == 200
    assert_problem(client_of(app).get("/v1/projects"), 401, "token_invalid")
    with pytest.raises(ValueError, match="a token is made of"):
        allow_list(MemoryStore(), ["a b"])


def test_the_service_alone_has_a_bound_and_is_strict_on_request() -> None:
    client = client_of(create_app(allow_list(MemoryStore(max_projects=1)), strict=True))
    assert_problem(client.get("/v1/projects?page=2"), 400, "unknown_query")
    assert_invalid(client.post("/v1/projects", json={"name": "a", "b": 1}), "/b")
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert_problem(client.post("/v1/projects", json={"name": "a"}), 409, "name_taken")
    assert_problem(client.post("/v1/projects", json={"name": "b"}), 507, "store_full")


def test_the_service_alone_uses_no_id_twice() -> None:
    ids = {"prj": iter(["p1", "p1", "p2"]), "dpl": iter(["d1", "d1", "d2"])}
    store = MemoryStore(new_id=lambda prefix: next(ids[prefix]))
    client = client_of(create_app(allow_list(store)))
    created = [client.post("/v1/projects", json={"name": name}).json for name in ("a", "b")]
    found = [(each["id"], each["latest_deployment_id"]) for each in created]
    assert found == [("p1", "d1"), ("p2", "d2")]
