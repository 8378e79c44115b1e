"""The rules of stub/openapi.json: the control routes, and the schemas of their bodies."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue

import records
from profiles.openapi import Contract
from web import schemas
from web.files import read_file
from web.problems import FieldError
from web.validation import prefix_errors

View = Callable[..., ResponseReturnValue]
"""A view. Its arguments are the parameters of the path, in their order."""


@cache
def read_contract(statuses: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read the contract of the control routes, and insert the operations of the service.

    `statuses` are the statuses of a profile: `("QUEUED", "LIVE")`. Only they are valid then.
    """
    document: dict[str, Any] = json.loads(read_file("stub/openapi.json"))
    named = document["components"]["schemas"]
    service = Contract(json.loads(read_file("openapi.json")))
    named["OperationId"]["enum"] = service.operation_ids
    if statuses:
        named["Status"] = {"type": "string", "enum": list(statuses)}
    return document


@cache
def read_schemas(statuses: tuple[str, ...] = ()) -> dict[str, schemas.Schema]:
    """Return the schemas of the contract by name, with every `$ref` resolved."""
    named = read_contract(statuses)["components"]["schemas"]
    return {name: schemas.resolve_refs(schema, named) for name, schema in named.items()}


@cache
def read_operations() -> dict[str, dict[str, Any]]:
    """Return the control operations by id; `path` and `method` are added: `/_stub/clock`, `GET`."""
    found = {}
    for path, item in read_contract()["paths"].items():
        for method, operation in item.items():
            place = {"path": path, "method": method.upper()}
            found[operation["operationId"]] = operation | place
    return found


def add_routes(app: Flask, views: Mapping[str, View]) -> None:
    """Route every operation to the view with its id: `{"getClock": show_clock}`."""
    for name, operation in read_operations().items():
        rule = operation["path"].replace("{", "<").replace("}", ">")
        view = partial(call_view, views[name])
        app.add_url_rule(rule, name, view, methods=[operation["method"]])


def call_view(view: View, **parameters: str) -> ResponseReturnValue:
    return view(*parameters.values())


def check_request(document: Any, statuses: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Yield the errors in the path and in the body of the current request."""
    operation = read_operations()[request.endpoint or ""]
    named = read_schemas(statuses)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            name = parameter["name"]
            value = (request.view_args or {})[name]
            schema = schemas.resolve_refs(parameter["schema"], named)
            yield from prefix_errors([name], schemas.find_errors(value, schema))
    for content in operation["requestBody"]["content"].values():
        yield from schemas.find_errors(document, schemas.resolve_refs(content["schema"], named))


def check(value: Any, name: str, statuses: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Yield the errors of a value by the schema with this name: `check("live", "Status")`."""
    return schemas.find_errors(value, read_schemas(statuses)[name])


def parse_timeline(document: dict[str, Any]) -> records.Timeline:
    """Parse the `timeline` of a valid document. Without it, the `status` is pinned."""
    *running, last = document.get("timeline", [document])
    timeline = []
    for each in running:
        seconds = records.round_to_microseconds(each["seconds"])
        timeline.append(records.Stage(each["status"], seconds))
    end = records.Stage(last["status"])
    return (*timeline, end)
