"""Finds the array of the projects in the list."""

from dataclasses import replace
from typing import Any

from profiles.markers import is_through_objects
from traffic.json_values import Path, walk
from web.validation import format_pointer

from . import inspection, kinds
from .hints import Hints
from .places import Doubt, Places, add_doubt, has_value


def add_items(places: Places, hints: Hints) -> Places:
    """Add the path of the array of the projects in the lists."""
    if not places.lists:
        return places
    body = places.lists[-1].body
    hinted = hints.find_items()
    if hinted is not None:
        if isinstance(inspection.find_value(body, hinted), list):
            return replace(places, items_path=hinted)
        place = format_pointer(*hinted) or "the top"
        doubt = Doubt(kinds.LIST, f"no array is at {place}, where --like has the projects")
        return replace(places, doubts=(*places.doubts, doubt))
    for exchange in reversed(places.lists):
        found = find_arrays(exchange.body, places.created_name)
        if len(found) == 1:
            return replace(places, items_path=found[0])
        if found:
            line = '"list": {"body": {"MEMBER": [{"name": "{project.name}"}]}}'
            return add_doubt(places, kinds.LIST, line, found, body)
    return places


def find_arrays(body: Any, name: str) -> list[Path]:
    """Find the arrays that may have the projects: `[("projects",)]`.

    It is the outermost array with the created name. Without it, the candidates are the outermost
    arrays that have items with a plain name, or else the empty arrays.
    """
    arrays = {
        path: value
        for path, value in walk(body)
        if isinstance(value, list) and is_through_objects(path)
    }
    paths = sorted(arrays, key=len)
    for path in paths:
        if any(has_value(item, name) for item in arrays[path]):
            return [path]
    plain = [path for path in paths if any(map(has_plain_name, arrays[path]))]
    found = plain or [path for path in paths if not arrays[path]]
    return [path for path in found if len(path) == len(found[0])]


def has_plain_name(item: Any) -> bool:
    """Return whether an item has a member `id` or `name`."""
    return isinstance(item, dict) and ("id" in item or "name" in item)
