"""The schemas of stub/openapi.json, for seeds and for the bodies of control requests."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import records
from profiles.openapi import Contract
from web import schemas
from web.files import read_file
from web.problems import FieldError


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


def check_value(value: Any, name: str, statuses: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Yield the errors of a value by the schema with this name: `check_value("live", "Status")`."""
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
