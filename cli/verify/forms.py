"""Judges forms by the contract: a claim for each part with an `x-origin` that a response shows.

Forms are a status, a media type, whether a member or a header is there, and its type. What a
server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import stub
from web.validation import pointer as json_pointer

from .client import Exchange

MISSING = "missing"
NO_JSON = object()
MAX_PLACE = 4000  # characters of a value; it is cut once more when it is printed
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": float,
    "null": type(None),
}
# Forms that no keyword of the contract's schemas has: what is expected, and whether a text has it.
FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    "date-time": ("an RFC 3339 time", lambda text: stub.parse_time(text) is not None),
    "json-pointer": ("a JSON pointer", lambda text: text[:1] in ("", "/")),
    "Cache-Control": ("no-store", lambda text: "no-store" in re.split(r"[\s,]+", text.lower())),
    "WWW-Authenticate": (
        "a Bearer challenge",
        lambda text: re.search(r"(^|,)\s*bearer\b", text.lower()) is not None,
    ),
    "Allow": ("a list of methods", lambda text: re.fullmatch(r"[\w-]+(\s*,\s*[\w-]+)*", text)),
}


class Claim(NamedTuple):
    """What a response says about a part. Both sides are forms: the same in every run.

    `place` has the JSON pointer and the beginning of a value that contradicts.
    """

    part: str
    agrees: bool
    expected: str
    observed: str
    place: str = ""


class Forms:
    """Judges responses by the declared ones of the contract.

    `origins` has the parts by JSON pointer, without those of the stub alone: "fixed" or "chosen",
    and the text.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.contract = stub.Contract(document)
        self.origins: dict[str, tuple[str, str]] = dict(origins_in(document, "#"))

    def status(self, pointer: str) -> int:
        """The status of a response; one of `components` has it in its examples."""
        last = pointer.rpartition("/")[2]
        if last.isdecimal():
            return int(last)
        (content,) = self.contract.find(pointer)[1]["content"].values()
        status: int = next(iter(content["examples"].values()))["value"]["status"]
        return status

    def within(self, pointer: str) -> Iterator[str]:
        """The parts at a pointer and below, behind `$ref` too."""
        pointer, node = self.contract.find(pointer)
        if pointer in self.origins:
            yield pointer
        items = enumerate(node) if isinstance(node, list) else node.items()
        for name, value in items:
            if isinstance(value, (dict, list)) and name not in ("x-origin", "examples", "links"):
                yield from self.within(f"{pointer}{json_pointer(name)}")

    def judge(self, pointer: str, exchange: Exchange) -> Iterator[Claim]:
        """The claims of a response, whose status is the declared one or another success."""
        pointer, response = self.contract.find(pointer)
        status = str(self.status(pointer))
        yield Claim(pointer, status == str(exchange.status), status, str(exchange.status))
        for name in response["headers"]:
            part, _ = self.contract.find(f"{pointer}/headers/{name}")
            value = exchange.header(name)
            yield claim(part, value is not None, "present", MISSING)
            if value is not None:
                yield judge_form(f"{part}/schema", name, value, name)
        if exchange.status in (204, 205):  # which have no content (RFC 9110 §15.3.5)
            return
        (media_type,) = response["content"]
        if exchange.media_type != media_type:
            yield Claim(pointer, False, media_type, exchange.media_type or "no media type")
        value = json_of(exchange)
        if value is not NO_JSON:
            schema = f"{pointer}/content{json_pointer(media_type)}/schema"
            yield from self._judge_value(schema, value, pointer, "")
        elif exchange.media_type == media_type:
            yield Claim(pointer, False, "JSON", "no JSON")

    def _judge_value(self, pointer: str, value: Any, part: str, place: str) -> Iterator[Claim]:
        """The claims of the value at a place of the body; `part` is the one that it lies in."""
        pointer, schema = self.contract.find(pointer)
        part = pointer if pointer in self.origins else part
        types = [each["type"] for each in schema.get("anyOf", [schema])]
        expected, observed = " or ".join(types), type_of(value)
        if observed == "string" and schema.get("format") in FORMS:
            yield judge_form(part, schema["format"], value, place)
        elif observed in types:
            yield Claim(part, True, expected, expected)
        else:
            yield Claim(part, False, expected, observed, place_of(place, value))
        if "anyOf" in schema and observed in types:
            option = f"{pointer}/anyOf/{types.index(observed)}"
            yield from self._judge_value(option, value, part, place)
        elif expected == "object":
            yield from self._judge_members(pointer, schema, value, part, place)
        elif expected == observed == "array":
            yield from self._judge_items(pointer, value, part, place)

    def _judge_items(
        self, pointer: str, value: list[Any], part: str, place: str
    ) -> Iterator[Claim]:
        for index, item in enumerate(value):
            yield from self._judge_value(f"{pointer}/items", item, part, f"{place}/{index}")

    def _judge_members(
        self, pointer: str, schema: dict[str, Any], value: Any, part: str, place: str
    ) -> Iterator[Claim]:
        """The claims of an object's members; without an object, those of fixed members alone."""
        required = schema.get("required", [])
        is_object, inner = isinstance(value, dict), unwrap(value, required)
        has_none = len(required) > 1 and not any(name in inner for name in required)
        if is_object and inner is not value:
            yield Claim(part, False, "the members themselves", "a member around them", place)
        elif is_object and has_none:
            yield Claim(part, False, f"members {', '.join(required)}", "none of them", place)
        for name, declared in schema.get("properties", {}).items():
            member = f"{pointer}/properties{json_pointer(name)}"
            is_fixed = self.origins[member][0] == "fixed"
            if name in inner:
                place_in = f"{place}{json_pointer(name)}"
                yield from self._judge_value(member, inner[name], part, place_in)
            elif name in required:
                if is_fixed or (is_object and not has_none):
                    yield Claim(member, False, "present", MISSING, place)
                if declared.get("type") == "array":
                    yield from self._judge_items(member, array_in(value, name) or [], part, place)


def origins_in(node: Any, pointer: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The parts of a contract, their origins, and the texts of these."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    if not isinstance(node, dict) or node.get("x-stub-only"):
        return
    if "x-origin" in node:
        ((origin, text),) = node["x-origin"].items()
        yield pointer, (origin, text)
    for name, value in node.items():
        if name not in ("x-origin", "examples"):
            yield from origins_in(value, f"{pointer}{json_pointer(name)}")


def unwrap(value: Any, required: list[str]) -> dict[str, Any]:
    """The object, or the one in a member of it that alone has required members; {} without one."""
    if not isinstance(value, dict):
        return {}
    inner = [each for each in value.values() if isinstance(each, dict)]
    found = (each for each in (value, *inner) if any(name in each for name in required))
    return next(found, value)


def array_in(value: Any, name: str) -> list[Any] | None:
    """The array of a list: with or without an object around it, which has it under this name or
    another one, also in an envelope such as `data`; None without one.
    """
    if not isinstance(value, dict):
        return value if isinstance(value, list) else None
    objects = [each for each in (value, *value.values()) if isinstance(each, dict)]
    named = [each.get(name) for each in objects]
    members = [member for each in objects for member in each.values()]
    return next((each for each in (*named, *members) if isinstance(each, list)), None)


def claim(part: str, agrees: bool, expected: str, otherwise: str, place: str = "") -> Claim:
    """The claim of what holds or not; `otherwise` is what was observed if it does not hold."""
    return Claim(part, agrees, expected, expected if agrees else otherwise, place)


def judge_form(part: str, form: str, text: str, place: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    agrees = bool(has_form(text))
    return claim(part, agrees, expected, "another text", "" if agrees else place_of(place, text))


def place_of(place: str, value: Any) -> str:
    """A place in the response, and the beginning of what is there."""
    return f"{place or 'the body'}: {json.dumps(value)[:MAX_PLACE]}"


def json_of(exchange: Exchange) -> Any:
    """The body, `NO_JSON` if it is none."""
    return parse_json(exchange.content)


@lru_cache(maxsize=2)  # each response is read several times, one after the other
def parse_json(content: bytes) -> Any:
    try:
        return json.loads(content.decode(), parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return NO_JSON


def reject_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def type_of(value: Any) -> str:
    """The name of JSON's type."""
    return next(name for name, each in TYPES.items() if isinstance(value, each))
