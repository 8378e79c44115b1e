"""Errors of routing, and of the service itself."""

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import client_of, control_client_of, unchanged
from tests.contract import assert_invalid, assert_problem
from tests.stores import BrokenStore

UNKNOWN = (
    "/v1 /v1/ /v1/projects/ /v1//projects /v1/projects/prj_website/deployments /v1/Projects "
    "/V1/projects /v2/projects /projects /v1/deployments /v1/deployments/ "
    "/v1/deployments/dpl_failed/ /v1/deployments//dpl_failed /v1%2Fprojects /v1/projects%2f "
    "/v1/deployments%2Fdpl_failed /_stub%2Fhealth /%2Fopenapi.json /v1/../v1/projects "
    "/v1/projects%00 /v1/projects%20 /static/app.py /_stub /_stub/"
)


@pytest.mark.parametrize("path", UNKNOWN.split())
def test_any_other_path_is_404_and_never_a_redirect(client: FlaskClient, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        assert_problem(client.open(path, method=method), 404, "not_found")


@pytest.mark.parametrize("path", ["//v1/projects", "///v1/projects", "//", "//openapi.json"])
def test_a_leading_doubled_slash_is_404(client: FlaskClient, path: str) -> None:
    # The test client itself would take the slashes for those of an authority.
    response = client.get("/nowhere", environ_overrides={"PATH_INFO": path})
    assert_problem(response, 404, "not_found")


@pytest.mark.parametrize(
    ("path", "allow", "methods"),
    [
        ("/v1/projects", "GET, HEAD, POST", "PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND X"),
        ("/v1/deployments/x", "GET, HEAD", "POST PUT PATCH DELETE OPTIONS TRACE CONNECT LINK X"),
        ("/openapi.json", "GET, HEAD", "POST PUT DELETE OPTIONS"),
        ("/_stub/health", "GET, HEAD", "POST PUT DELETE OPTIONS"),
    ],
)
def test_any_other_method_is_405_with_a_sorted_allow(
    client: FlaskClient, path: str, allow: str, methods: str
) -> None:
    for method in methods.split():
        with unchanged(client):
            response = client.open(path, method=method, json={"name": "a"})
        assert_problem(response, 405, "method_not_allowed")
        assert response.headers["Allow"] == allow


def test_an_unexpected_exception_is_500_and_logged_without_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = client_of(create_app(new_store=BrokenStore))
    response = client.get("/v1/projects")
    assert_problem(response, 500, "internal_error")
    assert "secret" not in response.text
    assert "RuntimeError: ***: a secret of the store" in caplog.text
    assert "dev-token" not in caplog.text


def test_an_encoded_slash_is_part_of_an_id(client: FlaskClient, stub: FlaskClient) -> None:
    for path in ("dpl%2Ffailed", "%2F", "dpl%2ffailed", "a%2fb%20c%25", "%2F..%2Fprojects"):
        response = client.get(f"/v1/deployments/{path}")
        assert_problem(response, 404, "deployment_not_found")
        response = client.post(f"/v1/deployments/{path}")
        assert_problem(response, 405, "method_not_allowed")
    assert client.get("/v1/%64eployments/dpl%5Ffailed?a=%2F").json["status"] == "failed"
    response = stub.put("/_stub/deployments/a%2Fb", json={"status": "failed"})
    assert (response.status_code, response.json["id"]) == (201, "a/b")
    response = stub.put("/_stub/deployments/a%2Fb%0A", json={"status": "failed"})
    (error,) = assert_invalid(response, "")
    assert "cannot be created at this path" in error["detail"]


@pytest.mark.parametrize("path", ["/v1%2Fprojects", "/_stub%2Fhealth", "/%2Fopenapi.json"])
def test_the_token_is_checked_for_the_path_as_it_was_sent(
    anonymous: FlaskClient, path: str
) -> None:
    assert_problem(anonymous.get(path), 401, "token_missing")


def test_an_unknown_path_names_the_contract_that_lists_the_known_ones(stub: FlaskClient) -> None:
    for path, contract in (("/_stub/nope", " /_stub/openapi.json "), ("/v1/x", " /openapi.json ")):
        assert contract in assert_problem(stub.get(path), 404, "not_found")["detail"]
    plain = control_client_of(create_app(stub_options=None))
    assert " /openapi.json " in assert_problem(plain.get("/_stub/nope"), 404, "not_found")["detail"]


def test_an_encoded_percent_sign_is_part_of_an_id(stub: FlaskClient) -> None:
    assert stub.put("/_stub/deployments/%2F", json={"status": "failed"}).status_code == 201
    response = stub.get("/v1/deployments/%252F")
    assert_problem(response, 404, "deployment_not_found")
    response = stub.put("/_stub/deployments/%252F", json={"status": "canceled"})
    assert (response.status_code, response.json["id"]) == (201, "%2F")
    assert stub.get("/v1/deployments/%2f").json["status"] == "failed"
    path = stub.get("/_stub/requests").json["requests"][0]["path"]
    assert path == "/v1/deployments/%252F"
