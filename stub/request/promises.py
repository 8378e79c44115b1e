"""Finds what a request sends without a promise or against a rule."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from profiles.openapi import Operation
from traffic.json_values import find_missing, find_unknown
from web.validation import format_pointer

WELL_FORMED = re.compile(r"Bearer [A-Za-z0-9._~+/-]+=*")


def find_unpromised(
    operation: Operation, query: str, document: dict[str, Any] | None, body: bytes
) -> list[str]:
    """What the request depends on that the contract does not promise: any query parameter, say.

    `query` is masked: decoded, a name would have lost the `=` at the end of a token. `document` is
    the value of the body; without it, the body is read anew.
    """
    found: list[str] = []
    if query:
        names = dict.fromkeys(name for name, _ in parse_qsl(query, keep_blank_values=True))
        found += [f"{operation.id}: query parameter {name}" for name in names]
    if operation.names:
        sent = object_in(body) if document is None else document
        unknown = find_unknown(sent, operation.names)
        found += [f"{operation.id}: body member {'/'.join(map(str, path))}" for path in unknown]
        if operation.expected and (sent or document is not None):  # It is an object.
            for path in find_missing(sent, operation.expected):
                place = format_pointer(*path)
                found.append(f"{operation.id}: sent without {place}, which the example has")
    return found


def find_violations(operation: Operation | None, rejected: str | None, target: str) -> list[str]:
    """The rules of the interface (§4, §5, §9) that the request breaks; `target` is shown.

    `rejected` is the Authorization header, None if it was accepted.
    """
    found = []
    if rejected is not None and not WELL_FORMED.fullmatch(rejected):
        name = operation.id if operation else "no operation"
        form = "an Authorization header of another form" if rejected else "no Authorization header"
        found.append(f"{name}: {form}")
    if operation is None:
        found.append(f"no operation: {target}")
    return found


def object_in(body: str | bytes) -> dict[str, Any]:
    """The JSON object that is a body, or an empty one."""
    try:
        document = json.loads(body, parse_int=float)  # int() has a limit on digits
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
