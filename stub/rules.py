"""The rules of JSON that a client sends, as the published schemas say them.

A library for JSON Schema would be one more dependency, and its messages are for programmers.
`x-error` is what is said of a value that a schema rejects; without one, the type or the `enum` is.
`x-last` has the rules of the last item of an array, `x-others` those of the items before it, and
`x-reserved` a pattern of names, in any case, that are no values.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone, tzinfo
from functools import cache
from typing import Any

from records import Stage, Timeline, round_to_microseconds
from web.files import read_file
from web.problems import FieldError
from web.validation import pointer

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

TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:[0-5]\d)", re.ASCII | re.IGNORECASE
)


def check(value: Any, name: str, words: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """What in a value contradicts the schema of this name; `words` are further statuses."""
    return errors_of(value, schemas(words)[name])


@cache
def schemas(words: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schemas by name, without `$ref`: those of openapi.json, and profile.json.

    `words` are statuses of a profile, which are valid beside those of openapi.json.
    """
    document = json.loads(read_file("stub/openapi.json"))
    profile = json.loads(read_file("stub/like/profile.json"))
    found = {**document["components"]["schemas"], **profile["$defs"], "Profile": profile}
    if words:
        own = found["Status"]
        error = f"{own['x-error']}, or one of {', '.join(words)}"
        found["Status"] = {"anyOf": [own, {"enum": words}], "x-error": error}

    def resolved(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(resolved, part)]
        if not isinstance(part, dict):
            return part
        target = found[part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
        members = {name: each for name, each in part.items() if name != "$ref"}
        return {name: resolved(each) for name, each in (target | members).items()}

    return {name: resolved(each) for name, each in found.items()}


def errors_of(value: Any, rules: dict[str, Any], *path: str | int) -> Iterator[FieldError]:
    """What in a value contradicts the rules, which are a schema; the value stands at the path."""
    for keyword, expected in rules.items():
        if keyword in KEYWORDS and not KEYWORDS[keyword](value, expected):
            names = f"one of {', '.join(map(str, expected))}" if keyword == "enum" else ""
            wanted = names or TYPES[rules.get("type", "object")][1]
            yield FieldError(pointer(*path), rules.get("x-error", f"must be {wanted}"))
            return
    if isinstance(value, list) and "items" in rules:
        for index, each in enumerate(value):
            yield from errors_of(each, rules["items"], *path, index)
            place = "x-last" if index == len(value) - 1 else "x-others"
            yield from errors_of(each, rules.get(place, {}), *path, index)
    if isinstance(value, dict):
        yield from errors_of_members(value, rules, *path)
    for each in rules.get("allOf", ()):
        yield from errors_of(value, each, *path)


def errors_of_members(
    members: dict[str, Any], rules: dict[str, Any], *path: str | int
) -> Iterator[FieldError]:
    """What in the members of an object contradicts the rules."""
    known, others = rules.get("properties", {}), rules.get("additionalProperties", {})
    for name, each in members.items():
        yield from errors_of(name, rules.get("propertyNames", {}), *path, name)
        found = known.get(name, others)
        if found is False:
            yield FieldError(pointer(*path, name), "is not a known member")
        elif found is not True:
            yield from errors_of(each, found, *path, name)
    for name in rules.get("required", ()):
        if name not in members:
            yield FieldError(pointer(*path, name), "is required")
    for name, needed in rules.get("dependentRequired", {}).items():
        for other in needed if name in members else ():
            if other not in members:
                yield FieldError(pointer(*path, name), f"needs `{other}`")


def is_valid(value: Any, rules: dict[str, Any]) -> bool:
    return not any(errors_of(value, rules))


def is_of_type(value: Any, name: str) -> bool:
    """Whether it is of a type of JSON Schema, for which 2.0 is an integer."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return name == "number" or (name == "integer" and value == int(value))
    return type(value) is type(TYPES[name][0])


def parse_time(value: object) -> datetime | None:
    """The time, UTC, of RFC 3339, or None; none has a leap second."""
    match = TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    second, fraction, offset = match.groups(default="")
    text = f"{second}.{fraction[:3]:0<3}{'+00:00' if offset in 'Zz' else offset}"
    try:
        return datetime.fromisoformat(text).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


@cache
def zone_of(offset: str) -> tzinfo | None:
    """The time zone of `Z`, or of an offset such as `+01:00`, in any case."""
    return datetime.strptime(offset.upper(), "%z").tzinfo


def spell_time(moment: datetime, digits: int, offset: str, separator: str) -> str:
    """A millisecond, given in UTC, with so many digits of a second (RFC 3339 §5.6).

    A time that would be before the year 1 or after 9999 is in UTC.
    """
    try:
        at = moment.astimezone(zone_of(offset))
    except OverflowError:
        at, offset = moment, "+00:00"
    fraction = f"{at.microsecond // 1000:03}".ljust(digits, "0")[:digits]
    return f"{at.isoformat(separator)[:19]}{'.' if fraction else ''}{fraction}{offset}"


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    *stages, last = document.get("timeline", [document])
    running = (Stage(each["status"], round_to_microseconds(each["seconds"])) for each in stages)
    return (*running, Stage(last["status"]))


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
    "minLength": lambda value, least: len(value) >= least,
    "maxLength": lambda value, most: len(value) <= most,
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
    "minProperties": lambda value, least: len(value) >= least,
    "maxProperties": lambda value, most: len(value) <= most,
    "uniqueItems": lambda value, _: len({*map(str, value)}) == len(value),
    "pattern": lambda value, pattern: re.fullmatch(pattern, value),
    "x-reserved": lambda value, names: not re.fullmatch(names, value, re.IGNORECASE),
    "format": lambda value, name: FORMATS[name](value),
    "anyOf": lambda value, some: any(is_valid(value, each) for each in some),
    "oneOf": lambda value, some: sum(is_valid(value, each) for each in some) == 1,
    "not": lambda value, rules: not is_valid(value, rules),
}
