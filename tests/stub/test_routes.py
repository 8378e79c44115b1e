"""The control routes: deployments, and what each route rejects."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import Clock, client_of, control_client_of
from tests.contract import assert_invalid, assert_problem
from tests.stub.conftest import snapshot, status_of


def test_a_deployment_is_made_and_replaced(stub: FlaskClient, clock: Clock) -> None:
    path = "/_stub/deployments/dpl_x"
    timeline = [{"status": "queued", "seconds": 5}, {"status": "on_hold", "seconds": 0.5}]
    made = stub.put(path, json={"timeline": [*timeline, {"status": "failed"}]})
    assert made.status_code == 201
    assert made.json == {
        "id": "dpl_x",
        "project_id": None,
        "status": "queued",
        "created_at": "2026-11-21T10:00:00.000Z",
    }
    clock.advance(5.2)
    assert status_of(stub, "dpl_x") == "on_hold"
    clock.advance(1)
    assert status_of(stub, "dpl_x") == "failed"
    again = stub.put(path, json={"timeline": [*timeline, {"status": "failed"}]})
    assert (again.status_code, again.json["status"]) == (200, "queued")
    pinned = stub.put(path, json={"status": "canceled", "project_id": "prj_search"})
    assert (pinned.status_code, pinned.json["project_id"]) == (200, "prj_search")
    latest = {
        project["id"]: project["latest_deployment_id"]
        for project in client_of(stub.application).get("/v1/projects").json["projects"]
    }
    assert latest["prj_search"] == "dpl_x"


@pytest.mark.parametrize("deployment_id", ["a", "...", "~-._", 255 * "a", "A.b"])
def test_a_deployment_may_have_any_id_of_unreserved_characters(
    stub: FlaskClient, deployment_id: str
) -> None:
    response = stub.put(f"/_stub/deployments/{deployment_id}", json={"status": "failed"})
    assert response.status_code == 201
    assert status_of(stub, deployment_id) == "failed"


def invalid_requests() -> Iterator[tuple[str, str, Any, list[str]]]:
    deployment = "/_stub/deployments/dpl_failed"
    yield from [
        ("PUT", deployment, [], [""]),
        ("PUT", deployment, {}, [""]),
        ("PUT", deployment, {"status": "failed", "timeline": [{"status": "a"}]}, [""]),
        ("PUT", deployment, {"status": "Failed"}, ["/status"]),
        ("PUT", deployment, {"status": 65 * "a"}, ["/status"]),
        ("PUT", deployment, {"status": "failed", "id": "x"}, ["/id"]),
        ("PUT", deployment, {"status": "failed", "project_id": 1}, ["/project_id"]),
        ("PUT", deployment, {"status": "failed", "project_id": "nope"}, ["/project_id"]),
        ("PUT", deployment, {"project_id": "nope", "x": 1}, ["/x", ""]),
        ("PUT", deployment, {"timeline": []}, ["/timeline"]),
        ("PUT", deployment, {"timeline": [{"status": "a", "seconds": True}, {"status": "b"}]},
         ["/timeline/0/seconds"]),
        ("PUT", "/_stub/deployments/a%0Ab", {"status": "failed"}, [""]),
        ("PUT", "/_stub/deployments/a%FFb", {"status": "failed"}, [""]),
        ("PUT", "/_stub/deployments/a%2Fb%0A", {"status": "failed"}, [""]),
        ("PUT", f"/_stub/deployments/{256 * 'a'}", {"status": "failed"}, [""]),
        ("POST", "/_stub/clock", [], [""]),
        ("POST", "/_stub/clock", {}, [""]),
        ("POST", "/_stub/clock", {"advance": -1}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": True}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": "1"}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": None, "x": 1}, ["/x", "/advance"]),
        ("POST", "/_stub/reset", [], [""]),
        ("POST", "/_stub/reset", {"project": []}, ["/project"]),
        ("POST", "/_stub/reset", {"projects": [{}]}, ["/projects/0/name"]),
        ("POST", "/_stub/faults", 1, [""]),
        ("POST", "/_stub/faults", {}, [""]),
        ("POST", "/_stub/faults", {"times": 2, "path": "/v1/*"}, [""]),
        ("POST", "/_stub/faults", {"status": 503, "dealy": 1}, ["/dealy"]),
        ("POST", "/_stub/pact", [], [""]),
        ("POST", "/_stub/pact", {}, ["/state"]),
        ("POST", "/_stub/pact", {"state": 1, "params": [], "action": "x"},
         ["/state", "/params", "/action"]),
        ("POST", "/_stub/pact", {"state": "", "action": {}}, ["/action"]),
        ("POST", "/_stub/pact", {"state": "", "action": 0}, ["/action"]),
        ("POST", "/_stub/pact", {"state": "a project exists", "params": {"name": 1}},
         ["/params/name"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params": {"status": "X"}},
         ["/params/status"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params":
         {"id": "a", "status": "b", "project_id": "nope"}}, ["/params/project_id"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params":
         {"id": "a\n", "status": "b", "project_id": "nope"}}, ["/params/id"]),
    ]  # fmt: skip
    for name, values in {
        "status": [399, 600, "503", None, True, 503.5],
        "retry_after": [-1, "1", True, None, 1.5],
        "delay": [-0.1, 30.1, "1", True, None],
        "cut": [-1, "1", True, None, 0.5],
        "times": [0, -1, "1", True, 1.5],
        "method": ["get", "", 1, None, "GET "],
        "path": ["", 1, None, 2049 * "a"],
    }.items():
        for value in values:
            document = {"status": 503, "delay": 1, name: value}
            yield "POST", "/_stub/faults", document, [f"/{name}"]


@pytest.mark.parametrize(("method", "path", "document", "pointers"), list(invalid_requests()))
def test_an_invalid_control_body_is_422_and_changes_nothing(
    stub: FlaskClient, method: str, path: str, document: Any, pointers: list[str]
) -> None:
    before = snapshot(stub)
    response = stub.open(path, method=method, json=document)
    assert_invalid(response, *pointers)
    assert snapshot(stub) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/_stub/deployments/x"),
        ("POST", "/_stub/clock"),
        ("POST", "/_stub/faults"),
        ("POST", "/_stub/reset"),
        ("POST", "/_stub/pact"),
    ],
)
def test_a_control_body_is_read_as_strictly_as_any_other(
    stub: FlaskClient, method: str, path: str
) -> None:
    def send(data: bytes, content_type: str = "application/json") -> Any:
        return stub.open(path, method=method, data=data, content_type=content_type)

    assert_problem(send(b"{}", "text/plain"), 415, "unsupported_media_type")
    for data in (b"{", b"\xff", b'{"status": "a", "status": "b"}', b"NaN", 99 * b"["):
        assert_problem(send(data), 400, "malformed_json")
    if path != "/_stub/reset":
        assert_problem(send(70_000 * b" "), 413, "body_too_large")
    assert_problem(stub.open(path, method="PATCH"), 405, "method_not_allowed")
    assert_problem(control_client_of(stub.application, "x").open(path), 401, "token_invalid")


@pytest.mark.parametrize("query", ["x=1", "status=abc", "status=", "status=20", "status=-1"])
def test_an_invalid_filter_is_400(stub: FlaskClient, query: str) -> None:
    assert_problem(stub.get(f"/_stub/requests?{query}"), 400, "unknown_query")


def test_a_replaced_deployment_keeps_its_project(stub: FlaskClient) -> None:
    made = stub.post("/v1/projects", json={"name": "a"}).json
    path = f"/_stub/deployments/{made['latest_deployment_id']}"
    assert stub.put(path, json={"status": "failed"}).json["project_id"] == made["id"]
    (project,) = (
        each for each in stub.get("/v1/projects").json["projects"] if each["id"] == made["id"]
    )
    assert project == made


def test_deployments_beside_those_of_projects_have_a_bound() -> None:
    stub = control_client_of(create_app(max_projects=3))
    for number in range(3):
        response = stub.put(f"/_stub/deployments/d{number}", json={"status": "failed"})
        assert response.status_code == 201
    response = stub.put("/_stub/deployments/d3", json={"status": "failed"})
    assert_problem(response, 507, "store_full")
    assert stub.put("/_stub/deployments/d2", json={"status": "queued"}).status_code == 200
    params = {"state": "a deployment exists", "params": {"id": "d4", "status": "failed"}}
    assert_invalid(stub.post("/_stub/pact", json=params), "/params")
