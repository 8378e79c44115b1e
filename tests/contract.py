"""Holds what the service answers against openapi.json, and the control routes against theirs."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ROOT = Path(__file__).parent.parent


class Contract:
    """An OpenAPI document."""

    def __init__(self, path: Path) -> None:
        self.document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        self.components = self.document["components"]
        self.validator = cache(self._validator)

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.document["paths"].items():
            for method in ("get", "put", "post", "delete"):
                if method in item:
                    yield method.upper(), path, item[method]

    def resolve(self, part: dict[str, Any]) -> dict[str, Any]:
        """The part itself, or what its `$ref` names."""
        if "$ref" not in part:
            return part
        found: dict[str, Any] = self.document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return found

    def declared(self, method: str, path: str) -> dict[str, Any]:
        """The responses of the operation, or those of no operation."""
        responses = self.components["responses"]
        elsewhere = {"401": responses["Unauthorized"], "404": responses["NotFound"]}
        for template, item in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path, re.DOTALL):
                operation = item.get("get" if method == "HEAD" else method.lower())
                if operation:
                    found: dict[str, Any] = operation["responses"]
                    return found
                elsewhere = {"401": elsewhere["401"], "405": responses["MethodNotAllowed"]}
        return elsewhere

    def check(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Status, headers and body are as declared for this request."""
        declared = self.declared(method, path).get(str(status))
        assert declared, f"{method} {path} -> {status} is not declared"
        response = self.resolve(declared)
        for name, header in response["headers"].items():
            header = self.resolve(header)
            assert name in headers or not header.get("required"), f"{name} is missing"
            if name in headers:
                self.validator(json.dumps(header["schema"])).validate(headers[name])
        if method == "HEAD" or "content" not in response:
            assert body == b""
            return
        media_type = headers["Content-Type"].partition(";")[0].strip().lower()
        assert media_type in response["content"], media_type
        document = json.loads(body)
        self.validator(json.dumps(response["content"][media_type]["schema"])).validate(document)
        assert status < 400 or document["status"] == status

    def _validator(self, schema: str) -> Draft202012Validator:
        return Draft202012Validator(
            {**json.loads(schema), "components": self.components},
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )


V1 = Contract(ROOT / "openapi.json")
STUB = Contract(ROOT / "stub" / "openapi.json")


def assert_in_contract(
    method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """What is answered at a path is what its contract declares."""
    if path != "/openapi.json":
        contract = STUB if path.startswith("/_stub/") else V1
        contract.check(method, path, status, headers, body)
