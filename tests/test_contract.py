"""openapi.json is valid, tells the origin of each part, and matches the service."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from tests.conftest import BEARER, SAMPLE_SEED, make_stub
from tests.contract import CREATED, STUB, V1, assert_problem

Part = tuple[str, dict[str, Any]]
CONTRACT = V1.document


@pytest.mark.xdist_group("openapi")  # one worker imports the validator
def test_both_contracts_are_valid_and_served_unchanged(anonymous: FlaskClient) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    for path, contract in (("/openapi.json", V1), ("/_stub/openapi.json", STUB)):
        validate(contract.document)
        assert contract.document["info"]["version"] == CONTRACT["info"]["version"]
        assert anonymous.get(path).json == contract.document


def test_the_routes_of_the_service_are_those_of_its_contract() -> None:
    routes = {
        (method, re.sub(r"<(?:\w+_)?(\w+)>", r"{\1}", rule.rule))
        for rule in create_app().url_map.iter_rules()
        for method in {*(rule.methods or ())} - {"HEAD"}
    }
    declared = {(method, path) for method, path, _ in V1.operations()}
    assert routes == {("GET", "/openapi.json"), *declared}


def parts(value: Any, where: str = "") -> Iterator[Part]:
    """Everything that the interface fixes or that we chose: operations, bodies, and schemas."""
    if isinstance(value, dict):
        # What has members for keywords is an object of properties.
        if PART & value.keys() and not isinstance(value.get("type"), dict):
            yield where, value
        for name, each in value.items():
            if name not in ("examples", "links", "x-origin", "x-stub"):
                yield from parts(each, f"{where}/{name}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from parts(each, f"{where}/{index}")


PART = {"type", "description", "anyOf", "not", "enum"}
PARTS = [*parts(CONTRACT["paths"]), *parts(CONTRACT["components"])]


def test_every_part_tells_its_origin_and_may_grow() -> None:
    for where, part in PARTS:
        ((origin, text),) = part["x-origin"].items()
        assert origin in ("fixed", "chosen"), where
        assert re.fullmatch(r"§\d(, §\d)*", text) if origin == "fixed" else len(text) > 5, where
        if "$ref" not in part and "type" in part:
            assert "pattern" not in part or where == "/schemas/ProjectInput/properties/name"
            assert "enum" not in part, where
        assert part.get("additionalProperties", part.get("type") != "object") is True, where


def test_only_what_the_interface_states_is_fixed() -> None:
    assert [where for where, part in PARTS if "fixed" in part["x-origin"]] == [
        "//v1/projects/get",
        "//v1/projects/post",
        "//v1/deployments/{id}/get",
        "//v1/deployments/{id}/get/parameters/0",
        "/securitySchemes/bearer",
        "/schemas/Deployment/properties/status",
    ]


def named_examples(part: dict[str, Any]) -> dict[str, Any]:
    """The values of the examples of a body or a parameter, by name."""
    return {
        name: example["value"]
        for shown in (part, *part.get("content", {}).values())
        if "schema" in shown
        for name, example in shown.get("examples", {}).items()
    }


def test_every_example_is_valid() -> None:
    for _, part in PARTS:
        for shown in (part, *part.get("content", {}).values()):
            schema = shown.get("schema", part)
            for example in shown.get("examples", ()):
                value = shown["examples"][example]["value"] if "schema" in shown else example
                V1.validator(json.dumps(schema)).validate(value)


def test_each_request_example_gets_the_response_example_of_its_name(client: FlaskClient) -> None:
    for method, path, operation in V1.operations():
        expected = {
            name: (int(status), value)
            for status, response in operation["responses"].items()
            for name, value in named_examples(V1.resolve(response)).items()
        }
        for part in (*operation.get("parameters", ()), operation.get("requestBody", {})):
            for name, sent in named_examples(part).items():
                body = sent if method == "POST" else None
                response = client.open(path.replace("{id}", str(sent)), method=method, json=body)
                status, document = expected[name]
                new = ("id", "created_at", "latest_deployment_id") if status == CREATED else ()
                random = {each: response.json[each] for each in new}
                assert (response.status_code, response.json) == (status, {**document, **random})
    listed = CONTRACT["paths"]["/v1/projects"]["get"]["responses"]["200"]
    sample = make_stub(seed=SAMPLE_SEED).test_client().get("/v1/projects", headers=BEARER)
    assert named_examples(listed)["sample"] == sample.json


def test_error_examples_are_real_responses(app: Flask, client: FlaskClient) -> None:
    responses = [
        client.post("/v1/projects", data=b'{"name": x', content_type="application/json"),
        client.get("/v1/projects", environ_overrides={"HTTP_AUTHORIZATION": ""}),
        client.get("/v1/projects", environ_overrides={"HTTP_AUTHORIZATION": "Bearer x"}),
        client.get("/v1/deployments/x"),
        client.get("/v1/x"),
        client.put("/v1/projects"),
        client.post("/v1/projects", json={"name": "website"}),
        client.post("/v1/projects", json={"name": 70_000 * "x"}),
        client.post("/v1/projects", data=b"{}"),  # which has no media type
        client.post("/v1/projects", json={"id": 1}),
    ]
    shown = [
        example["value"]
        for declared in CONTRACT["components"]["responses"].values()
        for content in declared["content"].values()
        for example in content["examples"].values()
    ]
    for response in responses:
        problem = assert_problem(response, response.status_code, response.json["code"])
        assert problem in shown
