"""Checks responses against the two contracts, and errors against the one error shape."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator
from werkzeug.http import HTTP_STATUS_CODES

from stub.world.rules import read_contract

ROOT = Path(__file__).parent.parent


class Contract:
    """An OpenAPI document."""

    def __init__(self, document: Any) -> None:
        self.document: dict[str, Any] = document
        self.components = self.document["components"]
        self.validator = cache(self._validator)

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.document["paths"].items():
            for method in ("get", "put", "post", "delete", "patch"):
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
        """The responses of the operation at this path, else those of any request."""
        found: dict[str, Any]
        responses = self.components["responses"]
        elsewhere = {"401": responses["Unauthorized"], "404": responses["NotFound"]}
        for template, item in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path, re.DOTALL):
                operation = item.get("get" if method == "HEAD" else method.lower())
                if operation:
                    found = operation["responses"]
                    return found
                elsewhere = {"401": elsewhere["401"], "405": responses["MethodNotAllowed"]}
        found = self.document.get("x-elsewhere", elsewhere)  # those of a profile
        return found

    def check(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Assert that status, headers and body are as declared for this request."""
        declared = self.declared(method, path)
        if "success-code" in headers.get("Stub-Grease", "") and str(status) not in declared:
            status = min(map(int, declared))  # this axis alone steps outside of what is declared
        assert str(status) in declared, f"{method} {path} -> {status} is not declared"
        response = self.resolve(declared[str(status)])
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
        schema = response["content"][media_type]["schema"]
        if schema == {"type": "string"}:  # a text, which is no JSON
            return
        document = json.loads(body)
        self.validator(json.dumps(schema)).validate(document)
        if isinstance(document, dict) and document.get("type") == "about:blank":
            assert document["status"] == status

    def _validator(self, schema: str) -> Draft202012Validator:
        document = {**json.loads(schema), "components": self.components}
        return Draft202012Validator(document, validate_formats=True)


V1 = Contract(json.loads((ROOT / "openapi.json").read_text("utf-8")))
STUB = Contract(read_contract())
(CREATED,) = (
    int(status) for status in V1.declared("POST", "/v1/projects") if status.startswith("2")
)
"""The status of a creation: a test that is about something else knows no other one."""
STATUSES: list[str] = V1.components["schemas"]["Deployment"]["properties"]["status"]["examples"]


def assert_in_contract(
    method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """Assert that a response is one that the contract of its path declares."""
    if path != "/openapi.json":
        contract = STUB if path in ("/", "/llms.txt") or path.startswith("/_stub/") else V1
        contract.check(method, path, status, headers, body)


def assert_problem(response: Any, status: int, code: str, *, head: bool = False) -> dict[str, Any]:
    """Assert the one error shape (RFC 9457); return the document. HEAD has none.

    The response is one of the test client or of the wire.
    """
    assert response.status_code == status, response.data
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["Cache-Control"] == "no-store"
    assert ("WWW-Authenticate" in response.headers) == (status == 401)
    assert ("Allow" in response.headers) == (status == 405)
    if head:
        assert response.data == b""
        return {}
    problem: dict[str, Any] = json.loads(response.data)
    errors = ["errors"] if code == "invalid_body" else []
    assert [*problem] == ["type", "title", "status", "detail", "code", *errors]
    assert problem["type"] == "about:blank"
    assert problem["title"] == HTTP_STATUS_CODES.get(status, "Unknown Error")
    assert problem["status"] == status
    assert problem["code"] == code
    assert len(problem["detail"]) > 20
    assert problem["detail"][-1] in ".)"
    assert all(error["detail"] for error in problem.get("errors", ()))
    assert b"dev-token" not in response.data
    return problem


def assert_invalid(response: Any, *pointers: str) -> list[dict[str, str]]:
    """Assert a 422 with errors at these places; return the errors."""
    errors: list[dict[str, str]] = assert_problem(response, 422, "invalid_body")["errors"]
    assert [error["pointer"] for error in errors] == list(pointers)
    return errors
