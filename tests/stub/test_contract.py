"""What a request depends on that nobody promises, and which rule it breaks."""

from flask.testing import FlaskClient

from tests.contract import STUB, V1
from tests.stub.conftest import entries


def test_a_fault_may_name_each_operation() -> None:
    named = STUB.components["schemas"]["FaultInput"]["properties"]["operation"]["enum"]
    assert named == [operation["operationId"] for _, _, operation in V1.operations()]


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
