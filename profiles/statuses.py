"""Finds the statuses of a profile: its `statuses`, or those of the first choice in its bodies."""

from typing import Any, NamedTuple

from traffic.json_values import Path

from . import markers


class Statuses(NamedTuple):
    """The statuses of a new deployment (`run`), of which the last stays, and further statuses."""

    run: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.run, *self.others)


def find_statuses(profile: dict[str, Any]) -> Statuses:
    """Return the statuses of a profile: `Statuses(("queued", "live"), ("failed",))`."""
    if "statuses" in profile:
        part = profile["statuses"]
        return Statuses(tuple(part["run"]), tuple(part.get("others", ())))
    _, statuses = find_first_choice(profile)
    return Statuses(statuses)


def find_first_choice(profile: dict[str, Any]) -> tuple[Path, tuple[str, ...]]:
    """Return the path of the first body with a choice, and the statuses of this choice.

    The bodies of the deployment, the creation and the list are searched in this order.
    """
    for name in ("deployment", "create", "list"):
        body = profile.get(name, {}).get("body")
        found = list_choice_statuses(body)
        if found:
            return (name, "body"), found
        if "record" in markers.find_marker_names(body):
            found = list_choice_statuses(profile.get("record"))
            if found:
                return ("record",), found
    return (), ()


def list_choice_statuses(value: Any) -> tuple[str, ...]:
    """Return the statuses that the first choice in a value names."""
    for each in markers.find_objects(value):
        values = each.get(markers.CHOICE)
        if isinstance(values, dict) and any(values):
            return tuple(status for status in values if status)
    return ()
