"""Finds a record in a body: in an envelope, or with its members in an inner object."""

from collections.abc import Collection, Iterator
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
    for path, outer in objects_in(body, required):
        inner_path, members = flatten(outer, required)
        count = count_known(members, required)
        if count > most or not best.members:
            best = Record((*path, *inner_path), members, count > 0)
            most = count
    return best


def objects_in(body: Any, required: Collection[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects of a body, the outer ones first, without those in a record."""
    found: list[tuple[Path, Any]] = [((), body)]
    for path, outer in found:  # which grows while it is read
        if not isinstance(outer, dict):
            continue
        yield path, outer
        is_record = "id" in outer and count_known(outer, required) > 1
        if not is_record:
            found += [((*path, name), inner) for name, inner in outer.items()]


def flatten(record: dict[str, Any], required: Collection[str]) -> tuple[Path, dict[str, Any]]:
    """A record with an id alone, such as one of JSON:API, with the members of an inner object.

    The path is that of the inner object, () if there is none.
    """
    if "id" in record and "id" in required and count_known(record, required) == 1:
        for name, part in record.items():
            is_inner = isinstance(part, dict) and "id" not in part
            if is_inner and count_known(part, required):
                return (name,), {**record, **part}
    return (), record


def count_known(record: dict[str, Any], required: Collection[str]) -> int:
    """How many of the required members a record has."""
    return len([name for name in required if name in record])
