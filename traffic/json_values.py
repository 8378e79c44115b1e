"""Walks through JSON values, finds parts of them, and changes copies."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Path = tuple[str | int, ...]
"""The path of a value: names of members and indexes, such as `("projects", 0, "id")`."""


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield a value and all values in it, with their paths, in the order of the document.

    `walk({"a": [1]})` yields `((), {"a": [1]})`, `(("a",), [1])` and `(("a", 0), 1)`.
    """
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        inner: list[tuple[Path, Any]] = []
        if isinstance(value, list):
            inner = [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            inner = [((*path, name), member) for name, member in value.items()]
        waiting += reversed(inner)


def get_value(value: Any, path: Iterable[str | int], missing: Any = None) -> Any:
    """Return the value at a path, or `missing`: `get_value({"a": [1]}, ("a", 0))` is 1."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name, missing)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return missing
    return value


def replace_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy with a new value at a path, which must exist."""
    if not path:
        return new
    name, *rest = path
    changed = copy.copy(value)
    changed[name] = replace_value(value[name], tuple(rest), new)
    return changed


def map_leaves(value: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return a copy in which `change` replaces all texts, numbers, booleans and nulls."""
    if isinstance(value, dict):
        return {name: map_leaves(each, change, (*path, name)) for name, each in value.items()}
    if isinstance(value, list):
        return [map_leaves(each, change, (*path, index)) for index, each in enumerate(value)]
    return change(path, value)
