"""Finds the status of a deployment in its bodies.

A word is a status of a deployment as a text, such as `queued`, `true` or `7`.
"""

import re
from collections.abc import Sequence
from typing import Any

from traffic.json_values import Path

from . import inspection


def format_word(value: Any, max_length: int = 64) -> str:
    """Format a status as a word: `done`, `true` or `7`; "" for a time or a long text."""
    if isinstance(value, bool):
        return str(value).lower()
    if inspection.is_number(value):
        return str(value)
    if isinstance(value, str) and value.isprintable() and inspection.parse_seconds(value) is None:
        return value if len(value) <= max_length else ""
    return ""


def find_status(bodies: Sequence[Any]) -> tuple[list[Path], bool]:
    """Find the paths that may have the status, in bodies of a deployment in their order.

    The flag says whether the path is certain.
    """
    distinct: dict[Path, None] = {}
    for body in bodies:
        for path, _ in inspection.list_leaves(body):
            if path not in distinct and is_alone_in_arrays(path, body):
                distinct[path] = None
    paths = sorted(distinct, key=len)
    changing = [path for path in paths if is_changing(path, bodies)]
    if not changing:  # A status may be missing in the last bodies.
        having = {path: [body for body in bodies if has_word(path, body)] for path in paths}
        changing = [path for path in paths if is_changing(path, having[path])]
    called = [
        path
        for path in paths
        if inspection.get_key(path) == "status" and any(has_word(path, body) for body in bodies)
    ]
    coarse = find_coarse(changing, bodies)
    found = choose_status(
        [path for path in changing if path not in coarse],
        [path for path in called if path not in coarse],
    )
    is_inside = any(len(path) < len(found[0]) for path in called) if found else False
    return found, len(found) == 1 and not is_inside


def choose_status(changing: list[Path], called: list[Path]) -> list[Path]:
    """Choose among the paths whose words change, and those that are called `status`."""
    for path in changing:  # `status` changes.
        if path in called:
            return [path]
    for path in called:  # `step` changes beside `status`.
        if any(path[:-1] == other[:-1] for other in changing):
            return [path]
    return changing or called[:1]


def is_alone_in_arrays(path: Path, body: Any) -> bool:
    """Return whether the arrays on a path have one item. Of several steps, none is the status."""
    indexes = [index for index, name in enumerate(path) if isinstance(name, int)]
    arrays = [inspection.find_value(body, path[:index]) for index in indexes]
    return all(isinstance(array, list) and len(array) == 1 for array in arrays)


def has_word(path: Path, body: Any) -> bool:
    return format_word(inspection.find_value(body, path)) != ""


def find_coarse(changing: list[Path], bodies: Sequence[Any]) -> set[Path]:
    """Find the paths with fewer words than a path that is further out.

    `{"state": "building", "summary": {"status": "unavailable"}}` has the status at `/state`.
    """
    words = {path: list_words(path, bodies) for path in changing}
    return {
        path
        for path in changing
        for other in changing
        if len(other) < len(path) and len(words[other]) > len(words[path])
    }


def list_words(path: Path, bodies: Sequence[Any]) -> set[str]:
    """List the distinct words at a path: `{"new", "building", "ready"}`."""
    return {format_word(inspection.find_value(body, path)) for body in bodies}


def is_changing(path: Path, bodies: Sequence[Any]) -> bool:
    """Return whether a path has different words. Only in `status` a word may have a digit.

    `{"request_id": "req-8f3a"}` also changes.
    """
    words = list_words(path, bodies)
    if len(words) < 2 or "" in words:
        return False
    if inspection.get_key(path) == "status":
        return True
    values = [inspection.find_value(body, path) for body in bodies]
    return all(
        isinstance(each, str) and re.fullmatch("[A-Za-z][A-Za-z_.-]*", each) for each in values
    )
