"""Finds the status of a deployment: where it stands in its bodies, and as which word."""

import re
from collections.abc import Sequence
from typing import Any

from traffic.json_values import Path

from .values import find_value, get_key, is_number, list_leaves, parse_seconds

WORD = re.compile(r"[A-Za-z][\w.-]*")


def word_of(value: Any, max_length: int = 64) -> str:
    """Return a status as a word: a text that is short and no time, a number, true or false."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return str(value)
    if isinstance(value, str) and value.isprintable() and parse_seconds(value) is None:
        return value if len(value) <= max_length else ""
    return ""


def words_at(path: Path, bodies: Sequence[Any]) -> list[str]:
    """Return the status of each body; a flag that is not there yet is false."""
    found = [find_value(body, path) for body in bodies]
    words = [word_of(value) for value in found]
    return [word or "false" for word in words] if isinstance(found[-1], bool) else words


def find_status(bodies: Sequence[Any]) -> tuple[list[Path], bool]:
    """Find what may be the status in the bodies of a deployment, which were read in this order.

    It is the word that changes, of several the one that is called `status`; else the outermost that
    is called so. The second value says whether no other place nearer is called so.
    """
    places = [path for path, _ in list_leaves(bodies[-1]) if is_of_one(path, bodies[-1])]
    named = [path for path in places if get_key(path) == "status" and word_of_last(path, bodies)]
    changing = [path for path in places if is_changing(path, bodies)]
    called = [path for path in changing if path in named]
    beside = [path for path in named if any(path[:-1] == each[:-1] for each in changing)]
    found = called[:1] or beside[:1] or changing or named[:1]
    is_sure = len(found) == 1 and not any(len(path) < len(found[0]) for path in named)
    return found, is_sure


def is_of_one(path: Path, body: Any) -> bool:
    """Whether no array on a path has several items: of several steps none tells the status."""
    indexes = [index for index, name in enumerate(path) if isinstance(name, int)]
    return all(len(find_value(body, path[:index])) == 1 for index in indexes)


def word_of_last(path: Path, bodies: Sequence[Any]) -> str:
    return word_of(find_value(bodies[-1], path))


def is_changing(path: Path, bodies: Sequence[Any]) -> bool:
    """Whether different words were read there; in a member called so also numbers."""
    values = [find_value(body, path) for body in bodies]
    words = {word_of(value) for value in values}
    if len(words) < 2 or "" in words:
        return False
    if get_key(path) == "status":
        return True
    return all(isinstance(value, str) and WORD.fullmatch(value) for value in values)
