"""JSON values: what stands in them, and where."""

import json
import re
from collections.abc import Iterator
from typing import Any

from stub.like.markers import Path as Path
from stub.rules import TYPES, is_of_type, parse_time

NOTHING = object()
"""What is at a path that a value does not have."""


def scalars(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The texts, numbers, booleans and nulls in a value, and their paths."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from scalars(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from scalars(each, (*path, index))
    else:
        yield path, value


def outermost(value: Any) -> list[tuple[Path, Any]]:
    """The scalars of a value, the outer ones first."""
    return sorted(scalars(value), key=lambda found: len(found[0]))


def is_through_objects(path: Path) -> bool:
    return all(isinstance(name, str) for name in path)


def at(value: Any, path: Path) -> Any:
    """What is at a path, `NOTHING` if there is nothing."""
    for name in path:
        if isinstance(name, str):
            value = value.get(name, NOTHING) if isinstance(value, dict) else NOTHING
        elif isinstance(value, list) and name < len(value):
            value = value[name]
        else:
            return NOTHING
    return value


def arrays_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """The arrays in a value, and their paths."""
    if isinstance(value, list):
        yield path, value
        for index, each in enumerate(value):
            yield from arrays_in(each, (*path, index))
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from arrays_in(each, (*path, name))


def has_records(items: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in items)


def type_of(value: Any) -> str:
    """The type of JSON: one of `TYPES`."""
    return next(name for name in TYPES if is_of_type(value, name))


def is_id(value: Any) -> bool:
    """Whether it is a text or a number that a path can have."""
    return type(value) in (str, int) and value != ""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, and of one type: 1 is not true."""
    if type(one) is not type(other) or one != other:
        return False
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def last_name(path: Path) -> str:
    """The innermost name of a member on a path, "" if there is none."""
    names = [name for name in path if isinstance(name, str)]
    return names[-1] if names else ""


def words_of(name: str) -> list[str]:
    """The words of a member's name in lower case: `latestDeploymentId` has three."""
    return re.findall("[a-z]+", re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", name).lower())


def last_word(name: str) -> str:
    words = words_of(name)
    return words[-1] if words else ""


def called_name(texts: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """The texts whose member is called `name`, then those whose member ends with that word."""
    exact = [each for each in texts if last_name(each[0]) == "name"]
    alike = [each for each in texts if last_word(last_name(each[0])) == "name"]
    return [*exact, *alike]


def parse_seconds(text: Any) -> float | None:
    """The seconds since 1970 of an RFC 3339 time, None for another value."""
    moment = parse_time(text)
    return moment.timestamp() if moment else None


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a path."""
    if not path:
        return new
    name, *rest = path
    if isinstance(value, list):
        return [
            replaced(each, tuple(rest), new) if index == name else each
            for index, each in enumerate(value)
        ]
    return {**value, name: replaced(value[name], tuple(rest), new)}
