"""The control routes: deployments, and what each route rejects."""

from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of
from tests.contract import assert_invalid, assert_problem
from tests.stub.conftest import snapshot, status_of


def test_a_deployment_is_made_and_replaced(stub: FlaskClient, clock: Clock) -> None:
    path = "/_stub/deployments/dpl_x"
    stages = [{"status": "queued", "seconds": 5}, {"status": "on_hold", "seconds": 0.5}]
    timeline = {"timeline": [*stages, {"status": "failed"}]}
    made = stub.put(path, json=timeline)
    assert made.status_code == 201
    assert made.json == {
        "id": "dpl_x",
        "project_id": None,
        "status": "queued",
        "created_at": "2026-11-21T10:00:00.000Z",
    }
    for seconds, status in ((5.2, "on_hold"), (1, "failed")):
        clock.advance(seconds)
        assert status_of(stub, "dpl_x") == status
    again = stub.put(path, json=timeline)
    assert (again.status_code, again.json["status"]) == (200, "queued")
    for document in ({"project_id": "prj_search"}, {"project_id": None}):  # which it keeps
        pinned = stub.put(path, json={"status": "canceled", **document})
        assert (pinned.status_code, pinned.json["project_id"]) == (200, "prj_search")
    latest = {p["id"]: p["latest_deployment_id"] for p in stub.get("/v1/projects").json["projects"]}
    assert latest["prj_search"] == "dpl_x"


def test_a_check_of_the_health_does_not_turn_the_clock(stub: FlaskClient) -> None:
    before = stub.get("/_stub/clock").json
    for path in ("/_stub/health", "/_stub/ready"):
        assert stub.get(path).json == {"status": "ok"}
    assert stub.get("/_stub/clock").json == before


def test_a_deployment_may_have_any_id_of_unreserved_characters(stub: FlaskClient) -> None:
    for deployment_id in ("a", "...", "~-._", 255 * "a"):
        response = stub.put(f"/_stub/deployments/{deployment_id}", json={"status": "failed"})
        assert response.status_code == 201
        assert status_of(stub, deployment_id) == "failed"


PUT, CLOCK, RESET, PACT, FAULTS, GREASE = (
    ("PUT", "/_stub/deployments/x"),
    ("POST", "/_stub/clock"),
    ("POST", "/_stub/reset"),
    ("POST", "/_stub/pact"),
    ("POST", "/_stub/faults"),
    ("PUT", "/_stub/grease"),
)
NO_PROJECT = {"id": "a", "status": "b", "project_id": "nope"}
FAILED = {"status": "failed"}
# A route, what is sent to it, and the places of its errors.
INVALID: list[tuple[tuple[str, str], Any, list[str]]] = [
    (PUT, [], [""]),
    (PUT, {}, [""]),
    (PUT, {"project_id": "nope", "status": "X", "id": "x"}, ["/id", "/status"]),
    *((("PUT", f"/_stub/deployments/{each}"), FAILED, ["/id"]) for each in ("a%FFb", "a%2Fb%0A")),
    (CLOCK, {"advance": 1e300, "tick": 1e300}, ["/advance", "/tick"]),
    (CLOCK, {"tick": -1}, ["/tick"]),
    (CLOCK, {"frozen": "true", "advance": None, "x": 1}, ["/advance", "/frozen", "/x"]),
    (RESET, {"projects": [{}]}, ["/projects/0/name"]),
    (PACT, {"state": 1, "params": []}, ["/params", "/state"]),
    (PACT, {"state": "a project exists", "params": {"name": 1}}, ["/params/name"]),
    (PACT, {"state": "a deployment exists", "params": {"id": "a\n"}}, ["/params/id"]),
    (FAULTS, {}, [""]),
    (GREASE, {}, ["/axes"]),
]


def test_an_invalid_control_body_is_422_and_makes_no_world(app: Flask) -> None:
    invalid = control_client_of(app, "dev-token.invalid")
    for (method, path), document, pointers in INVALID:
        assert_invalid(invalid.open(path, method=method, json=document), *pointers)
        assert_problem(invalid.open(path, method=method, data=b"{}"), 415, "unsupported_media_type")
    assert_problem(invalid.post("/_stub/pact", json={"state": "nope"}), 404, "not_found")
    worlds = control_client_of(app).get("/_stub/worlds").json["worlds"]
    assert [each["name"] for each in worlds] == [""]


def test_a_deployment_is_of_a_project_that_exists(stub: FlaskClient) -> None:
    before = snapshot(stub)
    response = stub.put("/_stub/deployments/dpl_x", json=FAILED | {"project_id": "nope"})
    assert_invalid(response, "/project_id")
    change = {"state": "a deployment exists", "params": NO_PROJECT}
    assert_invalid(stub.post("/_stub/pact", json=change), "/params/project_id")
    assert snapshot(stub) == before
