"""What a request depends on that nobody promises, and which rule it breaks."""

from typing import Any
from urllib.parse import unquote

import pytest
from flask.testing import FlaskClient

from tests.contract import STUB, V1
from tests.stub.conftest import entries


def test_a_fault_may_name_each_operation() -> None:
    named = STUB.components["schemas"]["FaultInput"]["properties"]["operation"]["enum"]
    assert named == [operation["operationId"] for _, _, operation in V1.operations()]


@pytest.mark.parametrize(
    ("method", "path", "authorization", "expected"),
    [
        ("GET", "/v1/projects", "Bearer dev-token", ("listProjects", 200, None, [], [])),
        ("HEAD", "/v1/projects", "Bearer dev-token", ("listProjects", 200, None, [], [])),
        ("GET", "/v1/deployments/x", "Bearer dev-token",
         ("getDeployment", 404, "deployment_not_found", [], [])),
        ("GET", "/v1/deployments/x", "Bearer wrong",
         ("getDeployment", 401, "token_invalid", [], [])),
        ("GET", "/v1/deployments/x", "Bearer wrong+/==",
         ("getDeployment", 401, "token_invalid", [], [])),
        ("GET", "/v1/projects", "",
         ("listProjects", 401, "token_missing", [], ["listProjects: no Authorization header"])),
        ("GET", "/v1/projects", "bearer wrong",
         ("listProjects", 401, "token_invalid", [],
          ["listProjects: an Authorization header of another form"])),
        ("DELETE", "/v1/projects", "Bearer dev-token",
         (None, 405, "method_not_allowed", [], ["no operation: DELETE /v1/projects"])),
        ("GET", "/v2/projects", "Bearer dev-token",
         (None, 404, "not_found", [], ["no operation: GET /v2/projects"])),
        ("GET", "//v1/projects", "Bearer dev-token",
         (None, 404, "not_found", [], ["no operation: GET //v1/projects"])),
        ("GET", "/v1/a%0ab", "",
         (None, 401, "token_missing", [],
          ["no operation: no Authorization header", "no operation: GET /v1/a?b"])),
    ],
)  # fmt: skip
def test_unpromised_things_and_violations_are_named(
    stub: FlaskClient, method: str, path: str, authorization: str, expected: tuple[Any, ...]
) -> None:
    environ = {"HTTP_AUTHORIZATION": authorization, "PATH_INFO": unquote(path)}
    stub.open("/", method=method, environ_overrides=environ)
    (entry,) = entries(stub)
    names = ("operation", "status", "code", "unpromised", "violations")
    assert tuple(entry[name] for name in names) == expected


def test_members_of_a_rejected_body_are_named(stub: FlaskClient) -> None:
    for text, content_type, status in (
        ('"x"', "text/plain", 415),
        (f'"{70_000 * "x"}"', "application/json", 413),
        (5000 * "9", "application/json", 400),
    ):
        body = f'{{"name": "a", "team": 1, "x": {text}}}'
        stub.post("/v1/projects", data=body, content_type=content_type)
        entry = entries(stub)[-1]
        assert entry["status"] == status
        assert entry["unpromised"] == [
            f"createProject: body member {each}" for each in ("team", "x")
        ]
