"""Faults: the next matching requests fail, wait, or are cut short."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from stub import StubOptions
from tests.conftest import SAMPLE_NAMES, Clock, control_client_of, in_parallel, names
from tests.contract import assert_invalid, assert_problem
from tests.stub.conftest import status_of, stub_of


def test_a_fault_is_used_as_often_as_requested(stub: FlaskClient) -> None:
    wanted = {"method": "GET", "path": "/v1/deployments/*", "times": 2, "status": 503}
    made = stub.post("/_stub/faults", json={**wanted, "retry_after": 7})
    assert made.status_code == 201
    fault = {"id": made.json["id"], **wanted, "retry_after": 7}
    assert made.json == {**fault, "remaining": 2}
    assert stub.get("/v1/projects").status_code == 200
    response = stub.get("/v1/deployments/dpl_failed")
    assert_problem(response, 503, "injected_fault")
    assert response.headers["Retry-After"] == "7"
    assert stub.get("/_stub/faults").json == {"faults": [{**fault, "remaining": 1}]}
    head = stub.head("/v1/deployments/a%2Fb")
    assert_problem(head, 503, "injected_fault", head=True)
    assert stub.get("/_stub/faults").json == {"faults": []}
    assert status_of(stub, "dpl_failed") == "failed"


def test_faults_are_used_in_order_and_under_v1_alone(stub: FlaskClient) -> None:
    for status in (500, 501):
        stub.post("/_stub/faults", json={"status": status, "path": "*", "times": None})
    stub.post("/_stub/faults", json={"status": 429, "method": "POST"})
    for path in ("/v1/projects", "/v1/nowhere", "/v1/projects/"):
        assert_problem(stub.get(path), 500, "injected_fault")
    assert_problem(stub.get("/elsewhere"), 404, "not_found")
    assert stub.get("/openapi.json").status_code == 200
    faults = stub.get("/_stub/faults").json["faults"]
    assert [each["remaining"] for each in faults] == [None, None, 1]
    for _ in range(2):
        assert stub.delete(f"/_stub/faults/{faults[0]['id']}").status_code == 204
    assert_problem(stub.get("/v1/projects"), 501, "injected_fault")
    assert stub.delete("/_stub/faults").status_code == 204
    assert names(stub) == SAMPLE_NAMES


def test_a_pattern_matches_the_whole_path_and_its_case(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"status": 503, "path": "/v1/PROJECTS", "times": None})
    stub.post("/_stub/faults", json={"status": 503, "path": "/v1/project", "times": None})
    assert stub.get("/v1/projects").status_code == 200


def unused_faults(app: Flask) -> list[int]:
    verdict = stub_of(app).judge()
    return [each["count"] for each in verdict.document(0)["unused_faults"]]


def test_faults_have_a_bound_and_unused_ones_have_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stub.faults.MAX_FAULTS", 10)
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 10)  # as many unused faults are kept
    stub = control_client_of(create_app())
    for _ in range(10):
        assert stub.post("/_stub/faults", json={"status": 503}).status_code == 201
    assert_invalid(stub.post("/_stub/faults", json={"status": 503}), "")
    assert len(stub.get("/_stub/faults").json["faults"]) == 10
    for method, path in (("DELETE", "/_stub/faults"), ("POST", "/_stub/reset")):
        stub.open(path, method=method)
        stub.post("/_stub/faults", json={"status": 503})
        stub.open(path, method=method)
        assert unused_faults(stub.application) == [10]


def test_a_request_whose_response_is_cut_is_carried_out(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"method": "POST", "cut": 5})
    response = stub.post("/v1/projects", json={"name": "a"})
    assert response.status_code == 201
    assert response.data == b'{"id"'
    assert int(response.headers["Content-Length"]) > 100
    assert names(stub) == [*SAMPLE_NAMES, "a"]
    stub.post("/_stub/faults", json={"cut": 0, "status": 502})
    assert stub.get("/v1/projects").data == b""
    stub.post("/_stub/faults", json={"cut": 10**6})
    assert names(stub) == [*SAMPLE_NAMES, "a"]


def test_a_delayed_request_is_carried_out_first(clock: Clock) -> None:
    waits: list[tuple[float, list[str]]] = []

    def sleep(seconds: float) -> None:
        (meanwhile,) = in_parallel([lambda: names(control_client_of(app))])
        waits.append((seconds, meanwhile))

    app = create_app(clock=clock, stub_options=StubOptions(sleep=sleep))
    stub = control_client_of(app)
    stub.post("/_stub/faults", json={"delay": 0.5, "method": "POST"})
    stub.post("/_stub/faults", json={"delay": 30, "method": "POST", "status": 504})
    assert stub.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert_problem(stub.post("/v1/projects", json={"name": "b"}), 504, "injected_fault")
    assert waits == [(0.5, ["a"]), (30, ["a"])]


def test_a_pattern_has_at_most_256_characters(stub: FlaskClient) -> None:
    assert stub.post("/_stub/faults", json={"path": 256 * "*", "status": 503}).status_code == 201
    response = stub.post("/_stub/faults", json={"path": 257 * "*", "status": 503})
    assert_invalid(response, "/path")


def test_the_first_1024_characters_of_a_path_are_matched(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"path": "*x", "status": 503, "times": None})
    for length, status in ((1024, 503), (1025, 404)):
        assert stub.get(f"{'/v1/'.ljust(length - 1, 'a')}x").status_code == status


def test_a_fault_may_name_an_operation(stub: FlaskClient) -> None:
    response = stub.post("/_stub/faults", json={"operation": "getDeployment", "status": 503})
    assert response.json["operation"] == "getDeployment"
    for path in ("/v1/projects", "/v1/deployments", "/v1/deployments/a/b"):
        assert stub.get(path).status_code != 503
    assert stub.head("/v1/deployments/x").status_code == 503
    assert stub.get("/v1/deployments/x").status_code == 404


def test_an_operation_stands_in_place_of_method_and_path(stub: FlaskClient) -> None:
    for more, pointer in (
        ({"operation": "deleteProject"}, "/operation"),
        ({"operation": None}, "/operation"),
        ({"operation": ["createProject"]}, "/operation"),
        ({"operation": "createProject", "method": "POST"}, ""),
        ({"operation": "createProject", "path": "/v1/*"}, ""),
    ):
        response = stub.post("/_stub/faults", json={"status": 503, **more})
        assert_invalid(response, pointer)
    assert stub.get("/_stub/faults").json["faults"] == []
