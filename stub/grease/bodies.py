"""Varies the body of a response along the contract's schema of it."""

import json
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import cache
from itertools import product
from typing import Any
from zlib import crc32

from flask import Response

from records import quoted

from ..ids import Ids
from .axes import BODY_AXES, ID_AXES, TIME_AXES, Grease, Pair
from .draws import Draws, digest
from .parts import Parts

# Offsets from UTC in minutes. Every parser takes those of `times`. The grammar allows those of
# `times-odd` as well (RFC 3339 §5.6), but Go, Java, Python 3.11 and zod reject some of them.
OFFSETS = {"Z": 0, "+00:00": 0, "+01:00": 60, "-05:00": -300, "+05:30": 330, "-03:30": -210}
OFFSETS |= {"+12:45": 765, "+14:00": 840, "-14:00": -840}
ODD_OFFSETS = {"z": 0, "+23:59": 1439, "-23:59": -1439, "+14:01": 841, "-18:30": -1110}
MINUTES = OFFSETS | ODD_OFFSETS
ODD_FORMS = (*product(ODD_OFFSETS, "tT"), *product(OFFSETS, "t"))
MAX_FRACTION = 9  # of the fraction of a second

EXTRA_VALUES: tuple[Any, ...] = (None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1})


class RawText(str):
    """JSON text that is written as it is: a number of the client's, or a time."""

    __slots__ = ()


class Varied:
    """A response that is varied along the contract's schema of its body.

    `applied` are the axes and the parts that vary, `met` those that may, whatever the axes.
    """

    def __init__(self, grease: Grease, ids: Ids, parts: Parts, request: tuple[str, str]) -> None:
        self.grease = grease
        self.seed = str(grease.seed)
        self.ids = ids
        self.contract = parts.contract
        self.are_watched = parts.are_watched
        self.request = request
        self.applied: set[Pair] = set()
        self.met: set[Pair] = set()

    def varies(self, axis: str, declared: Collection[str], part: str) -> bool:
        """Whether the axis varies a part, which declares these axes and which it may vary."""
        if axis not in declared:
            return False
        self.met.add((axis, part))
        return self.grease.varies(axis, part)

    def apply(self, axis: str, declared: Collection[str], part: str) -> bool:
        """Whether the axis varies such a part; then it is applied."""
        if self.varies(axis, declared, part):
            self.applied.add((axis, part))
            return True
        return False

    def draws(self, axis: str, *key: str) -> Draws:
        """The draws of an axis for a resource, or for the request."""
        return Draws(self.seed, axis, *(key or self.request))

    def body(
        self, response: Response, schema: dict[str, Any], declared: Collection[str], part: str
    ) -> None:
        """Vary the body. It is read only if a part of it may vary or be a greased id."""
        axes = BODY_AXES.intersection(self.grease.axes) & self.axes_within(schema).union(declared)
        if not axes and not self.ids.are_varied and not self.are_watched:
            return
        # The wire form is varied, as it is a client's view: numbers and their order as they came.
        body = json.loads(response.get_data(), parse_int=RawText, parse_float=RawText)
        body = self.value(body, schema, self.request, part)
        if self.apply("json-text", declared, part):
            response.set_data(self.text(body) + "\n")
        elif not BODY_AXES.isdisjoint(axis for axis, _ in self.applied):
            response.set_data(write(body) + "\n")

    def axes_within(self, schema: dict[str, Any]) -> set[str]:
        """The axes that a schema and its parts declare."""
        schema = self.contract.resolve(schema)
        parts = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
        return set(schema.get("x-grease", ())).union(*map(self.axes_within, parts))

    def value(self, value: Any, schema: dict[str, Any], key: tuple[str, ...], part: str) -> Any:
        """A value that the contract describes, of the resource or the request `key`.

        `part` is its place, for a schema without a name.
        """
        part, schema = self.contract.name(schema, part), self.contract.resolve(schema)
        declared = schema.get("x-grease", ())
        if isinstance(value, dict):
            return self.object(value, schema["properties"], declared, key, part)
        if isinstance(value, list):
            if len(value) > 1 and self.varies("list-order", declared, part):
                value = self.reorder("list-order", part, value, self.rank)
            return [self.value(each, schema["items"], key, part) for each in value]
        if not declared:
            return value
        if not TIME_AXES.isdisjoint(declared):
            # Go's time.Time reads no escapes.
            return RawText(quoted(self.time(value, declared, key, part)))
        if self.apply("error-text", declared, part):
            draws = self.draws("error-text", *key, value)
            return f"{draws.word()} {draws.word()}".capitalize()
        return value

    def object(
        self,
        value: dict[str, Any],
        known: dict[str, Any],
        declared: Collection[str],
        key: tuple[str, ...],
        part: str,
    ) -> dict[str, Any]:
        if "id" in known:
            key = (self.ids.key(value["id"]),)
        if self.ids.are_varied or self.are_watched:
            for name, schema in known.items():
                axes = ID_AXES.intersection(schema.get("x-grease", ()))
                if axes and value.get(name):
                    self.note_id(value[name], axes)
        is_running = value.get("status") in self.contract.running
        for name, schema in known.items():
            if name in value:
                value[name] = self.value(value[name], schema, key, f"{part}.{name}")
        if is_running and self.apply("status-values", declared, part):
            value["status"] = self.draws("status-values", *key).word()
        if self.varies("members", declared, part):
            size = len(value)
            draws = self.draws("members", *key, *known)
            for _ in range(draws.below(3) + 1):
                name, extra = draws.word(), draws.choice(EXTRA_VALUES)
                if name not in known:
                    value.setdefault(name, extra)
            if len(value) > size:
                self.applied.add(("members", part))
        if len(value) > 1 and self.varies("member-order", declared, part):
            salt = crc32(digest(self.seed, "member-order", *key))
            names = self.reorder(
                "member-order", part, [*value], lambda name: crc32(name.encode(), salt)
            )
            value = {name: value[name] for name in names}
        return value

    def note_id(self, value: str, declared: Collection[str]) -> None:
        """Note the axes that varied an id, and those that may."""
        if self.are_watched and (kind := self.ids.part_of(value)):
            self.met.update((axis, kind) for axis in declared)
        self.applied.update(pair for pair in self.ids.pairs_of(value) if pair[0] in declared)

    def time(self, moment: str, declared: Collection[str], key: tuple[str, ...], part: str) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters."""
        digits, offset, separator = 3, "Z", "T"
        if self.varies("times", declared, part):
            draws = self.draws("times", *key)
            digits, offset = draws.below(MAX_FRACTION + 1), draws.choice([*OFFSETS])
            if respell(moment, digits, offset, separator) != moment:
                self.applied.add(("times", part))
        if self.apply("times-odd", declared, part):
            offset, separator = self.draws("times-odd", *key).choice(ODD_FORMS)
        return respell(moment, digits, offset, separator)

    def reorder(
        self, axis: str, part: str, items: list[Any], rank: Callable[[Any], Any]
    ) -> list[Any]:
        """The items by rank, so that the order of two does not depend on the others."""
        ordered = sorted(items, key=rank)
        if ordered != items:
            self.applied.add((axis, part))
        return ordered

    def rank(self, record: dict[str, Any]) -> bytes:
        """The place of a record in a list."""
        return digest(self.seed, "list-order", self.ids.key(record["id"]))

    def text(self, value: Any) -> str:
        """JSON of the same value with other whitespace and escapes (RFC 8259 §2, §7)."""
        draws = self.draws("json-text")
        space, salt = draws.choice([" ", "\n", "\t", "  ", "\r\n "]), draws.below(2**32)

        @cache
        def spell(text: str) -> str:
            plain = quoted(text)
            if not text or len(plain) > len(text) + 2:  # it has escapes already
                return plain
            at = crc32(self.ids.key(text).encode(), salt) % len(text) + 1
            return f"{plain[:at]}\\u{ord(plain[at]):04x}{plain[at + 1 :]}"

        return space + write(value, spell, space)

    def media_type(self, media_type: str) -> str:
        """The same type in another case, with a parameter (RFC 9110 §8.3.1)."""
        draws = self.draws("media-type")
        spelled = "".join(draws.choice([char.upper(), char]) for char in media_type)
        return spelled + draws.choice([";charset=utf-8", '; charset="UTF-8"', "; v=1"])


def write(value: Any, spell: Callable[[str], str] = quoted, space: str = "") -> str:
    """JSON text, with each raw text as it is."""
    comma, colon = f"{space},{space or ' '}", f"{space}:{space or ' '}"

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value if isinstance(value, RawText) else spell(value)
        if isinstance(value, dict):
            pairs = [f"{spell(name)}{colon}{text(each)}" for name, each in value.items()]
            return f"{{{space}{comma.join(pairs)}{space}}}"
        if isinstance(value, list):
            return f"[{space}{comma.join(map(text, value))}{space}]"
        return json.dumps(value)

    return text(value)


def respell(moment: str, digits: int, offset: str, separator: str) -> str:
    """Another spelling of the same millisecond (RFC 3339 §5.6).

    The fraction has so many digits, or more where these cannot show the millisecond.
    """
    at = datetime.fromisoformat(moment.removesuffix("Z"))
    try:
        at += timedelta(minutes=MINUTES[offset])
    except OverflowError:
        offset = "+00:00"
    fraction = f"{at.microsecond // 1000:03}".rstrip("0").ljust(digits, "0")
    return f"{at.isoformat(separator, 'seconds')}{'.' if fraction else ''}{fraction}{offset}"
