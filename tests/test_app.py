"""The three operations over HTTP."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from auth import allow_list
from profiles.profile import make_profile
from records import ProjectList
from store import MemoryStore
from stub.store import WorldStore
from tests.conftest import Clock, client_of, control_client_of, make_stub, names, seed_of, unchanged
from tests.contract import CREATED, STATUSES, V1, assert_invalid, assert_problem
from tests.replay import ORIGIN, REQUESTS, assert_same, make_app, replay
from tests.services import DOCUMENTS
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


def projects(client: FlaskClient) -> list[Any]:
    found: list[Any] = client.get("/v1/projects").json["projects"]
    return found


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


def test_with_a_pace_of_0_a_deployment_succeeds_at_once(clock: Clock) -> None:
    client = client_of(make_stub(clock=clock, pace=0))
    project = client.post("/v1/projects", json={"name": "a"}).json
    deployment = client.get(f"/v1/deployments/{project['latest_deployment_id']}").json
    assert deployment["status"] == "succeeded"


OUTCOMES = [("shop-?", "failed"), ("shop*", "canceled"), ("[x]", "odd"), ("*", "lost")]


def test_the_name_of_a_project_chooses_the_outcome_of_its_deployments(clock: Clock) -> None:
    seed = seed_of({"projects": [{"name": "shop-s", "id": "seeded"}]})
    stub = control_client_of(make_stub(clock=clock, outcomes=OUTCOMES, seed=seed))
    created = {
        name: stub.post("/v1/projects", json={"name": name}).json["latest_deployment_id"]
        for name in ("shop-1", "shop-12", "[x]", "x", "Shop-1")
    }
    # This takes the latest deployment of a project, which gets another one.
    stub.put(
        f"/_stub/deployments/{created['shop-12']}", json={"status": "a", "project_id": "seeded"}
    )
    clock.advance(1)
    assert stub.get(f"/v1/deployments/{created['shop-1']}").json["status"] == "queued"
    clock.advance(9)
    latest = {each["name"]: each["latest_deployment_id"] for each in projects(stub)}
    found = {
        name: stub.get(f"/v1/deployments/{latest[name]}").json["status"]
        for name in ("shop-1", "shop-12", "[x]", "x", "Shop-1")
    }
    expected = ["failed", "canceled", "odd", "odd", "lost"]
    assert [*found.values()] == expected
    made = stub.post("/_stub/pact", json={"state": "a deployment exists"}).json
    assert made["status"] == "lost"


def test_a_seeded_project_without_a_deployment_has_the_outcome_of_its_name(clock: Clock) -> None:
    seed = seed_of({"projects": [{"name": "shop-s"}]})
    client = client_of(make_stub(clock=clock, outcomes=OUTCOMES, seed=seed, pace=0))
    (project,) = projects(client)
    deployment = client.get(f"/v1/deployments/{project['latest_deployment_id']}").json
    assert deployment["status"] == "failed"


def test_the_sample_has_a_deployment_in_each_status(client: FlaskClient, clock: Clock) -> None:
    clock.advance(10**9)
    owners = [project["id"] for project in client.get("/v1/projects").json["projects"]]
    for status in STATUSES:
        deployment = client.get(f"/v1/deployments/dpl_{status}").json
        assert (deployment["id"], deployment["status"]) == (f"dpl_{status}", status)
        assert deployment["project_id"] in owners


def test_head_has_the_headers_of_get_and_no_body(client: FlaskClient) -> None:
    for path in ("/v1/projects", "/v1/deployments/dpl_failed", "/v1/deployments/x", "/v1/x"):
        get, head = client.get(path), client.head(path)
        assert (head.status_code, head.headers, head.data) == (get.status_code, get.headers, b"")
        assert int(head.headers["Content-Length"]) == len(get.data)
        assert get.text.endswith("}\n")


def test_an_unknown_deployment_is_404(client: FlaskClient) -> None:
    for unknown in ("nope", "DPL_FAILED", "dpl_failed%00", "%ff", "..", 10_000 * "a"):
        response = client.get(f"/v1/deployments/{unknown}")
        problem = assert_problem(response, 404, "deployment_not_found")
        assert "latest_deployment_id" in problem["detail"]


def test_what_describes_the_client_changes_nothing(client: FlaskClient) -> None:
    plain = client.get("/v1/projects").data
    headers = {"Host": "a b\xe9", "X-HTTP-Method-Override": "DELETE", "Accept": "text/html"}
    assert client.get("/v1/projects?page=2&limit=1&%00&a", headers=headers).data == plain


def test_strict_rejects_query_parameters(clock: Clock) -> None:
    client = client_of(make_stub(strict=True, clock=clock))
    for path in ("/v1/projects?page=2", "/v1/deployments/x?a"):
        assert_problem(client.get(path), 400, "unknown_query")
    assert_problem(client.post("/v1/projects?a=1", data=b"{"), 400, "unknown_query")
    assert_problem(client.get("/v1/nope?a=1"), 404, "not_found")
    assert_problem(client.put("/v1/projects?a=1"), 405, "method_not_allowed")
    assert client.post("/v1/projects?&", json={"name": "a"}).status_code == CREATED


def test_a_name_in_use_is_409_and_another_spelling_is_another_name(client: FlaskClient) -> None:
    assert client.post("/v1/projects", json={"name": "café"}).status_code == CREATED
    with unchanged(client):
        assert_problem(client.post("/v1/projects", json={"name": "café"}), 409, "name_taken")
    for other in ("cafe\u0301", "Café", " café"):
        assert client.post("/v1/projects", json={"name": other}).status_code == CREATED
        assert names(client)[-1] == other


def test_a_full_store_is_507_after_every_other_check() -> None:
    client = client_of(make_stub(max_projects=1))
    assert client.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    with unchanged(client):
        assert_problem(client.post("/v1/projects", json={"name": "c"}), 507, "store_full")
        assert_problem(client.post("/v1/projects", json={"name": "a"}), 409, "name_taken")
        assert_invalid(client.post("/v1/projects", json={}), "/name")


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
    """The service without the stub, with the clock and the ids of the replay."""
    ids = ids_counted_by_prefix()
    return create_app(allow_list(MemoryStore(Clock(), lambda prefix: ids(prefix, "", 0))))


REPLAYED: list[Callable[[], Flask]] = [
    make_app,
    partial(make_app, cors_origins=(ORIGIN,)),
    partial(make_app, like=make_profile(DOCUMENTS["prisma"]), ids_seed=1),
    app_alone,
]


@pytest.mark.parametrize("make", REPLAYED)
def test_responses_are_the_same_with_and_without_speedups(make: Callable[[], Flask]) -> None:
    requests = [*REQUESTS, *REQUESTS]  # what is cached is the same
    assert_same(replay(speed_up(make()), requests), replay(make(), requests), requests)


def test_the_service_alone_has_its_operations_and_the_contract() -> None:
    app = app_alone()
    rules = {re.sub(r"<\w+>", "{id}", rule.rule) for rule in app.url_map.iter_rules()}
    assert rules == {*V1.document["paths"], "/openapi.json"}
    assert app.test_client().get("/openapi.json").status_code == 200
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
