"""Finds the names and ids of others, which neither a profile nor an output may show."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from profiles import markers
from profiles.profile import Profile
from traffic import json_values
from traffic.masking import MASK

from . import guesses, inspection
from .places import Places
from .service_log import Log
from .texts import (
    MAIL,
    RANDOM,
    IdShapes,
    decode_text,
    fold,
    fold_texts,
    may_identify,
    spell_as_word,
)

NAMES = re.compile("id|uid|uuid|.*name|names|alias(es)?|title|label|slug|login|handle", re.I)
"""Matches the names of members that have the id or the name of their object."""

Leaf = tuple[json_values.Path, Any]


class Strangers:
    """The names and ids of others in a log, and what looks like an id, or is random.

    `values` are folded: `{"prj 2", "my cart", "cart example"}`; `names` are the ids and names among
    them. A further value, such as a host, may be a word of the service.
    """

    def __init__(self, log: Log, places: Places, like: Profile | None = None) -> None:
        own_ids = [places.created_id, places.deployment_id if places.is_own else None]
        own = {str(each) for each in (places.created_name, *own_ids) if each is not None}
        leaves, shared = list_leaves_of_others(log, places)
        # A list of names has no members.
        names = [value for path, value in leaves if not path or NAMES.fullmatch(str(path[-1]))]
        names += list_names_in_maps(places)
        if not places.is_own or places.creation is None:
            names += [places.deployment_id, places.owner_id, places.owner_name]
        values = [value for _, value in leaves]
        examples = like.document.get("ids", {}).values() if like else ()
        self.shapes = IdShapes([*own_ids, *examples, *filter(has_digit, [*values, *names])])
        known = {*map(str, names)}

        def is_foreign_id(text: str) -> bool:
            return text not in shared and self.shapes.matches(text)

        names += find_related(log, own, known, is_foreign_id)
        texts = [str(name) for name in names if inspection.is_id(name)]
        names += [spelled for text in texts for spelled in spell_as_word(text)]
        self._own = fold_texts(own)
        self.names = {text for text in fold_texts(names) - self._own if may_identify(text)}
        self.values = {text for text in fold_texts(values) - self._own if may_identify(text)}
        self.values |= self.names

    def mask(self, text: str) -> str:
        """Replace them by `***`, also if they are percent-encoded or have escapes of JSON."""
        decoded = decode_text(text)
        shown = self._mask_plain(decoded)
        masked = self._mask_plain(text)
        return masked if decode_text(masked) == shown else shown

    def _mask_plain(self, text: str) -> str:
        words = f" {fold(text)} "
        found = {value for value in self.values if f" {value} " in words}
        common = found & guesses.list_common_words()
        found -= common
        found |= {fold(each) for each in (*self.shapes.find(text), *RANDOM.findall(text))}
        found -= self._own
        if found:
            longest_first = sorted(found, key=len, reverse=True)
            values = "|".join(r"(?:[^\w{}[\]]|_)+".join(each.split()) for each in longest_first)
            pattern = rf"(?<![^\W_])(?:{values})(?![^\W_])"
            text = re.sub(pattern, MASK, text, flags=re.IGNORECASE)
        if common:  # `"project"`, but neither a sentence nor the name of a member
            pattern = rf'"(?:{"|".join(map(re.escape, common))})"(?!\s*:)'
            text = re.sub(pattern, f'"{MASK}"', text, flags=re.IGNORECASE)
        return MAIL.sub(MASK, text)


def list_leaves_of_others(log: Log, places: Places) -> tuple[list[Leaf], set[str]]:
    """List the values that identify the records of others: their ids and names, but no status.

    The second result has the values that the records of others share with those of the run, such as
    the id of a region. A constant of the service, like `{"region": "us-east-1"}`, may differ.
    """
    listed = [item for exchange in places.lists for item in places.list_others(exchange)]
    if places.items_path is None:
        listed += [exchange.body for exchange in places.lists]
    reads = [each for each in log.exchanges if each.is_deployment and each.is_success]
    followed = places.followed if places.is_own else ()
    deployments = [exchange.body for exchange in reads if exchange not in followed]
    own_project = [*map(places.get_created_item, places.lists), places.created, places.request]
    own_deployment = [exchange.body for exchange in followed]
    common = {leaf for each in own_project + own_deployment for leaf in list_plain_leaves(each)}
    found: dict[Leaf, None] = {}
    shared = set()
    for path, value in (leaf for each in listed + deployments for leaf in list_plain_leaves(each)):
        is_constant = guesses.is_constant(inspection.get_key(path), str(value))
        if (path, value) in common:
            shared.add(str(value))
        elif not is_constant:
            found[path, value] = None
    return [*found], shared


def list_plain_leaves(record: Any) -> Iterator[Leaf]:
    """List the texts and integers with the last two names of their paths, without times.

    `(("stage", "name"), "deploy")` stands in a deployment, and in the project of it.
    """
    for path, value in inspection.list_leaves(record):
        if inspection.is_id(value) and inspection.parse_seconds(value) is None:
            names = [name for name in path if isinstance(name, str)]
            yield tuple(names[-2:]), value


def list_names_in_maps(places: Places) -> Iterator[str]:
    """List the names of records in maps: `{"cart": {"id": 1}, "shop": {"id": 2}}`."""
    if places.items_path is not None:
        return
    for exchange in places.lists:
        for _, each in json_values.walk(exchange.body):
            records = [*each.values()] if isinstance(each, dict) else []
            names = [set(record) for record in records if isinstance(record, dict)]
            if len(names) == len(records) > 1 and set.intersection(*names):
                yield from each


def find_related(
    log: Log, own: set[str], known: set[str], is_foreign_id: Callable[[str], bool]
) -> Iterator[Any]:
    """Find the ids and names in objects of others: `"prj_2"`, `"cart"`.

    An object is of others if it has an id like those of the run or a mail address, and no `own` id
    or name of the run. A value is of others if a `known` name of others is the name of its member:
    `{"cart": "dpl_2"}`.
    """
    distinct = {exchange.response_body: exchange for exchange in log.exchanges}
    for exchange in distinct.values():
        for record in markers.find_objects(exchange.body):
            members = list_members(record)
            if own & {str(value) for _, value in members}:
                continue
            yield from (value for name, value in members if name in known and len(name) > 2)
            found = [value for _, value in members if is_foreign_id(str(value))]
            yield from found
            mails = [value for _, value in members if MAIL.fullmatch(str(value))]
            # An error may have a trace id, and the mail address of the support.
            if exchange.is_success and (found or mails):
                yield from (value for name, value in members if NAMES.fullmatch(name))


def list_members(record: dict[str, Any]) -> list[tuple[str, Any]]:
    """List the texts and integers of an object by name: `[("id", 7), ("alias", "cart")]`.

    `{"alias": ["cart"]}` has the member `alias`, too.
    """
    return [
        (name, value)
        for name, member in record.items()
        for value in (member if isinstance(member, list) else [member])
        if inspection.is_id(value)
    ]


def has_digit(value: Any) -> bool:
    return re.search("[0-9]", str(value)) is not None
