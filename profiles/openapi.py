"""Reads openapi.json: finds operations by a request, and parts by a JSON pointer.

The contract has keywords of its own:

- `x-origin`: where a part is from: `{"fixed": "§4"}` is the interface, `{"chosen": "why"}` the
  stub, and `{"observed": "2026-01-05"}` a profile.
- `x-stub-only`: true for a part that only the stub has.
- `x-grease`: the axes in which a part may vary: `["ids"]`.
- `x-running`: the statuses of a deployment that may still change.

Only the contract of a profile has these:

- `x-part`: the kind of the ids in a schema, `projects` or `deployments`.
- `x-form`: the pattern of the values in a schema. Generators would use the keyword `pattern`.
- `x-codes`: the codes of the errors in a response.
- `x-elsewhere`: the responses to requests for no operation, by status.
- `x-statuses`: the statuses, `{"known": ["queued", "live"], "running": ["queued"]}`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flask import Request

from traffic import json_values
from web.documents import parse_pointer

ELSEWHERE = {"401": "Unauthorized", "404": "NotFound", "405": "MethodNotAllowed"}
"""The responses to requests for no operation, by status, unless the contract has `x-elsewhere`."""

Names = dict[json_values.Path, Collection[str]]
"""The known names of members, by the path of their object: `{(): {"name"}}`."""


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of the contract, such as `listProjects`.

    `names` are the known members of its requests. `expected` are the members of the example that
    are neither required nor optional: a request without them is accepted, and unpromised.
    """

    id: str
    responses: dict[str, dict[str, Any]]  # key: status
    names: Names
    expected: Sequence[json_values.Path] = ()


class Contract:
    """The operations of an OpenAPI document.

    `names` and `expected` are those of `Operation`, from the example of a request in a profile.
    """

    def __init__(
        self,
        document: dict[str, Any],
        names: Names | None = None,
        expected: Sequence[json_values.Path] = (),
    ) -> None:
        self.document = document
        self._names = names
        self._expected = expected
        components = document["components"]
        challenge = components["headers"]["WWW-Authenticate"]
        self.schemas: dict[str, dict[str, Any]] = components["schemas"]
        self.challenge: str = challenge["example"]
        self.elsewhere = find_elsewhere(document)  # key: status
        self._by_route: dict[tuple[str, str], Operation] = {}
        for path, item in document["paths"].items():
            self._read_path(path, item)
        self.operations = list(self._by_route.values())
        self.operation_ids = [operation.id for operation in self.operations]
        statuses, running = read_statuses(document)
        self.statuses = statuses
        self.running = running
        self.ends = [status for status in statuses if status not in running]

    def operation(self, request: Request) -> Operation | None:
        """Return the operation of a request, or None; HEAD counts as GET."""
        rule = request.url_rule
        if rule is None:
            return None
        method = "GET" if request.method == "HEAD" else request.method
        return self._by_route.get((method, make_route(rule.rule)))

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
        """Return the part that `$ref` names, or the part itself if it has no `$ref`."""
        if "$ref" in part:
            _, part = self.find(part["$ref"])
        return part

    def find(self, pointer: str) -> tuple[str, Any]:
        """Find a part as `find_part` does."""
        return find_part(self.document, pointer)

    def name(self, part: dict[str, Any], place: str) -> str:
        """Return the name in a `$ref`, or `place` if the part has no `$ref`."""
        if "$ref" in part:
            *_, place = parse_pointer(part["$ref"])
        return place


def find_part(document: Any, pointer: str) -> tuple[str, Any]:
    """Find a part by its JSON pointer, through every `$ref`: return its own pointer, and the part.

    `/paths/~1v1~1projects/get/responses/401` leads to `/components/responses/Unauthorized`.
    """
    node = document
    for name in parse_pointer(pointer):
        node = node[int(name)] if isinstance(node, list) else node[name]
    if "$ref" in node:
        return find_part(document, node["$ref"])
    return pointer, node


@cache
def make_route(path: str) -> str:
    """Replace the parameters of a path by `{}`: OpenAPI writes `{id}`, and Flask `<id>`."""
    return re.sub(r"\{[^}]*\}|<[^>]*>", "{}", path)


def find_elsewhere(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the responses to requests for no operation, by status."""
    if "x-elsewhere" in document:
        own: dict[str, dict[str, Any]] = document["x-elsewhere"]
        return own
    responses = document["components"]["responses"]
    return {status: responses[name] for status, name in ELSEWHERE.items()}


def read_statuses(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the known statuses of a contract, and the statuses of a running deployment."""
    if "x-statuses" in document:
        statuses = document["x-statuses"]
        return statuses["known"], statuses["running"]
    deployment = document["components"]["schemas"]["Deployment"]
    status = deployment["properties"]["status"]
    return status["examples"], status["x-running"]


def find_unknown(
    value: Any, known: Names, path: json_values.Path = ()
) -> Iterator[json_values.Path]:
    """Yield the paths of the members with unknown names."""
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        place = (*path, name)
        if name not in known[path]:
            yield place
        elif place in known:
            yield from find_unknown(member, known, place)


def find_missing(value: Any, expected: Iterable[json_values.Path]) -> Iterator[json_values.Path]:
    """Yield the expected paths of members that are missing in an object that exists."""
    for path in expected:
        *around, name = path
        holder = json_values.get_value(value, around)
        if isinstance(holder, dict) and name not in holder:
            yield path
