"""What stub/openapi.json says: the operations of the stub, and the rules of what is sent to it."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue

from profiles.openapi import Contract
from records import Stage, Timeline, round_to_microseconds
from web.files import read_file
from web.problems import FieldError
from web.schemas import Schema, find_errors, resolve_refs
from web.validation import prefix_errors

View = Callable[..., ResponseReturnValue]
"""It gets the parameters of the path, in their order."""


@cache
def contract(words: tuple[str, ...] = ()) -> dict[str, Any]:
    """The contract of the stub, in which the operations of the service are filled in.

    `words` are the statuses of a profile, if it has any: no others are valid then.
    """
    document: dict[str, Any] = json.loads(read_file("stub/openapi.json"))
    named = document["components"]["schemas"]
    service = Contract(json.loads(read_file("openapi.json")))
    named["OperationId"]["enum"] = service.operation_ids
    if words:
        named["Status"] = {"type": "string", "enum": list(words)}
    return document


@cache
def schemas(words: tuple[str, ...] = ()) -> dict[str, Schema]:
    """The schemas of the contract by name, without `$ref`."""
    named = contract(words)["components"]["schemas"]
    return {name: resolve_refs(schema, named) for name, schema in named.items()}


@cache
def operations(words: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """The operations of the contract by id, each with its `path` and its `method`."""
    found = {}
    for path, item in contract(words)["paths"].items():
        for method, operation in item.items():
            place = {"path": path, "method": method.upper()}
            found[operation["operationId"]] = operation | place
    return found


def add_routes(app: Flask, views: Mapping[str, View]) -> None:
    """Route each operation of the contract to the view of its id."""
    for name, operation in operations().items():
        rule = operation["path"].replace("{", "<").replace("}", ">")
        view = partial(call, views[name])
        app.add_url_rule(rule, name, view, methods=[operation["method"]])


def call(view: View, **parameters: str) -> ResponseReturnValue:
    return view(*parameters.values())


def check_request(document: Any, words: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """What in the path and in the document of a request contradicts the contract."""
    operation = operations(words)[request.endpoint or ""]
    named = schemas(words)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            name = parameter["name"]
            value = (request.view_args or {})[name]
            yield from prefix_errors(
                [name], find_errors(value, resolve_refs(parameter["schema"], named))
            )
    for content in operation["requestBody"]["content"].values():
        yield from find_errors(document, resolve_refs(content["schema"], named))


def check(value: Any, name: str, words: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """What in a value contradicts the schema of this name."""
    return find_errors(value, schemas(words)[name])


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    *running, last = document.get("timeline", [document])
    timeline = []
    for each in running:
        seconds = round_to_microseconds(each["seconds"])
        timeline.append(Stage(each["status"], seconds))
    end = Stage(last["status"])
    return (*timeline, end)
