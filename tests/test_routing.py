"""Routing by the path as it was sent, under this server and others.

The scenarios `paths` and `methods` of tests/replayed have the paths and methods.
"""

from typing import Any
from wsgiref.validate import validator

from flask.testing import FlaskClient
from werkzeug.test import create_environ, run_wsgi_app

from tests.conftest import BEARER, make_stub
from web.routing import read_raw_target

# Of what a server has, and the target that was sent.
TARGETS: list[tuple[dict[str, str], str]] = [
    ({"REQUEST_URI": "/a%2Fb?c", "PATH_INFO": "/x"}, "/a%2Fb?c"),
    ({"RAW_URI": "//a%2fb", "PATH_INFO": "/x"}, "//a%2fb"),
    ({"REQUEST_URI": "HTTP://h:1/a?http://h/b"}, "/a?http://h/b"),
    ({"REQUEST_URI": "http://localhost"}, "/"),
    ({"REQUEST_URI": "https://h?a=b"}, "/?a=b"),
    ({"REQUEST_URI": "*"}, "*"),
    (
        {"PATH_INFO": "/\xc3\xa9 %", "SCRIPT_NAME": "/s", "QUERY_STRING": "c=/"},
        "/s/%C3%A9%20%25?c=/",
    ),
]
# Of the path /v1/deployments/a/b
KEYS: list[tuple[dict[str, Any], str]] = [
    ({}, "not_found"),
    ({"RAW_URI": "/v1/deployments/a%2Fb?c"}, "deployment_not_found"),
    ({"REQUEST_URI": "/mnt/v1/deployments/a%2Fb", "SCRIPT_NAME": "/mnt"}, "deployment_not_found"),
]


def test_the_path_is_what_the_server_has_of_it(anonymous: FlaskClient) -> None:
    for sent, target in TARGETS:
        assert read_raw_target({"wsgi.url_scheme": "http", "HTTP_HOST": "h", **sent}) == target
    for keys, code in KEYS:
        environ = {"PATH_INFO": "/v1/deployments/a/b", "REQUEST_URI": "", **keys}
        response = anonymous.get("/", headers=BEARER, environ_overrides=environ)
        assert response.json["code"] == code


def test_a_target_without_a_path_is_that_of_the_root() -> None:
    without_path = {"PATH_INFO": "", "REQUEST_URI": "http://localhost"}
    _, status, _ = run_wsgi_app(make_stub(), create_environ() | without_path)
    assert status == "200 OK"


def test_the_app_keeps_the_rules_of_wsgi() -> None:
    app = validator(make_stub())
    for method in ("GET", "HEAD", "POST"):
        environ = create_environ("/v1/projects", method=method, json={"name": "a"}, headers=BEARER)
        _, status, _ = run_wsgi_app(app, environ, buffered=True)
        assert status.startswith("2")
