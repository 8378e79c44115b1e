"""Several readings of one body as one: where they differ by the status, a choice."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from stub.like.markers import CHOICE, is_choice

from .values import NOTHING, Path, are_same, at, is_same


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inner = one.get(name, NOTHING)
            other_inner = other.get(name, NOTHING)
            yield from differences(inner, other_inner, (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, item in enumerate(one):
            yield from differences(item, other[index], (*path, index))
    elif not is_same(one, other):
        yield path


def volatile_paths(bodies: Sequence[tuple[str, Any]]) -> set[Path]:
    """The paths at which bodies of one status differ; each body comes with its status.

    If the last status was read more than once, only its bodies count: before, a member such as a
    progress may change with time.
    """
    last_word, _ = bodies[-1]
    of_last_word = [pair for pair in bodies if pair[0] == last_word]
    if len(of_last_word) > 1:
        bodies = of_last_word
    first: dict[str, Any] = {}  # by the status
    found: set[Path] = set()
    for word, body in bodies:
        if word in first:
            found.update(differences(first[word], body))
        else:
            first[word] = body
    return found


def merge(bodies: dict[str, Any], volatile: Collection[Path] = (), path: Path = ()) -> Any:
    """One body for all statuses, of the body of each; of what is volatile the first one stays."""
    values = list(bodies.values())
    first = values[0]
    if path in volatile or are_same(values):
        return first
    if all(isinstance(value, dict) for value in values):
        names = common_names(values, volatile, path)
        if names is not None:
            merged = {}
            for name in names:
                merged[name] = merge(bodies_below(bodies, name), volatile, (*path, name))
            return merged
    elif all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [
            merge(bodies_below(bodies, index), volatile, (*path, index))
            for index in range(len(first))
        ]
    return choice(bodies)


def bodies_below(bodies: dict[str, Any], name: str | int) -> dict[str, Any]:
    """Of each body the member, or the item, without those that have none."""
    found = {word: at(body, (name,)) for word, body in bodies.items()}
    return {word: value for word, value in found.items() if value is not NOTHING}


def common_names(
    values: list[dict[str, Any]], volatile: Collection[Path], path: Path
) -> list[str] | None:
    """The names of the members, None if an object lacks one that is not volatile."""
    names: dict[str, None] = {}
    for value in values:
        names.update(dict.fromkeys(value))
    for name in names:
        is_in_all = all(name in value for value in values)
        if not is_in_all and (*path, name) not in volatile:
            return None
    return list(names)


def choice(bodies: dict[str, Any]) -> dict[str, Any]:
    """The choice between values by the status; what most statuses have is that of the others."""
    values = list(bodies.values())

    def count_same(value: Any) -> int:
        return len([each for each in values if is_same(value, each)])

    usual = max(values, key=count_same)
    words = {word: value for word, value in bodies.items() if not is_same(value, usual)}
    return {CHOICE: {**words, "": usual}}


def resolve(body: Any, word: str) -> Any:
    """A body as it is with a status."""
    if isinstance(body, list):
        return [resolve(item, word) for item in body]
    if is_choice(body):
        words = body[CHOICE]
        return resolve(words.get(word, words[""]), word)
    if isinstance(body, dict):
        return {name: resolve(value, word) for name, value in body.items()}
    return body
