"""Routing by the path as it was sent, under this server and others."""

from threading import Thread
from typing import Any
from urllib.request import Request, urlopen
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.util import setup_testing_defaults

import pytest
from flask import Flask, Response, url_for
from flask.testing import FlaskClient
from werkzeug.test import run_wsgi_app

from app import create_app
from tests.conftest import BEARER, SAMPLE_SEED, control_client_of, unchanged
from tests.contract import assert_problem
from web.access_log import line_of
from web.redaction import Redactor
from web.routing import raw_target

UNKNOWN = (
    "/v1 /v1/ /v1/projects/ /v1//projects /v1/projects/prj_website/deployments /v1/Projects "
    "/V1/projects /v2/projects /projects /v1/deployments /v1/deployments/ "
    "/v1/deployments/dpl_failed/ /v1/deployments//dpl_failed /v1%2Fprojects /v1/projects%2f "
    "/v1/deployments%2Fdpl_failed /_stub%2Fhealth /%2Fopenapi.json /v1/../v1/projects "
    "/v1/projects%00 /v1/projects%20 /static/app.py /_stub /_stub/"
)


def test_any_other_path_is_404_and_never_a_redirect(client: FlaskClient) -> None:
    for path in UNKNOWN.split():
        for method in ("GET", "POST", "OPTIONS"):
            assert_problem(client.open(path, method=method), 404, "not_found")
    for path in ("//v1/projects", "///v1/projects", "//", "//openapi.json"):
        # The test client itself would take the slashes for those of an authority.
        response = client.get("/nowhere", environ_overrides={"PATH_INFO": path})
        assert_problem(response, 404, "not_found")


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


def test_an_encoded_slash_is_part_of_an_id(client: FlaskClient, stub: FlaskClient) -> None:
    for path in ("dpl%2Ffailed", "%2F", "dpl%2ffailed", "a%2fb%20c%25", "%2F..%2Fprojects"):
        response = client.get(f"/v1/deployments/{path}")
        assert_problem(response, 404, "deployment_not_found")
        response = client.post(f"/v1/deployments/{path}")
        assert_problem(response, 405, "method_not_allowed")
    assert client.get("/v1/%64eployments/dpl%5Ffailed?a=%2F").json["status"] == "failed"
    response = stub.put("/_stub/deployments/a%2Fb", json={"status": "failed"})
    assert (response.status_code, response.json["id"]) == (201, "a/b")


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


TARGETS: list[tuple[dict[str, Any], str]] = [
    ({"REQUEST_URI": "/a%2Fb?c", "PATH_INFO": "/x"}, "/a%2Fb?c"),
    ({"RAW_URI": "//a%2fb", "PATH_INFO": "/x"}, "//a%2fb"),
    ({"REQUEST_URI": "HTTP://h:1/a?http://h/b"}, "/a?http://h/b"),
    ({"REQUEST_URI": "*"}, "*"),
    ({"PATH_INFO": "/a/b: %", "QUERY_STRING": "c=/%2F"}, "/a/b:%20%25?c=/%2F"),
    ({"PATH_INFO": "/\xc3\xa9", "SCRIPT_NAME": "/s"}, "/s/%C3%A9"),
]


def test_the_target_is_what_the_server_has_of_it() -> None:
    for environ, target in TARGETS:
        assert raw_target(environ) == target


KEYS: dict[str, dict[str, str]] = {
    "only PATH_INFO": {},
    "RAW_URI": {"RAW_URI": "/v1/deployments/a%2Fb?c"},
    "REQUEST_URI": {"REQUEST_URI": "/v1/deployments/a%2Fb?c"},
    "mounted": {"REQUEST_URI": "/mnt/v1/deployments/a%2Fb?c", "SCRIPT_NAME": "/mnt"},
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_an_encoded_slash_is_in_an_id_where_the_server_tells(keys: dict[str, str]) -> None:
    environ = {"PATH_INFO": "/v1/deployments/a/b", **keys}
    environ |= {"HTTP_AUTHORIZATION": BEARER["Authorization"]}
    setup_testing_defaults(environ)
    body, _, _ = run_wsgi_app(create_app(), environ, buffered=True)
    assert (b"deployment_not_found" in b"".join(body)) == bool(keys)


def test_what_is_empty_may_be_left_out() -> None:
    environ: dict[str, Any] = {"HTTP_AUTHORIZATION": BEARER["Authorization"], "SCRIPT_NAME": "/mnt"}
    setup_testing_defaults(environ)
    _, status, _ = run_wsgi_app(create_app(), environ)
    assert status == "200 OK"


def test_the_app_runs_on_the_server_of_the_standard_library() -> None:
    lines: list[str] = []

    def log(response: Response) -> Response:
        lines.append(line_of(response).text(Redactor([])).rpartition(" 2")[0])
        return response

    class Quiet(WSGIRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    app: Flask = create_app(seed=SAMPLE_SEED, log=log)
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        for path, body in (
            ("/v1/projects?a=%2F", b'{"name": "a"}'),
            ("/v1/deployments/dpl%5Ffailed", None),
        ):
            thread = Thread(target=server.handle_request)
            thread.start()
            headers = {**BEARER, "Content-Type": "application/json"}
            with urlopen(Request(url + path, body, headers)) as response:
                assert response.status == (201 if body else 200)
            thread.join()
    assert lines == ["#1 POST /v1/projects?a=%2F", "#2 GET /v1/deployments/dpl_failed"]


def test_a_url_cannot_be_built() -> None:
    with create_app().test_request_context(), pytest.raises(NotImplementedError, match="url_for"):
        url_for("v1.list_projects")
