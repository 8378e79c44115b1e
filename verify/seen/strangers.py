"""Finds the names and ids of others, which neither a profile nor an output may show."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from profiles import ids
from profiles.profile import Profile
from traffic import json_values
from traffic.masking import MASK

from . import guesses, inspection
from .kinds import NAME_PREFIX
from .places import Places
from .service_log import Log

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
        bodies = [exchange.body for exchange in places.lists]
        arrays = [each for body in bodies for _, each in json_values.walk(body)]
        maps = [each for body in bodies for each in list_maps(body)]
        found += [name for each in maps for name in each]
        arrays += [[*each.values()] for each in maps]
        for items in arrays:
            if isinstance(items, list):
                paths = find_distinct_paths(items)
                found += [inspection.find_value(item, path) for item in items for path in paths]
    if not places.is_own or places.creation is None:
        found += [places.deployment_id, places.owner_id, places.owner_name]
    return found


def list_related(log: Log, own: set[str], known: set[str], shapes: "IdShapes") -> Iterator[Any]:
    """List the ids and names in objects of others: `"prj_2"`, `"cart"`.

    An object is of others if it has an id like those of the run (`shapes`) or a mail address, and
    no `own` id or name of the run. A value is of others if a `known` name of others is the name of
    its member: `{"cart": "dpl_2"}`.
    """
    distinct = {exchange.response_body: exchange for exchange in log.exchanges}
    for exchange in distinct.values():
        for _, value in json_values.walk(exchange.body):
            members = value if isinstance(value, dict) else {}
            leaves = {name: each for name, each in members.items() if inspection.is_id(each)}
            texts = [str(each) for each in leaves.values()]
            if own & {*texts}:
                continue
            yield from (leaves[name] for name in leaves if name in known and len(name) > 2)
            found = [text for text in texts if shapes.matches(text)]
            yield from found
            if found:
                yield from (leaves[name] for name in leaves if name in ("id", "name"))
            # An error may have the mail address of the support.
            mails = map(MAIL.fullmatch, inspection.find_texts(value).values())
            if exchange.is_success and any(mails):
                yield from (leaves[name] for name in leaves if guesses.has_word(name, "name"))


def list_maps(value: Any) -> Iterator[dict[str, Any]]:
    """List the maps of records by their names or ids: `{"cart": {"id": 1}, "shop": {"id": 2}}`."""
    for _, each in json_values.walk(value):
        records = [*each.values()] if isinstance(each, dict) else []
        names = [set(record) for record in records if isinstance(record, dict)]
        if len(names) == len(records) > 1 and set.intersection(*names):
            yield each


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

    def find(self, text: str) -> set[str]:
        """Find the ids in a text, in lower case."""
        return {match[0].lower() for each in self._patterns for match in each.finditer(text)}

    def matches(self, text: str) -> bool:
        """Return whether a whole text is an id."""
        return any(pattern.fullmatch(text) for pattern in self._patterns)


def make_id_shape(own_id: str) -> str:
    """Make a pattern of ids like one: `prj_[a-z0-9]{6}`. It is "" if further texts may look so."""
    if own_id.isdigit():
        return f"[0-9]{{{len(own_id)}}}" if len(own_id) > 5 else ""
    if NAME_PREFIX in own_id or not re.search("[0-9A-Za-z]", own_id):
        return ""
    try:
        form = ids.parse_id_example(own_id)
    except ValueError:
        return ""
    prefix = re.escape(form.prefix)
    if ids.UUID.fullmatch(form.rest):
        return f"{prefix}(?i:{ids.UUID.pattern})"
    ranges = ("a-z", "A-Z", "0-9")
    classes = "".join(each for each in ranges if re.search(f"[{each}]", form.rest))
    has_digits = "0-9" in classes
    shortest = 4 if form.prefix else 8 if has_digits else 16
    if not form.rest.isalnum() or len(form.rest) < shortest:
        return ""
    digits = f"(?=[{classes}]*[0-9])" if has_digits else ""
    return f"{prefix}{digits}[{classes}]{{{len(form.rest)}}}"


class Strangers:
    """The names and ids of others in a log, and what looks like an id or a mail address."""

    def __init__(self, log: Log, places: Places, like: Profile | None = None) -> None:
        own_ids = [places.created_id, places.deployment_id if places.is_own else None]
        own = {str(each) for each in (places.created_name, *own_ids) if each is not None}
        values = list_strangers(places)
        known = {each for each in values if isinstance(each, str)}
        examples = like.document.get("ids", {}).values() if like else ()
        listed = [places.find_id(item) for item in places.other_items]
        ids_of_others = filter(None, (places.deployment_id, *listed))
        with_digits = [each for each in known if re.search("[0-9]", each)]
        self.shapes = IdShapes((*examples, *filter(None, own_ids), *ids_of_others, *with_digits))
        values += list_related(log, own, known, self.shapes)
        texts = {str(value) for value in values if inspection.is_id(value)} - own
        self.values = {text.lower() for text in texts if may_identify(text) and len(text) > 2}
        spelled = {json.dumps(text)[1:-1] for text in texts} | {
            quote(text, "", errors="replace") for text in texts
        }
        self._spelled = {text.lower() for text in spelled if may_identify(text) and len(text) > 2}
        self._own = {text.lower() for text in own}

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
