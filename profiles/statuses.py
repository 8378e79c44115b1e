"""The statuses of a profile: those that it names, or those of the first choice in its bodies."""

from typing import Any, NamedTuple

from traffic.json_values import Path

from .markers import CHOICE, find_marker_names, find_objects

MAX_STATUSES = 100


class Statuses(NamedTuple):
    """The statuses of a new deployment, of which the last one stays, and the others."""

    run: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.run, *self.others)


def find_statuses(profile: dict[str, Any]) -> Statuses:
    """The statuses of a profile; none if no part of it has any."""
    if "statuses" in profile:
        part = profile["statuses"]
        return Statuses(tuple(part["run"]), tuple(part.get("others", ())))
    _, words = find_first_choice(profile)
    return Statuses(words)


def find_first_choice(profile: dict[str, Any]) -> tuple[Path, tuple[str, ...]]:
    """The words of the first choice: of the deployment, the creation, or the list; and which."""
    for name in ("deployment", "create", "list"):
        body = profile.get(name, {}).get("body")
        found = find_words(body)
        if found:
            return (name, "body"), found
        if "record" in find_marker_names(body):
            found = find_words(profile.get("record"))
            if found:
                return ("record",), found
    return (), ()


def find_words(value: Any) -> tuple[str, ...]:
    """The statuses that the first choice in a value names."""
    for each in find_objects(value):
        words = each.get(CHOICE)
        if isinstance(words, dict) and any(words):
            return tuple(word for word in words if word)
    return ()
