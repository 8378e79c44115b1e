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

    Both are forms: the same in every run. `place` has the JSON pointer and the beginning of a
    value that contradicts.
    """

    part: str
    holds: bool
    expected: str
    otherwise: str = ""
    place: str = ""

    @property
    def observed(self) -> str:
        return self.expected if self.holds else self.otherwise


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
    probe = exchange.probe
    pointer, response = contract.find(probe.expects)
    is_expected = exchange.status == probe.status
    yield Claim(pointer, is_expected, str(probe.status), str(exchange.status))
    for name in response["headers"]:
        part, value = contract.find(f"{pointer}/headers/{name}")[0], exchange.header(name)
        yield Claim(part, value is not None, "present", MISSING)
        if value is not None and name in FORMS:
            yield judge_form(f"{part}/schema", name, value, name)
    (media_type,) = response["content"]
    value, is_labelled = exchange.json, exchange.media_type == media_type
    yield Claim(pointer, is_labelled, media_type, exchange.media_type or "no media type")
    if value is not NO_JSON:
        schema = f"{pointer}/content{json_pointer(media_type)}/schema"
        yield from judge_value(contract, schema, value, pointer, "")
    elif is_labelled:
        yield Claim(pointer, False, "JSON", "no JSON")


def judge_value(
    contract: stub.Contract, pointer: str, value: Any, part: str, place: str
) -> Iterator[Claim]:
    """The claims of the value at a place of the body; `part` is the one that it lies in."""
    pointer, schema = contract.find(pointer)
    part = pointer if "x-origin" in schema else part
    types = [each["type"] for each in schema.get("anyOf", [schema])]
    expected, observed = " or ".join(types), type_of(value)
    if observed == "string" and schema.get("format") in FORMS:
        yield judge_form(part, schema["format"], value, place)
    elif observed in types:
        yield Claim(part, True, expected)
    else:
        yield Claim(part, False, expected, observed, place_of(place, value))
    if "anyOf" in schema and observed in types:
        option = f"{pointer}/anyOf/{types.index(observed)}"
        yield from judge_value(contract, option, value, part, place)
    elif expected == "object":
        yield from judge_members(contract, pointer, value, part, place)
    elif expected == observed == "array":
        for index, item in enumerate(value):
            yield from judge_value(contract, f"{pointer}/items", item, part, f"{place}/{index}")


def judge_members(
    contract: stub.Contract, pointer: str, value: Any, part: str, place: str
) -> Iterator[Claim]:
    """The claims of an object's members; without an object, those of fixed members alone."""
    schema = contract.find(pointer)[1]
    required = schema.get("required", [])
    is_object, inner = isinstance(value, dict), unwrap(value, required)
    has_none = len(required) > 1 and not inner.keys() & {*required}
    if is_object and inner is not value:
        yield Claim(part, False, "the members themselves", "a member around them", place)
    elif is_object and has_none:
        yield Claim(part, False, f"members {', '.join(required)}", "none of them", place)
    for name in schema.get("properties", {}):
        member, declared = contract.find(f"{pointer}/properties{json_pointer(name)}")
        if name in inner:
            place_in = f"{place}{json_pointer(name)}"
            yield from judge_value(contract, member, inner[name], part, place_in)
        elif name in required:
            if "fixed" in declared["x-origin"] or (is_object and not has_none):
                yield Claim(member, False, "present", MISSING, place)
            if declared.get("type") == "array":
                for item in array_in(value, name) or []:
                    yield from judge_value(contract, f"{member}/items", item, part, place)


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


def judge_form(part: str, form: str, text: str, place: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    holds = bool(has_form(text))
    return Claim(part, holds, expected, "another text", "" if holds else place_of(place, text))


def place_of(place: str, value: Any) -> str:
    """A place in the response, and the beginning of what is there."""
    return f"{place or 'the body'}: {json.dumps(value)}"


def type_of(value: Any) -> str:
    return TYPES[type(value)]
