"""Varies the body of a response along the contract's schema of it.

The text of a body is cut along the schema, and joined again. So what does not vary keeps its
spelling: only `json-text` changes the whitespace, and the escapes of strings.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from functools import cache
from itertools import chain, repeat
from typing import Any, NamedTuple
from zlib import crc32

from flask import Response

from records import quoted

from ..ids import Ids
from .axes import BODY_AXES, ID_AXES, TIME_AXES, Grease, Pair
from .draws import Draws, digest
from .parts import Parts

# Offsets from UTC in minutes. Every parser takes those of `times`. The grammar allows those of
# `times-odd` as well (RFC 3339 §5.6), but Go, Java, Python 3.11 and zod reject some of them.
OFFSETS = {"+00:00": 0, "+01:00": 60, "-05:00": -300, "+05:30": 330, "-03:30": -210}
OFFSETS |= {"+12:45": 765, "+14:00": 840, "-14:00": -840}
ODD_OFFSETS = {"z": 0, "+23:59": 1439, "-23:59": -1439, "+14:01": 841, "-18:30": -1110}
MINUTES = OFFSETS | ODD_OFFSETS | {"Z": 0}
FRACTIONS = (4, 5, 6, 7, 8, 9)  # digits; the service itself has three

EXTRA_VALUES: tuple[str, ...] = ("null", "true", "-9", "1000000000000", "0.5", '"extra"')  # JSON
EXTRA_VALUES += ("[]", "[1]", "{}", '{"extra": 1}')

# All but numbers, true, false and null.
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[ \t\n\r]+')
READER = json.JSONDecoder(parse_int=str, parse_float=str)  # Python limits the digits of a number


class Piece(NamedTuple):
    """A value and its text. A member has a name, and `label` is the text before its value."""

    value: Any
    text: str
    name: str = ""
    label: str = ""


class Split(NamedTuple):
    """The text of an array or an object: its pieces, and what is around them."""

    opening: str
    gaps: list[str]  # before each piece; empty before the first
    pieces: list[Piece]
    closing: str


class Varied:
    """A response that is varied along the contract's schema of its body.

    `applied` are the axes and the parts that vary.
    """

    def __init__(self, grease: Grease, ids: Ids, parts: Parts, request: tuple[str, str]) -> None:
        self.grease = grease
        self.seed = str(grease.seed)
        self.ids = ids
        self.contract = parts.contract
        self.request = request
        self.spell: Callable[[str], str] = str  # a fragment of the text
        self.applied: set[Pair] = set()

    def varies(self, axis: str, declared: Collection[str], part: str) -> bool:
        """Whether the axis varies a part, which declares these axes and which it may vary."""
        return axis in declared and self.grease.varies(axis, part)

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
        if not axes and not self.ids.are_varied:
            return
        space = ""
        if self.apply("json-text", declared, part):
            space, self.spell = self.other_spelling()
        # The wire form is varied, as it is a client's view.
        text = response.get_data(as_text=True).strip()
        varied = self.value(Piece(READER.decode(text), text), schema, self.request, part)
        response.set_data(f"{space}{varied}\n")

    def axes_within(self, schema: dict[str, Any]) -> set[str]:
        """The axes that a schema and its parts declare."""
        schema = self.contract.resolve(schema)
        parts = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
        return set(schema.get("x-grease", ())).union(*map(self.axes_within, parts))

    def value(self, piece: Piece, schema: dict[str, Any], key: tuple[str, ...], part: str) -> str:
        """The text of a value that the contract describes, of the resource or the request `key`.

        `part` is its place, for a schema without a name.
        """
        part, schema = self.contract.name(schema, part), self.contract.resolve(schema)
        declared = schema.get("x-grease", ())
        value, text = piece.value, piece.text
        if isinstance(value, dict):
            return self.object(piece, schema["properties"], declared, key, part)
        if isinstance(value, list):
            array = split(text)
            items = array.pieces
            if len(value) > 1 and self.varies("list-order", declared, part):
                items = self.reorder("list-order", part, items, self.rank)
            return self.join(
                array, [self.value(each, schema["items"], key, part) for each in items]
            )
        if not TIME_AXES.isdisjoint(declared):
            # Go's time.Time reads no escapes.
            return quoted(self.time(value, declared, key, part))
        if self.apply("error-text", declared, part):
            draws = self.draws("error-text", *key, value)
            text = quoted(f"{draws.word()} {draws.word()}".capitalize())
        return self.spell(text)

    def object(
        self,
        piece: Piece,
        known: dict[str, Any],
        declared: Collection[str],
        key: tuple[str, ...],
        part: str,
    ) -> str:
        value = piece.value
        if "id" in known:
            key = (self.ids.key(value["id"]),)
        if self.ids.are_varied:
            for name, schema in known.items():
                axes = ID_AXES.intersection(schema.get("x-grease", ()))
                if axes and value.get(name):
                    self.note_id(value[name], axes)
        is_running = value.get("status") in self.contract.running
        whole = split(piece.text)
        members = {}  # name to text
        for each in whole.pieces:
            if each.name in known:
                text = self.value(each, known[each.name], key, f"{part}.{each.name}")
            else:
                text = self.spell(each.text)
            if each.name == "status" and is_running and self.apply("status-values", declared, part):
                text = self.spell(quoted(self.draws("status-values", *key).word()))
            members[each.name] = self.spell(each.label) + text
        if self.varies("members", declared, part):
            draws = self.draws("members", *key, *known)
            for _ in range(draws.below(3) + 1):
                name, extra = draws.word(), draws.choice(EXTRA_VALUES)
                if name not in known:
                    members.setdefault(name, self.spell(f'"{name}": {extra}'))
            if len(members) > len(value):
                self.applied.add(("members", part))
        names = [*members]
        if len(names) > 1 and self.varies("member-order", declared, part):
            salt = crc32(digest(self.seed, "member-order", *key))
            names = self.reorder(
                "member-order", part, names, lambda name: crc32(name.encode(), salt)
            )
        return self.join(whole, [members[name] for name in names])

    def join(self, whole: Split, texts: Iterable[str]) -> str:
        """The text with these pieces; one without a gap of its own follows a comma."""
        gaps = chain(whole.gaps or [""], repeat(", "))
        joined = "".join([self.spell(gap) + text for gap, text in zip(gaps, texts, strict=False)])
        return f"{self.spell(whole.opening)}{joined}{self.spell(whole.closing)}"

    def note_id(self, value: str, declared: Collection[str]) -> None:
        """Note the axes that varied an id."""
        self.applied.update(pair for pair in self.ids.pairs_of(value) if pair[0] in declared)

    def time(self, moment: str, declared: Collection[str], key: tuple[str, ...], part: str) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters."""
        digits, offset, separator = 3, "Z", "T"
        if self.varies("times", declared, part):
            draws = self.draws("times", *key)
            whole = (0,) if moment.endswith(".000Z") else ()
            digits, offset = draws.choice(FRACTIONS + whole), draws.choice([*OFFSETS])
            self.applied.add(("times", part))
        if self.apply("times-odd", declared, part):
            offset, separator = self.draws("times-odd", *key).choice([*ODD_OFFSETS]), "t"
        return respell(moment, digits, offset, separator)

    def reorder(
        self, axis: str, part: str, items: list[Any], rank: Callable[[Any], Any]
    ) -> list[Any]:
        """The items by rank, the first of them last: clients depend on the first most often."""
        ordered = [*sorted(items[1:], key=rank), *items[:1]]
        if ordered != items:
            self.applied.add((axis, part))
        return ordered

    def rank(self, record: Piece) -> bytes:
        """The place of a record in a list."""
        return digest(self.seed, "list-order", self.ids.key(record.value["id"]))

    def other_spelling(self) -> tuple[str, Callable[[str], str]]:
        """Whitespace, and what puts it, and escapes, into a text (RFC 8259 §2, §7)."""
        draws = self.draws("json-text")
        space, salt = draws.choice([" ", "\n", "\t", "  ", "\r\n "]), draws.below(2**32)
        spelled = {each: each + space for each in "[{"} | {each: space + each for each in "]}"}
        spelled |= {each: space + each + space for each in ",:"}

        def spell(match: re.Match[str]) -> str:
            token = match.group()
            if token[0] != '"':
                return spelled.get(token, "")
            text = json.loads(token)
            plain = quoted(text)
            if not text or len(plain) > len(text) + 2:  # it has escapes already
                return plain
            at = crc32(self.ids.key(text).encode(), salt) % len(text) + 1
            return f"{plain[:at]}\\u{ord(plain[at]):04x}{plain[at + 1 :]}"

        return space, cache(lambda text: TOKEN.sub(spell, text))

    def media_type(self, media_type: str) -> str:
        """The same type in another case, with a parameter (RFC 9110 §8.3.1)."""
        draws = self.draws("media-type")
        spelled = "".join(draws.choice([char.upper(), char]) for char in media_type)
        return spelled + draws.choice([";charset=utf-8", '; charset="UTF-8"', "; v=1"])


def split(text: str) -> Split:
    """The pieces of an array or an object, whose text begins and ends with its brackets."""
    gaps, pieces = [], []
    first = at = end = after_gap(text, 1)
    while at < len(text) - 1:
        gaps.append(text[end:at])
        name, start = "", at
        if text[0] == "{":
            name, at = READER.raw_decode(text, at)
            at = after_gap(text, at)
        value, end = READER.raw_decode(text, at)
        pieces.append(Piece(value, text[at:end], name, text[start:at]))
        at = after_gap(text, end)
    return Split(text[:first], gaps, pieces, text[end:])


def after_gap(text: str, at: int) -> int:
    """Where the whitespace and the comma or colon at a position end."""
    while text[at] in " \t\n\r,:":
        at += 1
    return at


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
