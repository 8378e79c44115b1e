"""Checks JSON values by a JSON Schema.

A library would be a further dependency, and its messages are for programmers. These keywords of our
own may stand in a schema:

- `x-error`: the message if a value is rejected. The default is like `must be a string`.
- `x-last`, `x-others`: the schema of the last item of an array, and of the items before it.
- `x-reserved`: a pattern of rejected texts, in any case.
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from .documents import follow_ref
from .problems import FieldError
from .times import parse_time
from .validation import make_error

TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "number": (float, "a number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "null"),
    "array": (list, "an array"),
    "object": (dict, "a JSON object"),
}
"""The type of Python for every type of JSON, and the name of the type in a message."""

Schema = dict[str, Any]


def resolve_refs(part: Any, named: dict[str, Schema]) -> Any:
    """Return a part of a schema in which the named parts replace all `$ref`."""
    if isinstance(part, list):
        return [resolve_refs(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    members = {**follow_ref(part, named), **part}
    members.pop("$ref", None)
    return {name: resolve_refs(each, named) for name, each in members.items()}


def find_errors(value: Any, rules: Schema, *path: str | int) -> Iterator[FieldError]:
    """Yield the errors of a value by a schema. The value is at this path of its document.

    `find_errors({"name": 1}, schema)` yields `FieldError("/name", "must be a string")`.
    """
    keyword = find_broken_keyword(value, rules)
    if keyword:
        yield make_error(explain_keyword(keyword, rules), *path)
        return
    if isinstance(value, list):
        yield from find_item_errors(value, rules, *path)
    if isinstance(value, dict):
        yield from find_member_errors(value, rules, *path)
    for each in rules.get("allOf", ()):
        yield from find_errors(value, each, *path)
    if "if" in rules:
        chosen = "then" if is_valid(value, rules["if"]) else "else"
        yield from find_errors(value, rules.get(chosen, {}), *path)


def find_broken_keyword(value: Any, rules: Schema) -> str | None:
    """Return the first keyword that a value breaks, like `minLength`.

    Members and items of the value are not checked. The type comes first: other keywords are only
    for values of the type.
    """
    if "type" in rules and not has_type(value, rules["type"]):
        return "type"
    for keyword, expected in rules.items():
        holds = KEYWORDS.get(keyword)
        if holds and not holds(value, expected):
            return keyword
    return None


def explain_keyword(keyword: str, rules: Schema) -> str:
    """Return the message for a broken keyword, like `must be one of a, b`."""
    if "x-error" in rules:
        return str(rules["x-error"])
    if keyword == "enum":
        return f"must be one of {', '.join(map(str, rules['enum']))}"
    _, name = TYPES[rules.get("type", "object")]
    return f"must be {name}"


def find_item_errors(items: list[Any], rules: Schema, *path: str | int) -> Iterator[FieldError]:
    last = len(items) - 1
    for index, item in enumerate(items):
        by_place = "x-last" if index == last else "x-others"
        yield from find_errors(item, rules.get("items", {}), *path, index)
        yield from find_errors(item, rules.get(by_place, {}), *path, index)


def find_member_errors(
    members: dict[str, Any], rules: Schema, *path: str | int
) -> Iterator[FieldError]:
    known = rules.get("properties", {})
    others = rules.get("additionalProperties", True)
    of_names = rules.get("propertyNames", {})
    for name, value in members.items():
        yield from find_errors(name, of_names, *path, name)
        schema = known.get(name, others)
        if schema is False:
            yield make_error(f"is not a known member: there are {', '.join(known)}", *path, name)
        elif schema is not True:
            yield from find_errors(value, schema, *path, name)
    for name in rules.get("required", ()):
        if name not in members:
            yield make_error("is required", *path, name)
    for name, needed in rules.get("dependentRequired", {}).items():
        for other in needed:
            if name in members and other not in members:
                yield make_error(f"needs `{other}`", *path, name)


def is_valid(value: Any, rules: Schema) -> bool:
    """Return whether a schema has no error for a value."""
    return not any(find_errors(value, rules))


def has_type(value: Any, name: str) -> bool:
    """Return whether a value has a type of JSON Schema. There `2.0` is an `integer`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        plain, _ = TYPES[name]
        return type(value) is plain
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
# The functions return whether a value satisfies a keyword.
KEYWORDS: dict[str, Callable[[Any, Any], object]] = {
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
