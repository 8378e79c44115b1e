"""The seed document: a reset with it makes its state, or reports every error."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import SAMPLE_NAMES, Clock, control_client_of, counting_ids, make_stub, names
from tests.contract import assert_problem
from tests.stub.conftest import Clients, status_of

NOW = "2026-11-21T10:00:00.000Z"


def reset(app: Flask, document: Any) -> TestResponse:
    """The response to a reset with a seed document, or with its text."""
    text = document if isinstance(document, str) else json.dumps(document)
    client = control_client_of(app)
    return client.post("/_stub/reset", data=text, content_type="application/json")


def seeded(document: Any, clock: Clock) -> FlaskClient:
    """A client of an app in the state of a seed document."""
    app = make_stub(clock=clock, new_id=counting_ids())
    response = reset(app, document)
    assert response.status_code == 204, response.text
    return control_client_of(app)


def test_members_that_are_left_out_are_made_as_post_makes_them(clock: Clock) -> None:
    document = {
        "projects": [{"name": "a", "tags": ["x", 1.0]}, {"name": "b", "id": "prj_1"}],
        "deployments": [{"id": "dpl_3", "status": "failed"}],
    }
    client = seeded(document, clock)
    first, second = client.get("/v1/projects").json["projects"]
    made = {"id": "prj_2", "created_at": NOW, "latest_deployment_id": "dpl_4"}
    assert first == {**made, "name": "a", "tags": ["x", 1.0]}
    assert (second["id"], second["latest_deployment_id"]) == ("prj_1", "dpl_5")
    statuses = []
    for _ in range(3):
        statuses.append(status_of(client, "dpl_4"))
        clock.advance(2)
    assert statuses == ["queued", "building", "succeeded"]


def test_a_projects_latest_deployment_is_the_last_that_names_it(clock: Clock) -> None:
    deployments = [
        {"id": "d1", "project_id": "p", "status": "succeeded"},
        {"id": "d2", "project_id": "p", "status": "failed", "created_at": NOW},
        {"id": "d3", "project_id": None, "status": "canceled"},
    ]
    projects = [{"name": "a", "id": "p"}, {"name": "b", "id": "q"}]
    client = seeded({"projects": projects, "deployments": deployments}, clock)
    listed = client.get("/v1/projects").json["projects"]
    assert [each["latest_deployment_id"] for each in listed] == ["d2", "dpl_1"]
    owners = [client.get(f"/v1/deployments/{each}").json["project_id"] for each in ("d1", "d3")]
    assert owners == ["p", None]


def of(*projects: Any, **more: Any) -> Any:
    return {"projects": [{"name": "x", "id": "x"}, *projects], **more}


def test_a_seed_has_a_limit_and_is_strict_json(
    stub: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.routes.MAX_SEED_BYTES", 100_000)  # more than those of a body
    seed = json.dumps({"projects": [{"name": "a"}]}).ljust(100_000)
    assert_problem(reset(stub.application, seed + " "), 413, "body_too_large")
    for value in ("1e999", 32 * "[" + 32 * "]"):  # in a project, which is a level itself
        response = reset(stub.application, f'{{"projects": [{{"name": "a", "x": {value}}}]}}')
        assert_problem(response, 400, "malformed_json")
    assert names(stub) == SAMPLE_NAMES
    deep = f'{{"projects": [{{"name": "deep", "x": {31 * "["}{31 * "]"}}}]}}'
    for document, name in ((seed, "a"), (deep, "deep")):
        assert reset(stub.application, document).status_code == 204
        assert names(stub) == [name]


def test_a_seed_is_the_state_until_the_next_reset(stub: FlaskClient, world: Clients) -> None:
    named = world("w")
    assert named.post("/_stub/reset", json={"projects": [{"name": "a"}]}).status_code == 204
    assert names(named) == ["a"]
    assert names(stub) == SAMPLE_NAMES
    for empty in ("{}", '{"deployments": [], "projects": []}'):
        response = named.post("/_stub/reset", data=empty, content_type="application/json")
        assert (response.status_code, names(named)) == (204, [])
    assert named.post("/_stub/reset").status_code == 204
    assert names(named) == SAMPLE_NAMES
