"""openapi.json is valid, tells the origin of each part, and matches the routes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema_rs import ValidationError

from app import create_app
from tests.conftest import BEARER, SAMPLE_SEED, TOKEN
from tests.contract import STUB, V1, Contract, assert_in_contract, assert_problem

Part = tuple[str, dict[str, Any]]
CONTRACT = V1.document
BOTH = pytest.mark.parametrize(
    ("contract", "prefix"), [(V1, ""), (STUB, "/_stub")], ids=["v1", "stub"]
)


@BOTH
def test_it_is_valid_openapi(contract: Contract, prefix: str) -> None:
    from openapi_spec_validator import validate  # which takes half a second to import

    validate(contract.document)
    assert contract.document["info"]["version"] == V1.document["info"]["version"]


@BOTH
def test_it_is_served_unchanged(contract: Contract, prefix: str, anonymous: FlaskClient) -> None:
    assert anonymous.get(f"{prefix}/openapi.json").json == contract.document


@BOTH
def test_the_routes_are_those_of_the_contract(contract: Contract, prefix: str, app: Flask) -> None:
    routes = {
        (method, re.sub(r"<\w+>", "{id}", rule.rule.replace("<file>", "{file}")))
        for rule in app.url_map.iter_rules()
        for method in rule.methods or ()
        if method != "HEAD"
        and (rule.rule in ("/", "/llms.txt") or rule.rule.startswith("/_stub/")) == bool(prefix)
    }
    routes.discard(("GET", "/openapi.json"))
    assert routes == {(method, path) for method, path, _ in contract.operations()}


def schemas(where: str, schema: dict[str, Any]) -> Iterator[Part]:
    """The schema and those within; one that is a `$ref` alone stands elsewhere."""
    if set(schema) == {"$ref"}:
        return
    yield where, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(f"{where}/{name}", inner)
    for keyword in ("items", "not", "propertyNames"):
        if keyword in schema:
            yield from schemas(f"{where}/{keyword}", schema[keyword])
    for number, inner in enumerate(schema.get("anyOf", ())):
        yield from schemas(f"{where}/anyOf/{number}", inner)


def responses(where: str, response: dict[str, Any]) -> Iterator[Part]:
    if "$ref" in response:
        return
    yield where, response
    for name, header in response["headers"].items():
        yield from headers(f"{where}/{name}", header)
    for media_type, content in response.get("content", {}).items():
        yield from schemas(f"{where}/{media_type}", content["schema"])


def headers(where: str, header: dict[str, Any]) -> Iterator[Part]:
    if "$ref" not in header:
        yield where, header
        yield from schemas(f"{where}/schema", header["schema"])


def parts() -> Iterator[Part]:
    """Everything that the interface fixes or that we chose."""
    for method, path, operation in V1.operations():
        where = f"{method} {path}"
        yield where, operation
        for parameter in operation.get("parameters", ()):
            yield f"{where} {parameter['name']}", parameter
            yield from schemas(f"{where} {parameter['name']}", parameter["schema"])
        if "requestBody" in operation:
            yield f"{where} body", operation["requestBody"]
            for content in operation["requestBody"]["content"].values():
                yield from schemas(f"{where} body", content["schema"])
        for status, response in operation["responses"].items():
            yield from responses(f"{where} {status}", response)
    components = CONTRACT["components"]
    yield from components["securitySchemes"].items()
    for name, response in components["responses"].items():
        yield from responses(name, response)
    for name, header in components["headers"].items():
        yield from headers(name, header)
    for name, schema in components["schemas"].items():
        yield from schemas(name, schema)


@pytest.mark.parametrize(("where", "part"), list(parts()))
def test_every_part_tells_its_origin(where: str, part: dict[str, Any]) -> None:
    ((origin, text),) = part["x-origin"].items()
    assert origin in ("fixed", "chosen")
    assert re.fullmatch(r"§\d(, §\d)*", text) if origin == "fixed" else len(text) > 5
    if "$ref" not in part and "type" in part:
        assert "pattern" not in part or where == "ProjectInput/name"
        assert "enum" not in part


def test_only_what_the_interface_states_is_fixed() -> None:
    assert [where for where, part in parts() if "fixed" in part["x-origin"]] == [
        "GET /v1/projects",
        "POST /v1/projects",
        "GET /v1/deployments/{id}",
        "GET /v1/deployments/{id} id",
        "bearer",
        "Deployment/status",
    ]


def examples() -> Iterator[tuple[dict[str, Any], Any]]:
    for _, part in parts():
        for shown in (part, *part.get("content", {}).values()):
            if "schema" in shown:
                for example in shown.get("examples", {}).values():
                    yield shown["schema"], example["value"]
        for example in part.get("examples", ()) if "schema" not in part else ():
            yield part, example


@pytest.mark.parametrize(("schema", "example"), list(examples()))
def test_every_example_is_valid(schema: dict[str, Any], example: Any) -> None:
    V1.validator(json.dumps(schema)).validate(example)


def named_examples(part: dict[str, Any]) -> dict[str, Any]:
    """The values of the examples of a body or a parameter, by name."""
    shown = [part, *part.get("content", {}).values()]
    return {
        name: example["value"]
        for each in shown
        if "schema" in each
        for name, example in each.get("examples", {}).items()
    }


def request_examples() -> Iterator[tuple[str, str, str, Any]]:
    """The method, the path, the name and the value of each example of a request, in order."""
    for method, path, operation in V1.operations():
        for part in (*operation.get("parameters", ()), operation.get("requestBody", {})):
            for name, value in named_examples(part).items():
                yield method, path, name, value


def test_each_request_example_gets_the_response_example_of_its_name(client: FlaskClient) -> None:
    declared = {(method, path): operation for method, path, operation in V1.operations()}
    for method, path, name, sent in request_examples():
        ((status, expected),) = (
            (int(status), named_examples(V1.resolve(response))[name])
            for status, response in declared[method, path]["responses"].items()
            if name in named_examples(V1.resolve(response))
        )
        body = sent if method == "POST" else None
        response = client.open(path.replace("{id}", str(sent)), method=method, json=body)
        new = ("id", "created_at", "latest_deployment_id") if status == 201 else ()
        assert response.status_code == status, name
        assert response.json == {**expected, **{each: response.json[each] for each in new}}, name
    first = named_examples(declared["GET", "/v1/projects"]["responses"]["200"])
    assert (
        first["sample"]
        == create_app(seed=SAMPLE_SEED).test_client().get("/v1/projects", headers=BEARER).json
    )


def test_every_object_may_have_more_members() -> None:
    objects = [where for where, part in parts() if part.get("type") == "object"]
    assert {"ProjectList", "Project", "Deployment", "Problem", "FieldError"} <= {*objects}
    for where, part in parts():
        is_object = part.get("type") == "object"
        assert part.get("additionalProperties", not is_object) is True, where


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
        client.post("/v1/projects", data=b"{}"),
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


def test_the_check_detects_undeclared_responses(client: FlaskClient) -> None:
    good = client.get("/v1/deployments/dpl_failed")
    path, headers = "/v1/deployments/dpl_failed", dict(good.headers)
    assert_in_contract("GET", path, 200, headers, good.data)
    for status, changed, body in [
        (201, headers, good.data),
        (200, {**headers, "Content-Type": "text/html"}, good.data),
        (200, headers, b'{"id": "dpl_failed"}'),
        (200, headers, good.data.replace(b"2026-", b"26-")),
        (200, {**headers, "Cache-Control": "public"}, good.data),
        (401, {**headers, "Content-Type": "application/problem+json"}, good.data),
    ]:
        with pytest.raises((AssertionError, ValidationError)):
            assert_in_contract("GET", path, status, changed, body)


def test_error_responses_name_their_codes() -> None:
    responses = [*CONTRACT["components"]["responses"].values()]
    for _, _, operation in V1.operations():
        responses += map(V1.resolve, operation["responses"].values())
    for response in responses:
        content = response.get("content", {}).get("application/problem+json", {"examples": {}})
        for code, example in content["examples"].items():
            assert example["value"]["code"] == code
            is_named = f"`{code}`" in response["description"]
            assert is_named != ("x-stub-only" in example)
            assert is_named or example["summary"]
            assert TOKEN not in json.dumps(example)
    for _, _, operation in V1.operations():
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                content = V1.resolve(response)["content"]["application/problem+json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
