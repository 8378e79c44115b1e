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


PREFERRED = [
    ("code=409", 409, "name_taken"),
    ("code=401", 401, "token_invalid"),
    ("code=405", 405, "method_not_allowed"),
    ("code=422", 422, "invalid_body"),
    ("code=404", 404, "injected_fault"),
    ("code=599", 599, "injected_fault"),
    ('code="503"', 503, "injected_fault"),
    ("Code = 503", 503, "injected_fault"),
    ('wait=10; foo="a, code=500", CODE = "503"; bar=1', 503, "injected_fault"),
    ("code=503, code=409", 503, "injected_fault"),
    ("code=429", 429, "injected_fault"),
]


def test_a_request_may_prefer_an_error_and_a_fault_is_the_same(stub: FlaskClient) -> None:
    for prefer, status, code in PREFERRED:
        stub.post("/_stub/faults", json={"status": status, "operation": "createProject"})
        by_fault = stub.post("/v1/projects", json={"name": "a"})
        response = stub.post("/v1/projects", json={"name": "a"}, headers={"Prefer": prefer})
        assert_problem(response, status, code)
        assert by_fault.data == response.data
        assert "was requested" in response.json["detail"]
        assert response.headers["Preference-Applied"] == f"code={status}"
        assert response.headers.get("Retry-After") == ("1" if status in (429, 503) else None)
        assert ('error="invalid_token"' in str(response.headers)) == (status == 401)
    assert names(stub) == SAMPLE_NAMES


def test_any_other_preference_is_ignored(stub: FlaskClient) -> None:
    for number, prefer in enumerate((
        "code=200", "code=399", "code=600", "code", "code=", "code=5O3", "code=٥٠٣", "",
        "xcode=503", 'x="a, code=503, b"', '"code=503"', '"code"=503', 'code="503', "wait=1",
    )):  # fmt: skip
        headers = {"Prefer": prefer.encode().decode("latin-1")}
        response = stub.post("/v1/projects", json={"name": f"{number}"}, headers=headers)
        assert response.status_code == CREATED, prefer
        assert "Preference-Applied" not in response.headers


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
