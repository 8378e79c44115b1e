"""openapi.json is valid, tells the origin of each part, and matches the service."""

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import SAMPLE_SEED, client_of, make_stub
from tests.contract import CREATED, STUB, V1
from tests.replayed import SCENARIOS, read
from tests.rows import Response, Texts

CONTRACT = V1.document
KEYWORDS = {"type", "description", "anyOf", "not", "enum"}
# The codes of the server, of a failure, and of a store outside of the process.
NOT_RECORDED = {
    "malformed_request",
    "host_not_allowed",
    "headers_too_large",
    "internal_error",
    "store_unavailable",
}


@pytest.mark.xdist_group("openapi")  # one worker imports the validator
def test_both_contracts_are_valid_and_served_unchanged(anonymous: FlaskClient) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    for path, contract in (("/openapi.json", V1), ("/_stub/openapi.json", STUB)):
        validate(contract.document)
        assert contract.document["info"]["version"] == CONTRACT["info"]["version"]
        assert anonymous.get(path).json == contract.document


def test_the_routes_of_the_service_are_those_of_its_contract() -> None:
    routes = set()
    for rule in create_app().url_map.iter_rules():
        path = re.sub(r"<(?:\w+_)?(\w+)>", r"{\1}", rule.rule)
        routes |= {(method, path) for method in {*(rule.methods or ())} - {"HEAD"}}
    declared = {(method, path) for method, path, _ in V1.operations()}
    assert routes == {("GET", "/openapi.json"), *declared}


def parts(value: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that the interface fixes or that we chose: operations, bodies, and schemas."""
    if isinstance(value, dict):
        # What has members for keywords is an object of properties.
        if KEYWORDS & value.keys() and not isinstance(value.get("type"), dict):
            yield where, value
        for name, each in value.items():
            if name not in ("examples", "links", "x-origin", "x-stub"):
                yield from parts(each, f"{where}/{name}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from parts(each, f"{where}/{index}")


PARTS = [*parts(CONTRACT["paths"]), *parts(CONTRACT["components"])]


def test_every_part_tells_its_origin_and_may_grow() -> None:
    for where, part in PARTS:
        ((origin, text),) = part["x-origin"].items()
        assert origin in ("fixed", "chosen"), where
        assert re.fullmatch(r"§\d(, §\d)*", text) if origin == "fixed" else len(text) > 5, where
        assert "enum" not in part or "type" not in part, where
        assert part.get("additionalProperties", part.get("type") != "object") is True, where
    assert [where for where, part in PARTS if "fixed" in part["x-origin"]] == [
        "//v1/projects/get",
        "//v1/projects/post",
        "//v1/deployments/{id}/get",
        "//v1/deployments/{id}/get/parameters/0",
        "/securitySchemes/bearer",
        "/schemas/Deployment/properties/status",
    ]


def shown(part: dict[str, Any]) -> dict[str, Any]:
    """The named examples of a parameter, a request body or a response."""
    (holder,) = part.get("content", {"": part}).values()
    return {name: each["value"] for name, each in holder.get("examples", {}).items()}


def test_each_request_example_gets_the_response_example_of_its_name() -> None:
    """Or the response of the operation that has no body, if no response has that name."""
    for method, path, operation in V1.operations():
        client = client_of(make_stub(seed=SAMPLE_SEED))
        expected: dict[str, tuple[int, Any]] = {}
        without_body: tuple[int, Any] | None = None
        for status, response in operation["responses"].items():
            declared = V1.resolve(response)
            if "content" not in declared:
                without_body = (int(status), None)
            for name, value in shown(declared).items():
                expected[name] = (int(status), value)
        for part in (*operation.get("parameters", ()), operation.get("requestBody", {})):
            for name, sent in shown(part).items():
                body = sent if method == "POST" else None
                response = client.open(path.replace("{id}", str(sent)), method=method, json=body)
                response_of_name = expected.get(name, without_body)
                assert response_of_name, name
                status, document = response_of_name
                if document is None:
                    assert (response.status_code, response.data) == (status, b"")
                    continue
                new = ("id", "created_at", "latest_deployment_id") if status == CREATED else ()
                random = {each: response.json[each] for each in new}
                assert (response.status_code, response.json) == (status, {**document, **random})


def test_each_other_example_is_a_response_of_the_service() -> None:
    recorded = {shown_part(line) for name in SCENARIOS for line in read(name).steps}
    texts = Texts.read()
    responses = [*V1.components["responses"].values()]
    responses.append(CONTRACT["paths"]["/v1/projects"]["get"]["responses"]["200"])
    for response in responses:
        for code, value in shown(response).items():
            status = value.get("status", 200)
            text = f"{json.dumps(value)}\n".encode()
            row = texts.make_row(Response(f"{status} {HTTPStatus(status).phrase}", {}, text), {})
            assert code in NOT_RECORDED or shown_part(row) in recorded, code


def shown_part(row: dict[str, Any]) -> str:
    """Return what a row of the table shows of a body."""
    return json.dumps([row.get(name) for name in ("code", "detail", "errors", "body")])


def test_every_example_of_a_schema_is_valid() -> None:
    for _, part in PARTS:
        examples = part.get("examples", ())
        for example in examples if isinstance(examples, list) else ():
            V1.validator(json.dumps(part)).validate(example)
