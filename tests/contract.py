"""Holds what the service answers against openapi.json."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

CONTRACT: dict[str, Any] = json.loads(
    Path(__file__).parent.with_name("openapi.json").read_text("utf-8")
)
# What belongs to no operation, by status.
ELSEWHERE = {
    "401": {"$ref": "#/components/responses/Unauthorized"},
    "404": {"$ref": "#/components/responses/NotFound"},
    "405": {"$ref": "#/components/responses/MethodNotAllowed"},
}


def resolve(part: dict[str, Any]) -> dict[str, Any]:
    """The part itself, or what its `$ref` names."""
    if "$ref" not in part:
        return part
    found: dict[str, Any] = CONTRACT
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def declared_responses(method: str, path: str) -> dict[str, Any]:
    """The responses of the operation, or those of no operation."""
    for template, item in CONTRACT["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path, re.DOTALL):
            operation = item.get("get" if method == "HEAD" else method.lower())
            if operation:
                responses: dict[str, Any] = operation["responses"]
                return responses
            return {"401": ELSEWHERE["401"], "405": ELSEWHERE["405"]}
    return {"401": ELSEWHERE["401"], "404": ELSEWHERE["404"]}


@cache
def validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(
        {**json.loads(schema), "components": CONTRACT["components"]},
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def assert_in_contract(
    method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """Status, headers and body are as the contract declares them for this request."""
    if path == "/openapi.json" or path.startswith("/_stub/"):
        return
    declared = declared_responses(method, path).get(str(status))
    assert declared, f"{method} {path} -> {status} is not declared"
    response = resolve(declared)
    for name, header in response["headers"].items():
        header = resolve(header)
        assert name in headers or not header.get("required"), f"{name} is missing"
        if name in headers:
            validator(json.dumps(header["schema"])).validate(headers[name])
    media_type = headers["Content-Type"]
    assert media_type in response["content"], media_type
    if method == "HEAD":
        assert body == b""
    else:
        schema = response["content"][media_type]["schema"]
        document = json.loads(body)
        validator(json.dumps(schema)).validate(document)
        assert status < 400 or document["status"] == status
