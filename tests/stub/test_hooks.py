"""What happens to a request before and after the view."""

from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import SAMPLE_NAMES, control_client_of, names
from tests.contract import CREATED, assert_problem
from tests.stub.conftest import coverage, entries


def test_a_fault_comes_after_the_token_and_before_every_other_check(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"status": 409, "times": None})
    wrong = control_client_of(stub.application, "wrong")
    assert_problem(wrong.get("/v1/projects"), 401, "token_invalid")
    assert_problem(stub.post("/v1/projects", data=b"{"), 409, "name_taken")
    assert_problem(stub.delete("/v1/projects"), 409, "injected_fault")
    stub.delete("/_stub/faults")
    assert names(stub) == SAMPLE_NAMES


def test_a_fault_overrides_a_preference(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"delay": 0})
    preferred = stub.post("/v1/projects", json={"name": "a"}, headers={"Prefer": "code=409"})
    assert preferred.status_code == CREATED
    stub.post("/_stub/faults", json={"status": 503})
    prefer = {"Prefer": "code=409"}
    assert_problem(stub.get("/v1/projects", headers=prefer), 503, "injected_fault")


def test_a_preferred_outcome_is_that_of_the_operation(stub: FlaskClient) -> None:
    headers = {"Prefer": "code=404"}
    response = stub.get("/v1/deployments/dpl_failed", headers=headers)
    assert_problem(response, 404, "deployment_not_found")
    assert_problem(stub.get("/v1/nowhere", headers=headers), 404, "not_found")
    prefer = {"Prefer": "code=405"}
    known, unknown = (stub.get(path, headers=prefer) for path in ("/v1/projects", "/v1/x"))
    assert known.headers["Allow"] == "GET, HEAD, POST"
    assert "Allow" not in unknown.headers


def test_control_routes_and_open_paths_are_not_recorded(app: Flask, stub: FlaskClient) -> None:
    for path in ("/_stub/health", "/_stub/nope", "/openapi.json", "/llms.txt", "/", "/_stub/state"):
        stub.get(path)
        app.test_client().get(path)
    assert entries(stub) == []
    assert coverage(stub)["met"] == 0
