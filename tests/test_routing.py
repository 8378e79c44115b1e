"""Routing by the path as it was sent, under this server and others."""

from typing import Any
from wsgiref.validate import validator

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import create_environ, run_wsgi_app

from tests.conftest import BEARER, make_stub, unchanged
from tests.contract import assert_problem
from web.routing import raw_target

UNKNOWN = (
    "/v1 /v1/ /v1/projects/ /v1//projects /V1/projects /projects /v1/deployments/ "
    "/v1/deployments/dpl_failed/ /v1/deployments//dpl_failed /v1%2Fprojects "
    "/v1/deployments%2Fdpl_failed /_stub%2Fhealth /%2Fopenapi.json /v1/../v1/projects "
    "/v1/projects%00 /v1/projects%20 /static/app.py /_stub /_stub/"
)


def test_any_other_path_is_404_and_never_a_redirect(
    app: Flask, client: FlaskClient, stub: FlaskClient
) -> None:
    for path in UNKNOWN.split():
        for method in ("GET", "POST", "OPTIONS"):
            assert_problem(client.open(path, method=method), 404, "not_found")
    for path in ("//v1/projects", "///v1/projects", "//", "//openapi.json"):
        # The test client itself would take the slashes for those of an authority.
        for key in ("REQUEST_URI", "PATH_INFO"):
            environ = {"REQUEST_URI": "", "RAW_URI": "", key: path}
            sent = {"headers": BEARER, "environ_overrides": environ}
            response = app.test_client().get("/v1/projects", **sent)
            assert_problem(response, 404, "not_found")
            recorded = stub.get("/_stub/requests?limit=1&before=9999").json["requests"]
            assert [each["path"] for each in recorded] == [path]


METHODS = [
    ("/v1/projects", "GET, HEAD, POST", "PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND X"),
    ("/v1/deployments/x", "GET, HEAD", "POST PUT PATCH DELETE OPTIONS TRACE CONNECT LINK X"),
    ("/openapi.json", "GET, HEAD", "POST PUT DELETE OPTIONS"),
    ("/_stub/health", "GET, HEAD", "POST PUT DELETE OPTIONS"),
]


def test_any_other_method_is_405_with_a_sorted_allow(client: FlaskClient) -> None:
    for path, allow, methods in METHODS:
        with unchanged(client):
            for method in methods.split():
                response = client.open(path, method=method, json={"name": "a"})
                assert_problem(response, 405, "method_not_allowed")
                assert response.headers["Allow"] == allow


def test_an_encoded_slash_or_percent_is_part_of_an_id(
    app: Flask, client: FlaskClient, stub: FlaskClient
) -> None:
    for path in ("%2F", "dpl%2ffailed", "a%2fb%20c%25", "%2F..%2Fprojects"):
        response = client.get(f"/v1/deployments/{path}")
        assert_problem(response, 404, "deployment_not_found")
        response = client.post(f"/v1/deployments/{path}")
        assert_problem(response, 405, "method_not_allowed")
    assert stub.get("/v1/%64eployments/dpl%5Ffailed?a=%2F").json["status"] == "failed"
    for path, status, made in (("a%2Fb", "failed", "a/b"), ("a%252Fb", "canceled", "a%2Fb")):
        response = stub.put(f"/_stub/deployments/{path}", json={"status": status})
        assert (response.status_code, response.json["id"]) == (201, made)
    assert stub.get("/v1/deployments/a%2fb").json["status"] == "failed"
    assert stub.get("/v1/deployments/a%252Fb").json["status"] == "canceled"
    path = stub.get("/_stub/requests").json["requests"][-1]["path"]
    assert path == "/v1/deployments/a%252Fb"


def test_an_unknown_path_names_the_contract_that_lists_the_known_ones(stub: FlaskClient) -> None:
    for path, contract in (("/_stub/nope", " /_stub/openapi.json "), ("/v1/x", " /openapi.json ")):
        assert contract in assert_problem(stub.get(path), 404, "not_found")["detail"]


TARGETS: list[tuple[dict[str, Any], str]] = [
    ({"REQUEST_URI": "/a%2Fb?c", "PATH_INFO": "/x"}, "/a%2Fb?c"),
    ({"RAW_URI": "//a%2fb", "PATH_INFO": "/x"}, "//a%2fb"),
    ({"REQUEST_URI": "HTTP://h:1/a?http://h/b"}, "/a?http://h/b"),
    ({"REQUEST_URI": "http://localhost"}, "/"),
    ({"REQUEST_URI": "https://h?a=b"}, "/?a=b"),
    ({"REQUEST_URI": "*"}, "*"),
    ({"PATH_INFO": "/a/b %", "QUERY_STRING": "c=/%2F"}, "/a/b%20%25?c=/%2F"),
    ({"PATH_INFO": "/\xc3\xa9", "SCRIPT_NAME": "/s"}, "/s/%C3%A9"),
]


def test_the_target_is_what_the_server_has_of_it() -> None:
    for environ, target in TARGETS:
        assert raw_target({"wsgi.url_scheme": "http", "HTTP_HOST": "h", **environ}) == target


KEYS: list[tuple[dict[str, str], str]] = [
    ({}, "not_found"),
    ({"RAW_URI": "/v1/deployments/a%2Fb?c"}, "deployment_not_found"),
    ({"REQUEST_URI": "/mnt/v1/deployments/a%2Fb", "SCRIPT_NAME": "/mnt"}, "deployment_not_found"),
]


def test_an_encoded_slash_is_in_an_id_where_the_server_tells(anonymous: FlaskClient) -> None:
    for keys, code in KEYS:
        environ = {"PATH_INFO": "/v1/deployments/a/b", "REQUEST_URI": "", **keys}
        response = anonymous.get("/", headers=BEARER, environ_overrides=environ)
        assert response.json["code"] == code


def test_the_app_keeps_the_rules_of_wsgi() -> None:
    app = validator(make_stub())
    for method in ("GET", "HEAD", "POST"):
        environ = create_environ("/v1/projects", method=method, json={"name": "a"}, headers=BEARER)
        _, status, _ = run_wsgi_app(app, environ, buffered=True)
        assert status.startswith("2")
