"""Errors of routing, and of the service itself."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import client_of, unchanged
from tests.contract import assert_problem

pytestmark = pytest.mark.usefixtures("both_speeds")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/projects/",
        "/v1//projects",
        "/v1/projects/prj_website",
        "/v1/Projects",
        "/V1/projects",
        "/v2/projects",
        "/projects",
        "/v1/deployments",
        "/v1/deployments/",
        "/v1/deployments/dpl_failed/",
        "/v1/deployments//dpl_failed",
        "/v1/deployments/dpl%2Ffailed",
        "/v1/deployments/%2F",
        "/v1/../v1/projects",
        "/v1/projects%00",
        "/v1/projects%20",
        "/static/app.py",
        "/_stub",
        "/_stub/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_any_other_path_is_404_and_never_a_redirect(
    client: FlaskClient, method: str, path: str
) -> None:
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


class BrokenStore:
    """A store that fails."""

    def reset(self, *records: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("dev-token: a secret of the store")


def test_an_unexpected_exception_is_500_and_logged_without_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = client_of(create_app(new_store=lambda *_, **__: BrokenStore()))
    response = client.get("/v1/projects")
    assert_problem(response, 500, "internal_error")
    assert "secret" not in response.text
    assert "RuntimeError: ***: a secret of the store" in caplog.text
    assert "dev-token" not in caplog.text
