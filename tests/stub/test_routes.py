"""The control routes: deployments, and what each route rejects."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
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
    pinned = stub.put(path, json={"status": "canceled", "project_id": "prj_search"})
    assert (pinned.status_code, pinned.json["project_id"]) == (200, "prj_search")
    kept = stub.put(path, json={"status": "failed", "project_id": None})
    assert (kept.status_code, kept.json["project_id"]) == (200, "prj_search")
    projects = stub.get("/v1/projects").json["projects"]
    assert [each["latest_deployment_id"] for each in projects if each["id"] == "prj_search"] == [
        "dpl_x"
    ]


def test_a_deployment_may_have_any_id_of_unreserved_characters(stub: FlaskClient) -> None:
    for deployment_id in ("a", "...", "~-._", 255 * "a"):
        response = stub.put(f"/_stub/deployments/{deployment_id}", json={"status": "failed"})
        assert response.status_code == 201
        assert status_of(stub, deployment_id) == "failed"


def test_deployments_beside_those_of_projects_have_a_bound() -> None:
    stub = control_client_of(create_app(max_projects=3))
    pinned = {"status": "failed"}
    for deployment_id in ("d1", "d2", "d3"):
        assert stub.put(f"/_stub/deployments/{deployment_id}", json=pinned).status_code == 201
    assert_problem(stub.put("/_stub/deployments/d4", json=pinned), 507, "store_full")
    assert_invalid(stub.post("/_stub/pact", json={"state": "a deployment exists"}), "")


PUT, CLOCK, RESET, PACT = (
    ("PUT", "/_stub/deployments/dpl_failed"),
    ("POST", "/_stub/clock"),
    ("POST", "/_stub/reset"),
    ("POST", "/_stub/pact"),
)
NO_PROJECT = {"id": "a", "status": "b", "project_id": "nope"}
# A route, what is sent to it, and the places of its errors.
INVALID: list[tuple[tuple[str, str], Any, list[str]]] = [
    (PUT, [], [""]),
    (PUT, {}, [""]),
    (PUT, {"status": "failed", "timeline": [{"status": "a"}]}, [""]),
    (PUT, {"status": "failed", "id": "x"}, ["/id"]),
    (PUT, {"status": "failed", "project_id": 1}, ["/project_id"]),
    (PUT, {"status": "failed", "project_id": "nope"}, ["/project_id"]),
    (PUT, {"project_id": "nope", "status": "X", "x": 1}, ["/x", "/status"]),
    (("PUT", "/_stub/deployments/a%0Ab"), {"status": "failed"}, ["/id"]),
    (("PUT", "/_stub/deployments/a%FFb"), {"status": "failed"}, ["/id"]),
    (("PUT", "/_stub/deployments/a%2Fb%0A"), {"status": "failed"}, ["/id"]),
    (("PUT", f"/_stub/deployments/{256 * 'a'}"), {"status": "failed"}, ["/id"]),
    (CLOCK, [], [""]),
    (CLOCK, {"advance": -1}, ["/advance"]),
    (CLOCK, {"advance": True}, ["/advance"]),
    (CLOCK, {"advance": "1"}, ["/advance"]),
    (CLOCK, {"advance": None, "x": 1}, ["/x", "/advance"]),
    (RESET, {"projects": [{}]}, ["/projects/0/name"]),
    (PACT, [], [""]),
    (PACT, {}, ["/state"]),
    (PACT, {"state": 1, "params": []}, ["/state", "/params"]),
    (PACT, {"state": "a project exists", "params": {"name": 1}}, ["/params/name"]),
    (PACT, {"state": "a project exists", "params": {"name": " "}}, ["/params/name"]),
    (PACT, {"state": "a deployment exists", "params": {"status": "X"}}, ["/params/status"]),
    (PACT, {"state": "a deployment exists", "params": NO_PROJECT}, ["/params/project_id"]),
    (PACT, {"state": "a deployment exists", "params": {"id": "a\n"}}, ["/params/id"]),
]


@pytest.mark.parametrize(("route", "document", "pointers"), INVALID)
def test_an_invalid_control_body_is_422_and_changes_nothing(
    stub: FlaskClient, route: tuple[str, str], document: Any, pointers: list[str]
) -> None:
    before = snapshot(stub)
    method, path = route
    assert_invalid(stub.open(path, method=method, json=document), *pointers)
    assert snapshot(stub) == before


@pytest.mark.parametrize(("method", "path"), [PUT, CLOCK, RESET, PACT, ("POST", "/_stub/faults")])
def test_a_control_body_is_read_as_strictly_as_any_other(
    stub: FlaskClient, method: str, path: str
) -> None:
    def send(data: bytes, content_type: str = "application/json") -> Any:
        return stub.open(path, method=method, data=data, content_type=content_type)

    assert_problem(send(b"{}", "text/plain"), 415, "unsupported_media_type")
    for data in (b"{", b'{"status": "a", "status": "b"}', 99 * b"["):
        assert_problem(send(data), 400, "malformed_json")
    if path != "/_stub/reset":
        assert_problem(send(70_000 * b" "), 413, "body_too_large")
    assert_problem(control_client_of(stub.application, "x").open(path), 401, "token_invalid")
