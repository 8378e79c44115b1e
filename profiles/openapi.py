"""Reads openapi.json: its operations, found by request, and its parts, found by pointer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from flask import Request

from traffic.json_values import Names, Path
from web.documents import parse_pointer

from .contract import ELSEWHERE

PROBLEM = {"$ref": "#/components/schemas/Problem"}


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of the contract."""

    id: str
    responses: dict[str, dict[str, Any]]  # status to response, without `$ref`
    names: Names  # in the body of its requests
    expected: Sequence[Path] = ()  # the members of the example of a profile, but for those it names


class Example(NamedTuple):
    """An example of a response, such as `name_taken` of 409."""

    status: int
    name: str
    value: Any = None


class Contract:
    """The operations of an OpenAPI document, found by request.

    `names` are those in the request of a profile, and `expected` the members of it that a request
    may leave out, although nobody promised it.
    """

    def __init__(
        self,
        document: dict[str, Any],
        names: Names | None = None,
        expected: Sequence[Path] = (),
    ) -> None:
        self.document = document
        self._names = names
        self._expected = expected
        components = document["components"]
        challenge = components["headers"]["WWW-Authenticate"]
        self.schemas: dict[str, dict[str, Any]] = components["schemas"]
        self.challenge: str = challenge["example"]
        self.elsewhere = find_elsewhere(document)  # by status
        self._by_route: dict[tuple[str, str], Operation] = {}
        for path, item in document["paths"].items():
            self._read_path(path, item)
        self.operations = list(self._by_route.values())
        self.operation_ids = [operation.id for operation in self.operations]
        statuses, running = read_statuses(document)
        self.statuses = statuses
        self.running = running
        self.ends = [status for status in statuses if status not in running]
        self.is_observed = "x-statuses" in document  # whether it is that of a profile

    def operation(self, request: Request) -> Operation | None:
        """The operation that a request is for, if any; HEAD counts as GET."""
        rule = request.url_rule
        if rule is None:
            return None
        method = "GET" if request.method == "HEAD" else request.method
        return self._by_route.get((method, make_route(rule.rule)))

    def problem(self, operation: Operation | None, status: int) -> tuple[str, list[dict[str, str]]]:
        """The code of the problem that is declared for a status, and the errors of its example.

        For a status that is not declared the code is `injected_fault`; also for 503, since the
        code of the contract is for a store that cannot be used.
        """
        response = self._declared(operation, str(status))
        is_of_store = status == 503 and not self.is_observed
        if response is None or is_of_store:
            return "injected_fault", []
        code = list_codes(response)[0]
        for content in response.get("content", {}).values():
            if content["schema"] == PROBLEM and code in content["examples"]:
                problem = content["examples"][code]["value"]
                return code, problem.get("errors", [])
        return code, []

    def find_example(
        self, operation: Operation | None, name: str, status: int | None = None
    ) -> Example | None:
        """Find an example of the responses of an operation, or of none, by its name.

        With a status it is one of the response with this status. An error of a profile has its code
        as its name, and no value.
        """
        responses = operation.responses if operation else self.elsewhere
        for text, response in responses.items():
            if status not in (None, int(text)):
                continue
            for content in response.get("content", {}).values():
                examples = content.get("examples", {})
                is_plain = content["schema"] == PROBLEM or text < "400"
                if name in examples and is_plain:
                    return Example(int(text), name, examples[name]["value"])
            if text >= "400" and name in list_codes(response):
                return Example(int(text), name)
        return None

    def _declared(self, operation: Operation | None, status: str) -> dict[str, Any] | None:
        """The response of an operation, or of none, with this status."""
        response = self.elsewhere.get(status)
        if operation is None:
            return response
        # Any operation may have the status of a method that its path does not have.
        may_be_any = response is not None and rejects_method(response)
        return operation.responses.get(status, response if may_be_any else None)

    def _read_path(self, path: str, item: dict[str, Any]) -> None:
        for method, operation in item.items():
            if method != "x-origin":
                route = (method.upper(), make_route(path))
                self._by_route[route] = self._read_operation(operation)

    def _read_operation(self, operation: dict[str, Any]) -> Operation:
        responses = {}
        for status, response in operation["responses"].items():
            responses[status] = self.resolve(response)
        names: Names = {}
        body = operation.get("requestBody", {"content": {}})
        for content in body["content"].values():
            schema = self.resolve(content["schema"])
            names = self._names or {(): schema["properties"].keys()}
        expected = self._expected if names else ()
        return Operation(operation["operationId"], responses, names, expected)

    def resolve(self, part: dict[str, Any]) -> dict[str, Any]:
        """The part itself, or what its `$ref` names."""
        if "$ref" in part:
            _, part = self.find(part["$ref"])
        return part

    def find(self, pointer: str) -> tuple[str, Any]:
        """Find a part as `find_part` does."""
        return find_part(self.document, pointer)

    def name(self, part: dict[str, Any], place: str) -> str:
        """The name of what a `$ref` names; of another part, its place."""
        if "$ref" in part:
            *_, place = parse_pointer(part["$ref"])
        return place


def find_part(document: Any, pointer: str) -> tuple[str, Any]:
    """Return the JSON pointer after each `$ref` was followed, and what is there."""
    node = document
    for name in parse_pointer(pointer):
        node = node[int(name)] if isinstance(node, list) else node[name]
    if "$ref" in node:
        return find_part(document, node["$ref"])
    return pointer, node


@cache
def make_route(path: str) -> str:
    """A path with `{}` for each parameter, which OpenAPI and Flask write differently."""
    return re.sub(r"\{[^}]*\}|<[^>]*>", "{}", path)


def list_codes(response: dict[str, Any]) -> list[str]:
    """The codes of the errors that a response of a contract has."""
    if "x-codes" in response:  # of a profile, whose errors may have no body
        own: list[str] = response["x-codes"]
        return own
    (content,) = response["content"].values()
    return [*content["examples"]]


def rejects_method(response: dict[str, Any]) -> bool:
    return "method_not_allowed" in list_codes(response)


def find_elsewhere(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The responses of no operation, by status."""
    if "x-elsewhere" in document:
        own: dict[str, dict[str, Any]] = document["x-elsewhere"]
        return own
    responses = document["components"]["responses"]
    return {status: responses[name] for status, name in ELSEWHERE.items()}


def read_statuses(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The known statuses of a contract, and those of a deployment that still runs."""
    if "x-statuses" in document:
        statuses = document["x-statuses"]
        return statuses["known"], statuses["running"]
    deployment = document["components"]["schemas"]["Deployment"]
    status = deployment["properties"]["status"]
    return status["examples"], status["x-running"]
