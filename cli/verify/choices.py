"""Several readings of one body as one: where they differ by the status, a choice."""

from collections import defaultdict
from typing import Any

from profiles.markers import CHOICE

from .values import Path, are_same, is_same

Bodies = list[tuple[str, Any]]
"""Bodies of one record, each with the status with which it was read."""


def merge(bodies: Bodies, varying: set[Path], path: Path = ()) -> Any:
    """One body for all statuses, with a choice where those of different statuses differ.

    Where those of one status differ, the first value stays, and its path is added to `varying`.
    """
    values = [body for _, body in bodies]
    first = values[0]
    if are_same(values):
        return first
    if all(isinstance(value, dict) for value in values):
        return merge_objects(bodies, varying, path)
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return merge_arrays(bodies, varying, path)
    return choose(bodies, varying, path)


def merge_arrays(bodies: Bodies, varying: set[Path], path: Path) -> list[Any]:
    """Arrays of one length, by their items."""
    _, first = bodies[0]
    items = []
    for index in range(len(first)):
        at_index = [(word, body[index]) for word, body in bodies]
        items.append(merge(at_index, varying, (*path, index)))
    return items


def merge_objects(bodies: Bodies, varying: set[Path], path: Path) -> Any:
    """Objects as one; a member that is there with some statuses alone is a choice of these."""
    names: dict[str, None] = {}
    for _, body in bodies:
        names.update(dict.fromkeys(body))
    merged = {}
    for name in names:
        inner = (*path, name)
        having = [(word, body[name]) for word, body in bodies if name in body]
        if len(having) == len(bodies):
            merged[name] = merge(having, varying, inner)
        elif comes_and_goes(bodies, name):
            varying.add(inner)
            merged[name] = merge(having, varying, inner)
        else:
            merged[name] = {CHOICE: merge_by_status(having, varying, inner)}
    return merged


def comes_and_goes(bodies: Bodies, name: str) -> bool:
    """Whether some bodies of one status have a member, and others not."""
    with_statuses = {(word, name in body) for word, body in bodies}
    statuses = {word for word, _ in bodies}
    return len(with_statuses) > len(statuses)


def choose(bodies: Bodies, varying: set[Path], path: Path) -> Any:
    """The choice between the bodies of the statuses, or the first one, if it varies with one."""
    _, first = bodies[0]
    if len({word for word, _ in bodies}) == 1:
        varying.add(path)
        return first
    merged = merge_by_status(bodies, varying, path)
    if path in varying:
        return first
    return choice(merged)


def merge_by_status(bodies: Bodies, varying: set[Path], path: Path) -> dict[str, Any]:
    """For each status one body."""
    by_status: dict[str, Bodies] = defaultdict(list)
    for word, body in bodies:
        by_status[word].append((word, body))
    return {word: merge(of_word, varying, path) for word, of_word in by_status.items()}


def judged(bodies: Bodies) -> Bodies:
    """The bodies that show what varies within a status.

    If the last status was read more than once, only its bodies do: before, a member such as a
    progress may change with time, and one body of each other status counts.
    """
    words = [word for word, _ in bodies]
    last = words[-1]
    if words.count(last) == 1:
        return bodies
    found: Bodies = []
    seen = set()
    for word, body in bodies:
        if word == last or word not in seen:
            found.append((word, body))
        seen.add(word)
    return found


def choice(bodies: dict[str, Any]) -> dict[str, Any]:
    """The choice between values by the status; what most statuses have is that of the others."""
    values = list(bodies.values())

    def count(value: Any) -> int:
        return len([each for each in values if is_same(value, each)])

    usual = max(values, key=count)
    words = {word: value for word, value in bodies.items() if not is_same(value, usual)}
    return {CHOICE: {**words, "": usual}}
