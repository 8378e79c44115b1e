"""Walks JSON values: what stands in them, and where."""

import copy
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

Path = tuple[str | int, ...]
"""Where a value stands: names of members and indexes, such as `("projects", 0, "id")`."""


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield a value, then each one in it, with their paths, in the order of the document."""
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


def get(value: Any, path: Iterable[str | int], missing: Any = None) -> Any:
    """Return what stands at a path, `missing` if there is nothing."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name, missing)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return missing
    return value


def replace(value: Any, path: Path, new: Any) -> Any:
    """Return a copy with another value at a path, at which there is one."""
    if not path:
        return new
    name, *rest = path
    changed = copy.copy(value)
    changed[name] = replace(value[name], tuple(rest), new)
    return changed


def map_leaves(value: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return a copy in which each text, number, boolean and null is what `change` returns."""
    if isinstance(value, dict):
        return {name: map_leaves(each, change, (*path, name)) for name, each in value.items()}
    if isinstance(value, list):
        return [map_leaves(each, change, (*path, index)) for index, each in enumerate(value)]
    return change(path, value)


Names = dict[Path, Collection[str]]
"""The known names in objects, by the paths of these."""


def find_unknown(value: Any, known: Names, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the members whose names are not known in their objects."""
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        place = (*path, name)
        if name not in known[path]:
            yield place
        elif place in known:
            yield from find_unknown(member, known, place)


def find_missing(value: Any, expected: Iterable[Path]) -> Iterator[Path]:
    """Yield the expected paths of members that are not in their objects, where these are there."""
    for path in expected:
        *around, name = path
        holder = get(value, around)
        if isinstance(holder, dict) and name not in holder:
            yield path
