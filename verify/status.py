"""The status of a deployment: where it stands in its bodies, and as which word."""

import re
from collections.abc import Sequence
from typing import Any

from profiles.markers import Path

from .exchange import NOTHING
from .guesses import MAX_STATUS, PROSE_NAMES, STATUS_NAMES
from .values import (
    at,
    first_of,
    is_called_id,
    is_id,
    is_number,
    last_name,
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
    The second value says whether no other place is called a status.
    """
    places = [path for path, _ in scalars(bodies[-1]) if is_place(path, bodies)]
    holder = holder_of(bodies[-1], own_id)
    changes = {path: changes_at(path, bodies) for path in places}
    named = [path for path in places if has_status_name(path)]
    flags = [path for path in places if isinstance(at(bodies[-1], path), bool)]
    changing = [path for path in places if changes[path] and path not in flags]
    direct = [path for path in places if path[:-1] == holder]
    groups = (
        [path for path in direct if path in changing],
        siblings([path for path in named if changes[path]], changing),
        changing,
        [path for path in direct if path in named],
        named,
        [path for path in direct if changes[path]],
        [path for path in flags if changes[path]],
    )
    found = first_of(each for each in groups if each)
    if found is None:
        return None, False
    best = max(found, key=lambda path: (changes[path], has_status_name(path), -len(path)))
    others = [path for path in named if path != best and len(path) < len(best)]
    return best, not others


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


def siblings(found: list[Path], places: list[Path]) -> list[Path]:
    """The places in the object of the first one that was found."""
    if not found:
        return []
    holder = found[0][:-1]
    return [path for path in places if path[:-1] == holder]


def has_status_name(path: Path) -> bool:
    return last_name(path).lower() in STATUS_NAMES
