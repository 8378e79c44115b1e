"""Finds the names and ids of others, which neither a profile nor an output may show."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from profiles import ids
from traffic import json_values
from traffic.masking import MASK

from . import inspection
from .kinds import NAME_PREFIX
from .places import Places

MAIL = re.compile(r"(?<![\w./:@+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?![\w:/@-])")
"""Matches a mail address, but not the user and host of `git@git.example:shop.git`."""


def list_strangers(places: Places) -> list[Any]:
    """List ids, names, mail addresses and deployments of the rest: `["prj_2", "cart"]`."""
    own_id = str(places.deployment_id)
    paths = [
        path for path, leaf in inspection.list_leaves(places.latest_item) if str(leaf) == own_id
    ]
    if places.lists:
        paths += find_distinct_paths(places.list_items(places.lists[-1]))
    found = []
    for exchange in places.lists:
        for item in places.list_others(exchange):
            found += [places.find_id(item), places.find_name(item)]
            found += [inspection.find_value(item, path) for path in paths]
            found += [text for text in inspection.find_texts(item).values() if "@" in text]
    if places.items_path is None:
        for items in [value for each in places.lists for _, value in json_values.walk(each.seen)]:
            if isinstance(items, list):
                paths = find_distinct_paths(items)
                found += [inspection.find_value(item, path) for item in items for path in paths]
    if not places.is_own or places.creation is None:
        found += [places.deployment_id, places.owner_id, places.owner_name]
    return found


def find_distinct_paths(items: list[Any]) -> list[json_values.Path]:
    """Find where each project of a list has another text: its id, its name, its host."""
    texts: dict[json_values.Path, set[str]] = defaultdict(set)
    for item in items:
        for path, leaf in inspection.list_leaves(item):
            if inspection.is_id(leaf) and inspection.parse_seconds(leaf) is None:
                texts[path].add(str(leaf))
    return [path for path, values in texts.items() if len(values) == len(items) > 1]


def lower_texts(bodies: Iterable[Any]) -> set[str]:
    """Return the texts and numbers in bodies in lower case: `{"shop", "7040"}`."""
    found = set()
    for body in bodies:
        for _, value in inspection.list_leaves(body):
            if isinstance(value, str) or inspection.is_number(value):
                found.add(str(value).lower())
    return found


def may_identify(text: str, min_number: int = 1000) -> bool:
    """Return whether a value may say whose record it is: `shop` and `7040` may, `7` does not."""
    if text.lstrip("-").isdigit():
        return abs(int(text)) >= min_number
    return len(text) > 1


class IdShapes:
    """The shapes of ids like those of the created records: `prj_4f9a2c` is one of `prj_0b77e1`."""

    def __init__(self, own_ids: Iterable[Any]) -> None:
        shapes = dict.fromkeys(make_id_shape(str(own_id)) for own_id in own_ids)
        self._patterns = [
            re.compile(f"(?<![A-Za-z0-9]){shape}(?![A-Za-z0-9])") for shape in shapes if shape
        ]

    def find(self, text: str, *, with_prefix: bool = False) -> set[str]:
        """Find the ids in a text, in lower case; those `with_prefix` can be nothing else."""
        found = {match[0].lower() for each in self._patterns for match in each.finditer(text)}
        if with_prefix:
            return {own_id for own_id in found if re.match("[a-z]+[_.:~-]", own_id)}
        return found


def make_id_shape(own_id: str) -> str:
    """Make a pattern of ids like one: `prj_[a-z0-9]{6}`. It is "" if further texts may look so."""
    if own_id.isdigit():
        return f"[0-9]{{{len(own_id)}}}" if len(own_id) > 5 else ""
    if NAME_PREFIX in own_id or not re.search("[0-9A-Za-z]", own_id):
        return ""
    form = ids.parse_opaque_form(own_id)
    prefix = re.escape(form.prefix)
    if ids.UUID.fullmatch(form.rest):
        return f"{prefix}(?i:{ids.UUID.pattern})"
    ranges = ("a-z", "A-Z", "0-9")
    classes = "".join(each for each in ranges if re.search(f"[{each}]", form.rest))
    has_digits = "0-9" in classes
    shortest = 4 if form.prefix else 12 if has_digits else 16
    if not form.rest.isalnum() or len(form.rest) < shortest:
        return ""
    digits = f"(?=[{classes}]*[0-9])" if has_digits else ""
    return f"{prefix}{digits}[{classes}]{{{len(form.rest)}}}"


class Strangers:
    """The names and ids of others in a log, and what looks like an id or a mail address."""

    def __init__(self, places: Places) -> None:
        texts = {str(value) for value in list_strangers(places) if inspection.is_id(value)}
        texts -= {places.created_name, str(places.created_id), str(places.deployment_id)}
        self.values = {text.lower() for text in texts if may_identify(text) and len(text) > 2}
        spelled = {json.dumps(text)[1:-1] for text in texts} | {
            quote(text, "", errors="replace") for text in texts
        }
        self._spelled = {text.lower() for text in spelled if may_identify(text) and len(text) > 2}
        own_ids = [places.created_id, places.deployment_id]
        self._own = {str(own_id).lower() for own_id in own_ids}
        self.shapes = IdShapes(own_ids)

    def mask(self, text: str) -> str:
        """Replace them by `***`."""
        lower = text.lower()
        found = {value for value in self.values | self._spelled if value in lower}
        found |= self.shapes.find(text)
        found -= self._own
        if found:
            longest_first = sorted(found, key=len, reverse=True)
            values = "|".join(map(re.escape, longest_first))
            pattern = f"(?<![A-Za-z0-9])(?:{values})(?![A-Za-z0-9])"
            text = re.sub(pattern, MASK, text, flags=re.IGNORECASE)
        return MAIL.sub(MASK, text)
