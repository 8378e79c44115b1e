"""The status of a deployment: where it stands in its bodies, and as which word."""

import re
from collections.abc import Sequence
from typing import Any

from profiles.markers import Path

from .exchange import NOTHING
from .guesses import MAX_STATUS, PROSE_NAMES, STATUS_NAMES
from .values import (
    at,
    is_called_id,
    is_id,
    is_number,
    last_name,
    preferred,
    scalars,
    seconds_of,
    words_of,
)


def word_of(value: Any) -> str:
    """A status as a word: a text that is short and no time, a number, true or false."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return str(value)
    if isinstance(value, str) and value.isprintable() and seconds_of(value) is None:
        return value if len(value) <= MAX_STATUS else ""
    return ""


def words_at(path: Path, bodies: Sequence[Any]) -> list[str]:
    """The status of each body; a flag that is not there yet is false."""
    found = [at(body, path) for body in bodies]
    words = [word_of(value) for value in found]
    return [word or "false" for word in words] if isinstance(found[-1], bool) else words


def find_status(bodies: Sequence[Any], own_id: str) -> tuple[Path | None, bool]:
    """The path of the status in the bodies of a deployment, which were read in this order.

    It stands in the object with the id of the deployment, and of the places there that change, it
    is the one that changes more. Only if none there changes or is called so, it is further inside.
    A flag is one only if nothing else is. The second value says whether no other place is called a
    status.
    """
    places = [path for path, _ in scalars(bodies[-1]) if is_place(path, bodies)]
    holder = holder_of(bodies[-1], own_id)
    changes = {path: changes_at(path, bodies) for path in places}

    def is_flag(path: Path) -> bool:
        return isinstance(at(bodies[-1], path), bool) and not has_status_name(path)

    def rank(path: Path) -> tuple[bool, bool, int, bool, int]:
        is_beside_id = path[:-1] == holder
        is_changing = changes[path] > 0
        return is_changing, is_beside_id, changes[path], has_status_name(path), -len(path)

    candidates = [path for path in places if changes[path] or has_status_name(path)]
    candidates = preferred(candidates, lambda path: not is_flag(path))
    if not candidates:
        return None, False
    best = max(candidates, key=rank)
    named = [path for path in places if has_status_name(path) and path != best]
    return best, not any(len(path) < len(best) for path in named)


def is_place(path: Path, bodies: Sequence[Any]) -> bool:
    """Whether a status may stand there: a text like a word, or another value that is called so."""
    for index, name in enumerate(path):
        if isinstance(name, int) and len(at(bodies[-1], path[:index])) > 1:
            return False  # of one of several steps
    values = [at(body, path) for body in bodies]
    words = [word_of(value) for value in values]
    if not words[-1]:
        return False
    if has_status_name(path):
        return True
    if PROSE_NAMES.intersection(words_of(last_name(path))) or is_called_id(path):
        return False
    if isinstance(values[-1], bool):
        return all(isinstance(value, bool) or value is NOTHING for value in values)
    texts = [word for value, word in zip(values, words, strict=True) if isinstance(value, str)]
    return bool(texts) and all(re.fullmatch("[A-Za-z][A-Za-z_. -]*", text) for text in texts)


def changes_at(path: Path, bodies: Sequence[Any]) -> int:
    """How many words are read there after the first one."""
    return len({*words_at(path, bodies)} - {""}) - 1


def holder_of(body: Any, own_id: str) -> Path:
    """The path of the outermost object that has the id of the deployment."""
    for path, value in scalars(body):
        if is_id(value) and str(value) == own_id and path:
            return path[:-1]
    return ()


def has_status_name(path: Path) -> bool:
    return last_name(path).lower() in STATUS_NAMES
