"""Several readings of one body as one: where they differ by the status, a choice."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from stub.like.markers import CHOICE

from .values import Path, is_same


def differences(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            if name in one and name in other:
                yield from differences(one[name], other[name], (*path, name))
            else:
                yield (*path, name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, each in enumerate(one):
            yield from differences(each, other[index], (*path, index))
    elif not is_same(one, other):
        yield path


def volatile_paths(bodies: Sequence[tuple[str, Any]]) -> set[Path]:
    """The paths at which bodies of one status differ; each body comes with its status.

    Where the last status was read more than once, it tells alone: before, a member such as a
    progress may change with time.
    """
    last_word, _ = bodies[-1]
    at_last = [each for each in bodies if each[0] == last_word]
    first: dict[str, Any] = {}
    found: set[Path] = set()
    for word, body in at_last if len(at_last) > 1 else bodies:
        found |= {*differences(first.setdefault(word, body), body)}
    return found


def merge(bodies: dict[str, Any], volatile: Collection[Path] = (), path: Path = ()) -> Any:
    """One body for all statuses, of the body of each; of what is volatile the first one stays."""
    values = [*bodies.values()]
    first = values[0]
    if path in volatile or all(is_same(each, first) for each in values):
        return first
    if all(isinstance(each, dict) for each in values):
        names = names_of(values, volatile, path)
        if names is not None:
            return {
                name: merge(
                    {word: each[name] for word, each in bodies.items() if name in each},
                    volatile,
                    (*path, name),
                )
                for name in names
            }
    if all(isinstance(each, list) and len(each) == len(first) for each in values):
        return [
            merge({word: each[index] for word, each in bodies.items()}, volatile, (*path, index))
            for index in range(len(first))
        ]
    return choice(bodies)


def names_of(values: list[dict[str, Any]], volatile: Collection[Path], path: Path) -> Any:
    """The names of the members that all values have, None if one has others."""
    found = {name: None for each in values for name in each}
    for name in found:
        if (*path, name) not in volatile and not all(name in each for each in values):
            return None
    return found


def choice(bodies: dict[str, Any]) -> dict[str, Any]:
    """The choice between values by the status; what most statuses have is that of the others."""
    values = [*bodies.values()]
    most = max(values, key=lambda value: sum(is_same(value, each) for each in values))
    words = {word: each for word, each in bodies.items() if not is_same(each, most)}
    return {CHOICE: {**words, "": most}}


def resolve(body: Any, word: str) -> Any:
    """A body as it is with a status."""
    if isinstance(body, list):
        return [resolve(each, word) for each in body]
    if not isinstance(body, dict):
        return body
    if CHOICE in body:
        words = body[CHOICE]
        return resolve(words[word] if word in words else words[""], word)
    return {name: resolve(each, word) for name, each in body.items()}
