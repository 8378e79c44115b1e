"""The three operations over HTTP; the rows of tests/replayed have their many responses."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from auth import allow_list
from records import ProjectList
from store import MemoryStore
from stub.store import WorldStore
from tests.conftest import Clock, client_of, make_stub
from tests.contract import STATUSES, assert_invalid, assert_problem
from tests.replayed import play, read, response_to
from tests.stores import StoresOf, ids_counted_by_prefix
from web.speedups import speed_up


def test_a_created_project_is_returned_and_listed_alike(client: FlaskClient) -> None:
    response = client.post("/v1/projects", json={"name": "shop", "team": {"lead": None}})
    assert response.status_code == 201
    assert "Location" not in response.headers
    assert response.json == {
        "id": "prj_1",
        "created_at": "2026-11-21T10:00:00.000Z",
        "latest_deployment_id": "dpl_2",
        "name": "shop",
        "team": {"lead": None},
    }
    assert client.get("/v1/projects").json["projects"][-1] == response.json


def test_a_new_project_has_a_deployment_that_succeeds(client: FlaskClient, clock: Clock) -> None:
    deployment_id = client.post("/v1/projects", json={"name": "a"}).json["latest_deployment_id"]
    seen = []
    for _ in range(5):
        deployment = client.get(f"/v1/deployments/{deployment_id}").json
        seen.append(deployment["status"])
        clock.advance(1.0)
    assert seen == ["queued", "queued", "building", "building", "succeeded"]
    assert deployment == {
        "id": deployment_id,
        "project_id": "prj_1",
        "status": "succeeded",
        "created_at": "2026-11-21T10:00:00.000Z",
    }


def test_the_sample_has_a_deployment_in_each_status(client: FlaskClient, clock: Clock) -> None:
    clock.advance(10**9)
    owners = [project["id"] for project in client.get("/v1/projects").json["projects"]]
    for status in STATUSES:
        deployment = client.get(f"/v1/deployments/dpl_{status}").json
        assert (deployment["id"], deployment["status"]) == (f"dpl_{status}", status)
        assert deployment["project_id"] in owners


class BrokenStore(WorldStore):
    def list_projects(self) -> ProjectList:
        raise RuntimeError("dev-token: a secret of the store")


def test_an_exception_is_500_and_logged_without_the_token(caplog: pytest.LogCaptureFixture) -> None:
    response = client_of(make_stub(stores=StoresOf(BrokenStore))).get("/v1/projects")
    assert_problem(response, 500, "internal_error")
    assert "secret" not in response.text
    assert "RuntimeError: ***: a secret of the store" in caplog.text
    assert "dev-token" not in caplog.text


def app_alone() -> Flask:
    """The service without the stub, whose responses depend on the requests alone."""
    ids = ids_counted_by_prefix()
    return create_app(allow_list(MemoryStore(Clock(), lambda prefix: ids(prefix, "", 0))))


@pytest.mark.parametrize("name", ["session", "paths", "browsers", "like-prisma"])
def test_the_speedups_change_no_response_of_the_stub(name: str) -> None:
    lines = read(name)
    assert play(lines, speed_up) == lines


def test_the_speedups_change_no_response_of_the_service_alone() -> None:
    plain, fast = app_alone(), speed_up(app_alone())
    for line in [*read("session"), *read("paths")]:
        if "send" in line:
            assert response_to(fast, line["send"]) == response_to(plain, line["send"]), line


def test_the_service_alone_has_neither_worlds_nor_control_routes() -> None:
    app = app_alone()
    assert app.test_client().get("/openapi.json").status_code == 200
    assert_problem(app.test_client().post("/openapi.json"), 401, "token_missing")
    client = client_of(app)
    assert client.get("/v1/projects", headers={"Prefer": "code=503"}).json == {"projects": []}
    for path in ("/_stub/health", "/llms.txt"):
        assert_problem(app.test_client().get(path), 401, "token_missing")
        detail = assert_problem(client.get(path), 404, "not_found")["detail"]
        assert " /openapi.json " in detail
    for token in ("dev-token.job", "x.y/z", "team=dev-token"):
        response = client_of(app, f"Bearer {token}").get("/v1/projects")
        problem = assert_problem(response, 401, "token_invalid")
        assert problem["detail"].endswith("This request has an unknown token.")


def test_tokens_of_the_service_alone_replace_the_published_one() -> None:
    app = create_app(allow_list(MemoryStore(), ["one", "two=="]))
    for token in ("one", "two=="):
        assert client_of(app, f"Bearer {token}").get("/v1/projects").status_code == 200
    assert_problem(client_of(app).get("/v1/projects"), 401, "token_invalid")
    with pytest.raises(ValueError, match="a token is made of"):
        allow_list(MemoryStore(), ["a b"])


def test_strict_is_an_option_of_the_service_alone() -> None:
    client = client_of(create_app(strict=True))
    assert_problem(client.get("/v1/projects?page=2"), 400, "unknown_query")
    assert_invalid(client.post("/v1/projects", json={"name": "a", "b": 1}), "/b")
