"""Checks JSON values by a schema.

A library for JSON Schema would be one more dependency, and its messages are for programmers.
`x-error` is the message for a value that a schema rejects; without one, it names the type or the
values of `enum`.
`x-last` has the rules of the last item of an array, `x-others` those of the items before it, and
`x-reserved` a pattern of names, in any case, that are no values.
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from .documents import follow
from .problems import FieldError
from .times import parse_time
from .validation import error_at

# Of each type of JSON, a plain value, and the name of its values.
TYPES: dict[str, tuple[Any, str]] = {
    "string": ("text", "a string"),
    "integer": (1, "an integer"),
    "number": (0.5, "a number"),
    "boolean": (True, "true or false"),
    "null": (None, "null"),
    "array": ([], "an array"),
    "object": ({}, "a JSON object"),
}

Schema = dict[str, Any]
UNKNOWN_MEMBER = "is not a known member"


def resolved(part: Any, named: dict[str, Schema]) -> Any:
    if isinstance(part, list):
        return [resolved(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    members = {**follow(part, named), **part}
    members.pop("$ref", None)
    return {name: resolved(each, named) for name, each in members.items()}


def errors_of(value: Any, rules: Schema, *path: str | int) -> Iterator[FieldError]:
    """What in a value contradicts the rules, which are a schema; the value stands at the path."""
    keyword = broken_keyword(value, rules)
    if keyword:
        yield error_at(reason_of(keyword, rules), *path)
        return
    if isinstance(value, list):
        yield from errors_of_items(value, rules, *path)
    if isinstance(value, dict):
        yield from errors_of_members(value, rules, *path)
    for each in rules.get("allOf", ()):
        yield from errors_of(value, each, *path)
    if "if" in rules:
        chosen = "then" if is_valid(value, rules["if"]) else "else"
        yield from errors_of(value, rules.get(chosen, {}), *path)


def broken_keyword(value: Any, rules: Schema) -> str | None:
    """The first keyword of a schema that a value breaks, its members and items aside."""
    for keyword, expected in rules.items():
        holds = KEYWORDS.get(keyword)
        if holds and not holds(value, expected):
            return keyword
    return None


def reason_of(keyword: str, rules: Schema) -> str:
    if "x-error" in rules:
        return str(rules["x-error"])
    if keyword == "enum":
        return f"must be one of {', '.join(map(str, rules['enum']))}"
    _, name = TYPES[rules.get("type", "object")]
    return f"must be {name}"


def errors_of_items(items: list[Any], rules: Schema, *path: str | int) -> Iterator[FieldError]:
    if not rules.keys() & {"items", "x-others", "x-last"}:
        return
    of_each = rules.get("items", {})
    of_others = rules.get("x-others", {})
    for index, item in enumerate(items):
        is_last = index == len(items) - 1
        more = rules.get("x-last", {}) if is_last else of_others
        yield from errors_of(item, of_each, *path, index)
        yield from errors_of(item, more, *path, index)


def errors_of_members(
    members: dict[str, Any], rules: Schema, *path: str | int
) -> Iterator[FieldError]:
    known = rules.get("properties", {})
    others = rules.get("additionalProperties", True)
    of_names = rules.get("propertyNames", {})
    for name, value in members.items():
        yield from errors_of(name, of_names, *path, name)
        schema = known.get(name, others)
        if schema is False:
            yield error_at(UNKNOWN_MEMBER, *path, name)
        elif schema is not True:
            yield from errors_of(value, schema, *path, name)
    for name in rules.get("required", ()):
        if name not in members:
            yield error_at("is required", *path, name)
    for name, needed in rules.get("dependentRequired", {}).items():
        for other in needed:
            if name in members and other not in members:
                yield error_at(f"needs `{other}`", *path, name)


def is_valid(value: Any, rules: Schema) -> bool:
    return not any(errors_of(value, rules))


def is_of_type(value: Any, name: str) -> bool:
    """Whether it is of a type of JSON Schema, for which 2.0 is an integer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        plain, _ = TYPES[name]
        return type(value) is type(plain)
    if name == "integer":
        return value == int(value)
    return name == "number"


def has_at_least(value: Any, least: int) -> bool:
    return len(value) >= least


def has_at_most(value: Any, most: int) -> bool:
    return len(value) <= most


FORMATS: dict[str, Callable[[Any], object]] = {
    "date-time": parse_time,
    "date": lambda text: parse_time(f"{text}T00:00:00Z"),
    "printable": str.isprintable,
}
# Of each keyword: whether a value keeps it. In a schema `type` stands first.
KEYWORDS: dict[str, Callable[[Any, Any], object]] = {
    "type": is_of_type,
    "enum": lambda value, known: value in known,
    "minimum": operator.ge,
    "maximum": operator.le,
    "minLength": has_at_least,
    "maxLength": has_at_most,
    "minItems": has_at_least,
    "maxItems": has_at_most,
    "minProperties": has_at_least,
    "maxProperties": has_at_most,
    "uniqueItems": lambda value, _: len(set(map(str, value))) == len(value),
    "pattern": lambda value, pattern: re.fullmatch(pattern, value),
    "x-reserved": lambda value, names: not re.fullmatch(names, value, re.IGNORECASE),
    "format": lambda value, name: FORMATS[name](value),
    "anyOf": lambda value, schemas: any(is_valid(value, each) for each in schemas),
    "oneOf": lambda value, schemas: sum(is_valid(value, each) for each in schemas) == 1,
    "not": lambda value, rules: not is_valid(value, rules),
}
