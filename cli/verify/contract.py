"""Judges responses by the contract: a claim for each part with an `x-origin` that one shows.

Forms are judged: a status, a media type, whether a member or a header is there, and its type. What
a server may add at any time is no difference: members, headers, white space, an order of members.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import stub
from web.validation import pointer as json_pointer

from .service import Exchange

PROBLEM = "#/components/schemas/Problem"
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
    "Cache-Control": (
        "no-store",
        lambda text: "no-store" in re.split(r"[\s,]+", text.lower()),
    ),
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


class Contract:
    """The parts of an OpenAPI document, by JSON pointer; without those of the stub alone."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.origins: dict[str, tuple[str, str]] = {}  # part to ("fixed" or "chosen", text)
        self._read(document, "#")

    def _read(self, node: Any, pointer: str) -> None:
        if isinstance(node, list):
            node = dict(enumerate(node))
        if not isinstance(node, dict) or node.get("x-stub-only"):
            return
        if "x-origin" in node:
            ((origin, text),) = node["x-origin"].items()
            self.origins[pointer] = (origin, text)
        for name, value in node.items():
            if name not in ("x-origin", "examples"):
                self._read(value, f"{pointer}{json_pointer(name)}")

    def find(self, pointer: str) -> tuple[str, Any]:
        """The pointer after each `$ref` was followed, and the node there."""
        node: Any = self._document
        for name in pointer.split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")
            node = node[int(name)] if isinstance(node, list) else node[name]
        return self.find(node["$ref"]) if "$ref" in node else (pointer, node)

    def status(self, pointer: str) -> int:
        """The status of a response; one of `components` has it in its examples."""
        last = pointer.rpartition("/")[2]
        if last.isdecimal():
            return int(last)
        (content,) = self.find(pointer)[1]["content"].values()
        status: int = next(iter(content["examples"].values()))["value"]["status"]
        return status

    def methods(self, path: str) -> set[str]:
        """The methods that a path declares."""
        return {name.upper() for name in self.find(path)[1]} & {"GET", "POST"}

    def ended_statuses(self) -> set[str]:
        """The known statuses in which a deployment has ended."""
        _, status = self.find("#/components/schemas/Deployment/properties/status")
        return {*status["examples"]} - {*status["x-running"]}

    def within(self, pointer: str) -> Iterator[str]:
        """The parts at a pointer and below, behind `$ref` too."""
        pointer, node = self.find(pointer)
        if pointer in self.origins:
            yield pointer
        items = enumerate(node) if isinstance(node, list) else node.items()
        for name, value in items:
            if isinstance(value, (dict, list)) and name not in ("x-origin", "examples", "links"):
                yield from self.within(f"{pointer}{json_pointer(name)}")

    def judge(self, pointer: str, exchange: Exchange) -> Iterator[Claim]:
        """The claims of a response, whose status is the declared one or another success."""
        pointer, response = self.find(pointer)
        status = str(self.status(pointer))
        yield compared(pointer, status, str(exchange.status))
        for name in response["headers"]:
            part, _ = self.find(f"{pointer}/headers/{name}")
            value = exchange.header(name)
            yield compared(part, "present", MISSING if value is None else "present")
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
            yield from self.judge_value(schema, value, pointer, "")
        elif exchange.media_type == media_type:
            yield Claim(pointer, False, "JSON", "no JSON")

    def judge_value(self, pointer: str, value: Any, part: str, place: str) -> Iterator[Claim]:
        """The claims of the value at a place of the body; `part` is the one that it lies in."""
        pointer, schema = self.find(pointer)
        part = pointer if pointer in self.origins else part
        if "anyOf" in schema:
            yield from self._judge_any(pointer, schema["anyOf"], value, part, place)
            return
        expected: str = schema["type"]
        if isinstance(value, str) and expected == "string" and schema.get("format") in FORMS:
            yield judge_form(part, schema["format"], value, place)
        elif type_of(value) == expected:
            yield Claim(part, True, expected, expected)
        else:
            yield Claim(part, False, expected, type_of(value), place_of(place, value))
        if expected == "object" and isinstance(value, dict):
            yield from self._judge_members(pointer, schema, value, part, place)
        elif expected == "object":
            for name in self._arrays(schema) if isinstance(value, list) else ():
                # The array alone, without the object around it.
                yield from self._judge_items(f"{pointer}/properties/{name}", value, part, place)
            for name in schema.get("required", ()):
                member = f"{pointer}/properties{json_pointer(name)}"
                if self.origins[member][0] == "fixed":
                    yield Claim(member, False, "present", MISSING, place_of(place, value))
        elif expected == "array" and isinstance(value, list):
            yield from self._judge_items(pointer, value, part, place)

    def _judge_items(
        self, pointer: str, value: list[Any], part: str, place: str
    ) -> Iterator[Claim]:
        for index, item in enumerate(value):
            yield from self.judge_value(f"{pointer}/items", item, part, f"{place}/{index}")

    def _arrays(self, schema: dict[str, Any]) -> list[str]:
        """The required members that are arrays."""
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        return [name for name in required if properties[name].get("type") == "array"]

    def _judge_any(
        self, pointer: str, schemas: list[dict[str, Any]], value: Any, part: str, place: str
    ) -> Iterator[Claim]:
        types = [each["type"] for each in schemas]
        if type_of(value) in types:
            yield Claim(part, True, " or ".join(types), " or ".join(types))
            index = types.index(type_of(value))
            yield from self.judge_value(f"{pointer}/anyOf/{index}", value, part, place)
        else:
            place = place_of(place, value)
            yield Claim(part, False, " or ".join(types), type_of(value), place)

    def _judge_members(
        self, pointer: str, schema: dict[str, Any], value: dict[str, Any], part: str, place: str
    ) -> Iterator[Claim]:
        required = schema.get("required", [])
        inner = self.unwrap(pointer, value)
        if inner is not value:
            yield Claim(part, False, "the members themselves", "a member around them", place)
        has_none = len(required) > 1 and not any(name in inner for name in required)
        if has_none:
            yield Claim(part, False, f"members {', '.join(required)}", "none of them", place)
        for name in schema.get("properties", {}):
            member = f"{pointer}/properties{json_pointer(name)}"
            is_fixed = self.origins[member][0] == "fixed"
            if name in inner:
                yield from self.judge_value(
                    member, inner[name], part, f"{place}{json_pointer(name)}"
                )
            elif name in required and (is_fixed or not has_none):
                yield Claim(member, False, "present", MISSING, place)
                other = next((each for each in inner.values() if isinstance(each, list)), None)
                if name in self._arrays(schema) and other:  # under another name
                    yield from self._judge_items(member, other, part, place)

    def unwrap(self, pointer: str, value: dict[str, Any]) -> dict[str, Any]:
        """The object itself, or that in one of its members which alone has the required ones."""
        _, schema = self.find(pointer)
        required = schema.get("required", ())
        if not any(name in value for name in required):
            for inner in value.values():
                if isinstance(inner, dict) and any(name in inner for name in required):
                    return inner
        return value


def compared(part: str, expected: str, observed: str) -> Claim:
    """The claim of two forms, which are to be equal."""
    return Claim(part, observed == expected, expected, observed)


def judge_form(part: str, form: str, text: str, place: str) -> Claim:
    """The claim of a text that should have one of `FORMS`."""
    expected, has_form = FORMS[form]
    if has_form(text):
        return Claim(part, True, expected, expected)
    return Claim(part, False, expected, "another text", place_of(place, text))


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
