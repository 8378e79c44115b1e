"""What a request depends on that nobody promises, and which rule it breaks."""

from copy import deepcopy
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from stub import Contract
from stub.clock import MAX_ADVANCE
from stub.faults import MAX_DELAY
from stub.grease.axes import MAX_SEED
from stub.rules import KEYWORDS, schemas
from tests.contract import STUB, V1
from tests.stub.conftest import entries


def test_a_fault_may_name_each_operation() -> None:
    named = STUB.components["schemas"]["FaultInput"]["properties"]["operation"]["enum"]
    assert named == [operation["operationId"] for _, _, operation in V1.operations()]


def test_a_path_may_begin_with_another_one() -> None:
    document = deepcopy(V1.document)
    logs = {"operationId": "getLogs", "responses": {}}
    document["paths"]["/v1/deployments/{id}/logs"] = {"get": logs}
    contract, app = Contract(document), Flask(__name__)
    app.add_url_rule("/v1/deployments/<deployment_id>", "deployment", str)
    app.add_url_rule("/v1/deployments/<deployment_id>/logs", "logs", str)
    for path, name in (("/x", "getDeployment"), ("/x/logs", "getLogs")):
        with app.test_request_context(f"/v1/deployments{path}"):
            operation = contract.operation(request)
        assert operation
        assert operation.id == name


# What else a schema that is checked may have: others in it, and what is said of it.
MORE = {"properties", "required", "additionalProperties", "dependentRequired", "items", "allOf"} | {
    *("$defs", "$schema", "title", "description", "default", "x-error", "propertyNames"),
    *("x-last", "x-others"),
}
INPUTS = ("Id", "DeploymentInput", "ClockInput", "FaultInput", "GreaseInput", "StateChange", "Seed")


@pytest.mark.parametrize("name", [*INPUTS, "DeploymentParams", "Profile"])
def test_each_keyword_of_a_schema_is_checked_and_the_type_first(name: str) -> None:
    waiting: list[Any] = [schemas()[name]]
    while waiting:
        rules = waiting.pop()
        assert rules.keys() <= KEYWORDS.keys() | MORE
        checked = [each for each in rules if each in KEYWORDS]
        assert "type" not in checked[1:]
        inner = [*rules.get("properties", {}).values(), *rules.get("allOf", ())]
        inner += [rules.get(each) for each in ("items", "additionalProperties", "x-last")]
        waiting += [each for each in inner if isinstance(each, dict)]


def test_the_largest_values_are_those_of_the_schemas() -> None:
    clock, fault, grease = (schemas()[name]["properties"] for name in INPUTS[2:5])
    assert clock["advance"]["maximum"] == MAX_ADVANCE.total_seconds()
    assert fault["delay"]["maximum"] == MAX_DELAY
    assert grease["seed"]["maximum"] == MAX_SEED


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


@pytest.mark.parametrize(("line", "authorization", "operation", "status", "violations"), REQUESTS)
def test_operations_and_violations_are_named(
    stub: FlaskClient,
    line: str,
    authorization: str,
    operation: str | None,
    status: int,
    violations: list[str],
) -> None:
    method, path = line.split()
    environ = {"HTTP_AUTHORIZATION": authorization, "PATH_INFO": unquote(path)}
    stub.open("/", method=method, environ_overrides=environ)
    (entry,) = entries(stub)
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
