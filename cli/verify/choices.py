"""Several readings of one body as one: where they differ by the status, a choice."""

from typing import Any

from stub.like.markers import CHOICE, is_choice

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
        names = common_names(bodies, varying, path)
        if names is not None:
            return {name: merge(below(bodies, name), varying, (*path, name)) for name in names}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        indexes = range(len(first))
        return [merge(below(bodies, index), varying, (*path, index)) for index in indexes]
    by_status: dict[str, Bodies] = {}
    for word, body in bodies:
        by_status.setdefault(word, []).append((word, body))
    if len(by_status) == 1:
        varying.add(path)
        return first
    merged = {word: merge(each, varying, path) for word, each in by_status.items()}
    return first if path in varying else choice(merged)


def below(bodies: Bodies, name: str | int) -> Bodies:
    """Of each body the member, or the item, without those that have none."""
    return [(word, body[name]) for word, body in bodies if isinstance(name, int) or name in body]


def common_names(bodies: Bodies, varying: set[Path], path: Path) -> list[str] | None:
    """The names of the members, None if some are there with other statuses alone."""
    counts: dict[str, int] = {}
    for _, body in bodies:
        for name in body:
            counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count == len(bodies):
            continue
        presence = {(word, name in body) for word, body in bodies}
        statuses = {word for word, _ in bodies}
        if len(presence) == len(statuses):
            return None
        varying.add((*path, name))  # with one status it comes and goes
    return list(counts)


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
