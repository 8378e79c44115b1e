"""Finds values in JSON, compares them, and reads the times among them."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from profiles import times
from profiles.markers import is_through_objects
from traffic import json_values
from web import schemas
from web.times import parse_time

from .service_log import NOTHING

T = TypeVar("T")


def list_leaves(value: Any) -> list[tuple[json_values.Path, Any]]:
    """List the texts, numbers, booleans and nulls with their paths, the outermost first.

    `list_leaves({"a": [1], "b": 2})` is `[(("b",), 2), (("a", 0), 1)]`.
    """
    found = [item for item in json_values.walk(value) if is_leaf(item[1])]
    return sorted(found, key=lambda item: len(item[0]))


def is_leaf(value: Any) -> bool:
    return not isinstance(value, dict | list) and value is not NOTHING


def find_texts(value: Any) -> dict[json_values.Path, str]:
    """Find the texts that are not empty: `{("name",): "shop"}`, the outermost first."""
    return {path: leaf for path, leaf in list_leaves(value) if isinstance(leaf, str) and leaf}


def find_value(value: Any, path: json_values.Path | None) -> Any:
    """Return the value at a path, or `NOTHING`."""
    return NOTHING if path is None else json_values.get_value(value, path, NOTHING)


def get_key(path: json_values.Path) -> str:
    """Return the innermost name on a path: `id` of `("projects", 0, "id")`, "" without a name."""
    names = [name for name in path if isinstance(name, str)]
    return names[-1] if names else ""


def find_called(paths: Iterable[json_values.Path], name: str) -> json_values.Path | None:
    """Find the outermost member of a plain name, through objects."""
    return get_first(path for path in paths if get_key(path) == name and is_through_objects(path))


def get_called(texts: Mapping[json_values.Path, str], name: str) -> str:
    """Return the text of the outermost member of a plain name, or ""."""
    path = find_called(texts, name)
    return "" if path is None else texts[path]


def has_value(item: Any, value: Any, key: str = "") -> bool:
    """Return whether an item is or has a text, or an integer that is written so.

    With a key only members of this name count.
    """
    if not is_id(value):
        return False
    text = str(value)
    for path, leaf in json_values.walk(item):
        if not is_id(leaf) or str(leaf) != text:
            continue
        if is_through_objects(path) and key in ("", get_key(path)):
            return True
    return False


def has_segment(item: Any, name: str) -> bool:
    """Return whether an item has a text with a name as a segment of a path: `projects/shop`."""
    return name != "" and any(name in text.split("/") for text in find_texts(item).values())


def mentions_deployment(path: json_values.Path) -> bool:
    """Return whether a name on a path has the word: `("latestDeployment", "id")`."""
    return any("deployment" in str(name).lower() for name in path)


def get_first(found: Iterable[T]) -> T | None:
    """Return the first item, or None."""
    return next(iter(found), None)


def prefer(found: list[T], is_better: Callable[[T], bool]) -> list[T]:
    """Return the better items, or all items if no item is better."""
    return [item for item in found if is_better(item)] or found


# Types


def is_id(value: Any) -> bool:
    """Return whether a value may be an id: a text or an integer, such as `"prj_1"` or 7."""
    return type(value) in (str, int) and value != ""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_type(value: Any) -> str:
    """Return the type of a value by its name in a schema: `null`."""
    return next(name for name in schemas.TYPES if schemas.has_type(value, name))


def is_same(value: Any, second: Any) -> bool:
    """Return whether two values are equal, with equal types: 1 is not `true`, nor `1.0`."""
    if value != second:
        return False
    return json.dumps(value, sort_keys=True) == json.dumps(second, sort_keys=True)


def are_same(values: list[Any]) -> bool:
    return all(is_same(value, values[0]) for value in values)


# Times


def parse_seconds(text: Any) -> float | None:
    """Return the seconds since 1970 of a time like `2026-01-05 09:00:00`, None for another value.

    The time has a form that a profile can have. Without an offset it is in UTC.
    """
    form = times.parse_time_format(text) if isinstance(text, str) else None
    if form is None:
        return None
    zone = form.offset or "Z"
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    end = len(text) - len(form.offset)
    moment = parse_time(f"{text[:10]}T{text[11:end]}{zone}")
    return moment.timestamp() if moment else None


def make_example_time(form: times.TimeFormat) -> str:
    """Make the example of a form: `2026-01-05T09:00:00.000Z`."""
    fraction = f".{'0' * form.digits}" if form.digits else ""
    return f"2026-01-05{form.separator}09:00:00{fraction}{form.offset}"
