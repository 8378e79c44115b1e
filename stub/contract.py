"""Reads openapi.json; finds what a request sends without a promise or against a rule."""

import json
import re
from dataclasses import dataclass
from typing import Any

from flask import Request

# The responses of no operation; the contract of a profile has its own in `x-elsewhere`.
ELSEWHERE = {"401": "Unauthorized", "404": "NotFound", "405": "MethodNotAllowed"}
PROBLEM = {"$ref": "#/components/schemas/Problem"}
WELL_FORMED = re.compile(r"Bearer [A-Za-z0-9._~+/-]+=*")


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of the contract: its responses, and what it may be sent."""

    id: str
    responses: dict[str, dict[str, Any]]  # status to response, without `$ref`
    members: frozenset[str]  # of the object in its body


class Contract:
    """The operations of an OpenAPI document, found by request."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        components = document["components"]
        self.schemas: dict[str, dict[str, Any]] = components["schemas"]
        # By the method, and by the path up to its parameter, as Flask names that differently.
        self._by_route = {
            (method.upper(), path.partition("{")[0]): self._read(operation)
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method != "x-origin"
        }
        self.operations = [*self._by_route.values()]
        own = {status: components["responses"][name] for status, name in ELSEWHERE.items()}
        self.elsewhere: dict[str, dict[str, Any]] = document.get("x-elsewhere", own)  # by status
        self.statuses, self.running = statuses_of(document)
        self.is_observed = "x-statuses" in document  # whether it is that of a profile
        self.ends = {*self.statuses} - {*self.running}
        self.challenge: str = components["headers"]["WWW-Authenticate"]["example"]

    def operation(self, request: Request) -> Operation | None:
        """The operation that a request is for, if any; HEAD counts as GET."""
        if request.url_rule is None:
            return None
        method = "GET" if request.method == "HEAD" else request.method
        return self._by_route.get((method, request.url_rule.rule.partition("<")[0]))

    def problem(self, operation: Operation | None, status: int) -> tuple[str, list[dict[str, str]]]:
        """The code of the problem that is declared for a status, and the errors of its example.

        For a status that is not declared the code is `injected_fault`; also for 503, since the
        code of the contract is for a store that cannot be used.
        """
        declared = self.elsewhere
        if operation:
            of_methods = {
                each: response
                for each, response in declared.items()
                if "method_not_allowed" in codes_of(response)
            }
            declared = of_methods | operation.responses
        is_of_store = status == 503 and not self.is_observed
        if str(status) not in declared or is_of_store:
            return "injected_fault", []
        content = next(iter(declared[str(status)]["content"].values()))
        code, example = next(iter(content["examples"].items()))
        errors = example["value"].get("errors", []) if content["schema"] == PROBLEM else []
        return code, errors

    def _read(self, operation: dict[str, Any]) -> Operation:
        body = operation.get("requestBody", {"content": {}})["content"].values()
        members = {name for each in body for name in self.resolve(each["schema"])["properties"]}
        return Operation(
            operation["operationId"],
            {status: self.resolve(each) for status, each in operation["responses"].items()},
            frozenset(members),
        )

    def resolve(self, part: dict[str, Any]) -> dict[str, Any]:
        """The part itself, or what its `$ref` names."""
        found: dict[str, Any] = self.find(part["$ref"])[1] if "$ref" in part else part
        return found

    def find(self, pointer: str) -> tuple[str, Any]:
        """The JSON pointer after each `$ref` was followed, and what is there."""
        node: Any = self._document
        for name in pointer.split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")
            node = node[int(name)] if isinstance(node, list) else node[name]
        return self.find(node["$ref"]) if "$ref" in node else (pointer, node)

    def name(self, part: dict[str, Any], place: str) -> str:
        """The name of what a `$ref` names; of another part, its place."""
        return part["$ref"].rpartition("/")[2] if "$ref" in part else place


def codes_of(response: dict[str, Any]) -> list[str]:
    """The codes of the errors that have a response: the names of its examples."""
    return [code for content in response["content"].values() for code in content["examples"]]


def statuses_of(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The known statuses of a contract, and those of a deployment that still runs."""
    if "x-statuses" in document:
        return document["x-statuses"]["known"], document["x-statuses"]["running"]
    status = document["components"]["schemas"]["Deployment"]["properties"]["status"]
    return status["examples"], status["x-running"]


def find_unpromised(
    operation: Operation, request: Request, document: dict[str, Any] | None, body: bytes
) -> list[str]:
    """What the request depends on that the contract does not promise: any query parameter, say.

    `document` is the value of its body, None if that was not read.
    """
    found: list[str] = []
    if request.query_string:
        found += [f"{operation.id}: query parameter {name}" for name in request.args]
    if body and operation.members:
        names = [name for name in document or object_in(body) if name not in operation.members]
        found += [f"{operation.id}: body member {name}" for name in names]
    return found


def find_violations(operation: Operation | None, rejected: str | None, target: str) -> list[str]:
    """The rules of the interface (§4, §5, §9) that the request breaks; `target` is shown.

    `rejected` is the Authorization header, None if it was accepted.
    """
    found: list[str] = []
    if rejected is not None and not WELL_FORMED.fullmatch(rejected):
        header = (
            "an Authorization header of another form" if rejected else "no Authorization header"
        )
        found = [f"{operation.id if operation else 'no operation'}: {header}"]
    return found if operation else [*found, f"no operation: {target}"]


def object_in(body: str | bytes) -> dict[str, Any]:
    """The JSON object that is a body, or an empty one."""
    try:
        document = json.loads(body, parse_int=float)  # int() has a limit on digits
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
