"""Finds the second ids of projects, and makes examples of ids."""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from profiles import ids, markers
from profiles.markers import is_through_objects
from traffic.json_values import Path

from ..seen import guesses, inspection
from ..seen.places import Places
from ..seen.service_log import Log
from ..seen.texts import RANDOM
from . import known

SECOND_ID = re.compile(
    "(?=[^0-9]*[0-9])(?![a-z]+(-[a-z]+)+-[0-9][a-z]?$)[\\w.~:-]*\\w[\\w~:-]*", re.ASCII
)
"""A text with a digit that may be an id, such as `c-49f`, and no region, such as `us-east-1`."""


def find_second_ids(places: Places, log: Log) -> Iterator[tuple[str, str]]:
    """Find the texts of the created project that differ in all projects: they are ids, too.

    Yields the marker and the text: `("project.id:415104041262", "415104041264")`.
    """
    yield from find_unique_ids(places, places.latest_item, places.other_items)
    others = [each.body for each in log.creations if each is not places.creation]
    yield from find_unique_ids(places, places.created, others)


def find_unique_ids(
    places: Places, record: Any, others: Sequence[Any]
) -> Iterator[tuple[str, str]]:
    """Find the texts of a record that are neither its id nor its name, and differ in all others."""
    first_values = {str(places.created_id), places.created_name, str(places.deployment_id)}
    for path, text in inspection.find_texts(record).items():
        is_constant = guesses.is_constant(inspection.get_key(path), text)
        is_time = inspection.parse_seconds(text) is not None
        if text in first_values or is_constant or is_time or not is_through_objects(path):
            continue
        values = [inspection.find_value(item, path) for item in others]
        if (
            values
            and all_differ([text, *map(str, values)])
            and all(has_form(value, text) for value in [text, *values])
        ):
            yield f"project.id:{ids.parse_id_example(text).make(Random(0))}", text


def all_differ(values: Sequence[Any]) -> bool:
    return len(set(values)) == len(values)


def has_form(value: Any, text: str) -> bool:
    """Return whether a value is an id of the form of a text: `c-19f` has that of `c-49f`."""
    if not isinstance(value, str) or SECOND_ID.fullmatch(value) is None:
        return False
    has_prefix = ids.parse_id_example(value).prefix == ids.parse_id_example(text).prefix
    return has_prefix and abs(len(value) - len(text)) <= 2


def find_second_numbers(places: Places) -> Iterator[Path]:
    """Find the integers of the listed project that differ in every project: `("number",)`."""
    for path, number in inspection.list_leaves(places.latest_item):
        is_plain = type(number) is int and number != places.created_id
        if not is_plain or known.is_timestamp(number) or not is_through_objects(path):
            continue
        values = [inspection.find_value(item, path) for item in places.other_items]
        are_integers = all(type(value) is int for value in values)
        if len(values) > 1 and are_integers and all_differ([number, *values]):
            yield path


def randomize(text: str, place: str) -> str:
    """Replace the random parts of a text by others of the same form: `run-7f3kq2xz`.

    They may be secrets, or ids of others. In the same `place` the same are made. A version like
    `v1alpha1` stays.
    """

    def make(found: re.Match[str]) -> str:
        is_version = guesses.DATE_OR_VERSION.fullmatch(found[0])
        source = Random(f"{place} {found.start()}")
        return found[0] if is_version else ids.parse_id_example(found[0]).make(source)

    pieces = markers.split_markers(text)
    return "".join(RANDOM.sub(make, p) if isinstance(p, str) else str(p) for p in pieces)


def make_id_examples(places: Places) -> dict[str, str | int]:
    """Make examples of the ids of new records, or name the marker that they are made from.

    `{"projects": "prj_7040", "deployments": "{project.id}.1"}`
    """
    examples = {}
    if places.creation and places.created_id is not None:
        bases = {"project.name": ids.make_slug(places.created_name)}
        examples["projects"] = make_id_example(places.created_id, bases)
    if places.creation and places.followed and places.is_own:
        bases = {"project.id": places.owner_id, "project.name": ids.make_slug(places.owner_name)}
        examples["deployments"] = make_id_example(places.deployment_id, bases)
    return examples


def make_id_example(own_id: Any, bases: dict[str, Any]) -> str | int:
    text = str(own_id)
    for marker, base in bases.items():
        if inspection.is_id(base) and own_id == base:
            return f"{{{marker}}}"
        if len(str(base)) >= guesses.SHORTEST_NAME and str(base) in text:
            return text.replace(str(base), f"{{{marker}}}", 1)
    if not isinstance(own_id, str):
        return 7040  # Any integer is an example.
    try:
        return ids.parse_id_example(known.strip_markers(text)).make(Random(0))
    except ValueError:
        return text
