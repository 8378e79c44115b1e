"""Judges the form of a response by the contract: a claim for each part that the response shows.

Forms are a status, a media type, whether a member or a header is there, and its type. What a
server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import stub
from web.validation import pointer as json_pointer

from .client import NO_JSON, Exchange

MISSING = "missing"
TYPES: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean"}
TYPES |= {int: "integer", float: "number", type(None): "null"}
# Forms that no keyword of the contract's schemas has: what is expected, and whether a text has it.
FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    "date-time": ("an RFC 3339 time", stub.parse_time),
    "json-pointer": ("a JSON pointer", re.compile("/|$").match),
    "Cache-Control": ("no-store", re.compile(r"(?i)\bno-store\b").search),
    "WWW-Authenticate": ("a Bearer challenge", re.compile(r"(?i)(^|,)\s*bearer\b").search),
}


class Claim(NamedTuple):
    """What a response says about a part: that it is as expected, or otherwise.

    Both are forms: the same in every run. `value` is the text of one that contradicts.
    """

    part: str
    holds: bool
    expected: str
    otherwise: str = ""
    value: str = ""


def parts_in(contract: stub.Contract, pointer: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The parts at a pointer and below, behind `$ref` too, with their origins.

    A part may come more than once. Those of the stub alone do not come.
    """
    pointer, node = contract.find(pointer)
    members = dict(enumerate(node)) if isinstance(node, list) else node
    if "x-origin" in members:
        yield pointer, members["x-origin"]
    for name, value in members.items():
        is_other = name in ("x-origin", "examples", "links") or not isinstance(value, (dict, list))
        if not is_other and "x-stub-only" not in value:
            yield from parts_in(contract, f"{pointer}{json_pointer(name)}")


def judge_response(contract: stub.Contract, exchange: Exchange) -> Iterator[Claim]:
    """The claims of a response, whose status is the expected one or another success."""
    pointer, response = contract.find(exchange.probe.expects)
    status = str(exchange.probe.status)
    yield Claim(pointer, exchange.status == exchange.probe.status, status, str(exchange.status))
    for name in response["headers"]:
        part, value = contract.find(f"{pointer}/headers/{name}")[0], exchange.header(name)
        yield Claim(part, value is not None, "present", MISSING)
        if value is not None and name in FORMS:
            yield judge_form(f"{part}/schema", name, value)
    (media_type,) = response["content"]
    label = (exchange.header("Content-Type") or "no media type").partition(";")[0].strip().lower()
    yield Claim(pointer, label == media_type, media_type, label)
    if exchange.json is not NO_JSON:
        schema = f"{pointer}/content{json_pointer(media_type)}/schema"
        yield from judge_value(contract, schema, exchange.json)
    elif label == media_type:
        yield Claim(pointer, False, "JSON", "no JSON")


def judge_value(contract: stub.Contract, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of a value, whose schema is at the pointer."""
    pointer, schema = contract.find(pointer)
    types = [each["type"] for each in schema.get("anyOf", [schema])]
    expected, observed = " or ".join(types), TYPES[type(value)]
    if observed == "string" and schema.get("format") in FORMS:
        yield judge_form(pointer, schema["format"], value)
    elif observed in types:
        yield Claim(pointer, True, expected)
    else:
        yield Claim(pointer, False, expected, observed, json.dumps(value))
    if "anyOf" in schema and observed in types:
        yield from judge_value(contract, f"{pointer}/anyOf/{types.index(observed)}", value)
    elif expected == "object":
        yield from judge_members(contract, pointer, value)
    elif expected == observed == "array":
        for item in value:
            yield from judge_value(contract, f"{pointer}/items", item)


def judge_members(contract: stub.Contract, pointer: str, value: Any) -> Iterator[Claim]:
    """The claims of an object's members; without an object, those of fixed members alone."""
    schema = contract.find(pointer)[1]
    required = schema["required"]
    is_object, inner = isinstance(value, dict), unwrap(value, required)
    has_none = len(required) > 1 and not inner.keys() & {*required}
    if is_object and inner is not value:
        yield Claim(pointer, False, "the members themselves", "a member around them")
    elif is_object and has_none:
        yield Claim(pointer, False, f"members {', '.join(required)}", "none of them")
    for name in schema["properties"]:
        member, declared = contract.find(f"{pointer}/properties/{name}")
        if name in inner:
            yield from judge_value(contract, member, inner[name])
        elif name in required:
            if "fixed" in declared["x-origin"] or (is_object and not has_none):
                yield Claim(member, False, "present", MISSING)
            if declared.get("type") == "array":
                for item in array_in(value, name) or []:
                    yield from judge_value(contract, f"{member}/items", item)


def judge_form(part: str, form: str, text: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    holds = bool(has_form(text))
    return Claim(part, holds, expected, "another text", "" if holds else json.dumps(text))


def unwrap(value: Any, required: list[str]) -> dict[str, Any]:
    """The object, or the one in a member of it that alone has required members; {} without one."""
    objects = objects_in(value)
    return next((each for each in objects if each.keys() & {*required}), (*objects, {})[0])


def array_in(value: Any, name: str) -> list[Any] | None:
    """The array of a list: with or without an object around it, which has it under this name or
    another one, also in an envelope such as `data`; None without one.
    """
    members = [pair for each in objects_in(value) for pair in each.items()]
    arrays = {key: each for key, each in members if isinstance(each, list)}
    return value if isinstance(value, list) else arrays.get(name, next(iter(arrays.values()), None))


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The object, and those that are members of it."""
    members = value.values() if isinstance(value, dict) else ()
    return [each for each in (value, *members) if isinstance(each, dict)]
