"""Finds a record in a body: in an envelope, if there is one around it."""

from collections.abc import Collection
from typing import Any, NamedTuple

from .values import Path


class Record(NamedTuple):
    """The members of a record, and where in a body it stands; `has_any` of the required ones."""

    path: Path
    members: dict[str, Any]
    has_any: bool


def find_record(body: Any, required: Collection[str]) -> Record:
    """The object with most of the required members. Objects in a record do not count."""
    best = Record((), {}, False)
    most = 0
    to_read: list[tuple[Path, Any]] = [((), body)]
    for path, value in to_read:  # which grows while it is read
        if not isinstance(value, dict):
            continue
        count = len([name for name in required if name in value])
        if count > most or not best.members:
            best = Record(path, value, count > 0)
            most = count
        is_record = "id" in value and count > 1
        if not is_record:
            to_read += [((*path, name), inner) for name, inner in value.items()]
    return best
