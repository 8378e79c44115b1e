"""JSON values: what stands in them, and where."""

import copy
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from profiles.markers import Path as Path
from profiles.markers import markers_in, split, values_below
from web.schemas import TYPES, is_of_type
from web.times import parse_time

T = TypeVar("T")

OLDEST = "oldest first"  # orders
NEWEST = "newest first"

NOTHING = object()
"""What is at a path that a value does not have."""


def children(value: Any) -> Iterable[tuple[str | int, Any]]:
    """The members of an object with their names, the items of an array with their indexes."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    return ()


def scalars(value: Any) -> list[tuple[Path, Any]]:
    """The texts, numbers, booleans and nulls in a value, and their paths."""
    found = values_below(value)
    return [(path, each) for path, each in found if not isinstance(each, dict | list)]


def values_in(value: Any) -> list[Any]:
    """The texts, numbers, booleans and nulls in a value."""
    return [each for _, each in scalars(value)]


def outermost(value: Any) -> list[tuple[Path, Any]]:
    """The scalars of a value, the outer ones first."""
    return sorted(scalars(value), key=lambda found: len(found[0]))


def texts_in(value: Any) -> dict[Path, str]:
    """The texts of a value by their paths, the outer ones first."""
    return {path: each for path, each in outermost(value) if isinstance(each, str)}


def with_scalars(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each of its texts, numbers, booleans and nulls changed."""
    if isinstance(value, dict):
        return {name: with_scalars(each, change) for name, each in value.items()}
    if isinstance(value, list):
        return [with_scalars(each, change) for each in value]
    return change(value)


def without_markers(text: str) -> str:
    """A text as it can stand in a profile: what would be a marker is without its braces."""
    while markers_in(text):
        pieces = split(text)
        text = "".join(each if isinstance(each, str) else str(each)[1:-1] for each in pieces)
    return text


def arrays_in(value: Any) -> list[Path]:
    """The paths of the arrays in a value, the outer ones first."""
    paths = [path for path, each in values_below(value) if isinstance(each, list)]
    return sorted(paths, key=len)


def is_through_objects(path: Path) -> bool:
    return all(isinstance(name, str) for name in path)


def at(value: Any, path: Path | None) -> Any:
    """What is at a path, `NOTHING` if there is nothing, or no path."""
    if path is None:
        return NOTHING
    for name in path:
        if isinstance(name, str) and isinstance(value, dict):
            value = value.get(name, NOTHING)
        elif isinstance(name, int) and isinstance(value, list) and name < len(value):
            value = value[name]
        else:
            return NOTHING
    return value


def text_at(value: Any, path: Path | None) -> str:
    """The text at a path, "" if there is none."""
    found = at(value, path)
    return found if isinstance(found, str) else ""


def order_of(times: list[float | None]) -> str | None:
    """The order of times, "" if it is another one, None if they do not tell."""
    known = [time for time in times if time is not None]
    if known == sorted(known):
        return OLDEST if len(set(known)) > 1 else None
    if known == sorted(known, reverse=True):
        return NEWEST
    return ""


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a path; without a change if there is nothing at the path."""
    if not path:
        return new
    name, *rest = path
    inner = at(value, (name,))
    if inner is NOTHING:
        return value
    changed = copy.copy(value)
    changed[name] = replaced(inner, tuple(rest), new)
    return changed


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


def are_same(values: list[Any]) -> bool:
    """Whether values are equal to each other, and of one type."""
    return all(is_same(value, values[0]) for value in values)


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def last_name(path: Path) -> str:
    """The innermost name of a member on a path, "" if there is none."""
    last = ""
    for name in path:
        if isinstance(name, str):
            last = name
    return last


def words_of(name: str) -> list[str]:
    """The words of a member's name in lower case: `latestDeploymentId` has three."""
    separated = re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", name)
    return re.findall("[a-z]+", separated.lower())


def last_word(name: str) -> str:
    words = words_of(name)
    return words[-1] if words else ""


def called_name(paths: list[Path]) -> Path | None:
    """The first path of a member that is called `name`, or else one that ends with that word."""
    alike = [path for path in paths if last_word(last_name(path)) == "name"]
    return first_of(preferred(alike, lambda path: last_name(path) == "name"))


def parse_seconds(text: Any) -> float | None:
    """The seconds since 1970 of an RFC 3339 time, None for another value."""
    moment = parse_time(text)
    return moment.timestamp() if moment else None


def first_of(found: Iterable[T]) -> T | None:
    """The first one, None if there is none."""
    return next(iter(found), None)


def preferred(found: list[T], is_better: Callable[[T], bool]) -> list[T]:
    """Those that are better, or all if none is."""
    return [each for each in found if is_better(each)] or found
