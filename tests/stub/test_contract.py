"""What a request depends on that nobody promises, and which rule it breaks."""

from urllib.parse import unquote

from flask.testing import FlaskClient

from tests.contract import STUB, V1
from tests.stub.conftest import entries


def test_a_fault_may_name_each_operation() -> None:
    named = STUB.components["schemas"]["FaultInput"]["properties"]["operation"]["enum"]
    assert named == [operation["operationId"] for _, _, operation in V1.operations()]


VALID = "Bearer dev-token"
NO_HEADER, OTHER_FORM = "no Authorization header", "an Authorization header of another form"
# A request, its operation, the response, and what it violates.
REQUESTS = [
    ("GET /v1/projects", VALID, "listProjects", 200, []),
    ("HEAD /v1/projects", VALID, "listProjects", 200, []),
    ("GET /v1/deployments/x", VALID, "getDeployment", 404, []),
    ("GET /v1/deployments/x", "Bearer wrong", "getDeployment", 401, []),
    ("GET /v1/deployments/x", "Bearer wrong+/==", "getDeployment", 401, []),
    ("GET /v1/projects", "", "listProjects", 401, [f"listProjects: {NO_HEADER}"]),
    ("GET /v1/projects", "bearer wrong", "listProjects", 401, [f"listProjects: {OTHER_FORM}"]),
    ("DELETE /v1/projects", VALID, None, 405, ["no operation: DELETE /v1/projects"]),
    ("GET /v2/projects", VALID, None, 404, ["no operation: GET /v2/projects"]),
    ("GET //v1/projects", VALID, None, 404, ["no operation: GET //v1/projects"]),
    ("GET /v1/a%0ab", "", None, 401,
     [f"no operation: {NO_HEADER}", "no operation: GET /v1/a?b"]),
]  # fmt: skip


def test_operations_and_violations_are_named(stub: FlaskClient) -> None:
    for line, authorization, operation, status, violations in REQUESTS:
        method, path = line.split()
        sent = {"PATH_INFO": unquote(path), "REQUEST_URI": "", "RAW_URI": ""}
        environ = {"HTTP_AUTHORIZATION": authorization, **sent}
        stub.open("/", method=method, environ_overrides=environ)
        entry = entries(stub)[-1]
        assert (entry["operation"], entry["status"]) == (operation, status)
        assert (entry["unpromised"], entry["violations"]) == ([], violations)


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
