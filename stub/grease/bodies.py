"""Varies the body of a response along the contract's schema of it.

A body is read with its numbers as text, varied, and written once. So whitespace and escapes may
change, but no value that a client sent does.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from flask import Response

from records import quoted

from ..ids import Ids
from .axes import BODY_AXES, ID_AXES, TIME_AXES, Grease, Pair
from .draws import draw_word, draws
from .parts import Parts

# Offsets from UTC in minutes. Every parser takes those of `times`. The grammar allows those of
# `times-odd` as well (RFC 3339 §5.6), but Go, Java, Python 3.11 and zod reject some of them.
OFFSETS = {"+00:00": 0, "+01:00": 60, "-05:00": -300, "+05:30": 330, "-03:30": -210}
OFFSETS |= {"+12:45": 765, "+14:00": 840, "-14:00": -840}
ODD_OFFSETS = {"z": 0, "+23:59": 1439, "-23:59": -1439, "+14:01": 841, "-18:30": -1110}
MINUTES = OFFSETS | ODD_OFFSETS | {"Z": 0}
FRACTIONS = (4, 5, 6, 7, 8, 9)  # digits; the service itself has three


class Literal(str):
    """JSON text that is written as it is: a number, or a string without escapes."""

    __slots__ = ()


READER = json.JSONDecoder(parse_int=Literal, parse_float=Literal)
EXTRA_VALUES = READER.decode(
    '[null, true, -9, 1000000000000, 0.5, "extra", [], [1], {}, {"extra": 1}]'
)


class TextForm(NamedTuple):
    """A spelling of JSON: the whitespace around each token, and what quotes a string."""

    space: str = ""
    comma: str = ", "
    colon: str = ": "
    quote: Callable[[Any], str] = quoted

    def write(self, value: Any) -> str:
        space, comma, colon, quote = self
        if isinstance(value, dict):
            members = [f"{quote(name)}{colon}{self.write(each)}" for name, each in value.items()]
            return f"{{{space}{comma.join(members)}{space}}}"
        if isinstance(value, list):
            return f"[{space}{comma.join(map(self.write, value))}{space}]"
        return value if isinstance(value, Literal) else quote(value)


class Varied:
    """A response that is varied along the contract's schema of its body.

    `applied` are the axes and the parts that vary.
    """

    def __init__(self, grease: Grease, ids: Ids, parts: Parts, request: tuple[str, str]) -> None:
        self.grease = grease
        self.ids = ids
        self.contract = parts.contract
        self.request = request
        self.applied: set[Pair] = set()

    def varies(self, axis: str, declared: Collection[str], part: str) -> bool:
        """Whether the axis varies a part, which declares these axes."""
        return axis in declared and self.grease.varies(axis, part)

    def apply(self, axis: str, declared: Collection[str], part: str) -> bool:
        """Whether the axis varies such a part; then it is applied."""
        if self.varies(axis, declared, part):
            self.applied.add((axis, part))
            return True
        return False

    def draws(self, axis: str, *key: str) -> Random:
        """The draws of an axis for a resource, or for the request."""
        return draws(self.grease.seed, axis, *(key or self.request))

    def body(
        self, response: Response, schema: dict[str, Any], declared: Collection[str], part: str
    ) -> None:
        """Vary the body; one of which nothing varies but ids, which are made so, stays."""
        if BODY_AXES.isdisjoint(self.grease.axes) and not self.ids.are_varied:
            return
        value = READER.decode(response.get_data(as_text=True))
        varied = self.value(value, schema, self.request, part)
        form = TextForm()
        if self.apply("json-text", declared, part):
            form = self.draw_text_form()
        if any(axis not in ID_AXES for axis, _ in self.applied):
            response.set_data(f"{form.space}{form.write(varied)}\n")

    def value(self, value: Any, schema: dict[str, Any], key: tuple[str, ...], part: str) -> Any:
        """A value that the contract describes, of the resource or the request `key`, varied.

        `part` is its place, for a schema without a name.
        """
        part, schema = self.contract.name(schema, part), self.contract.resolve(schema)
        declared = schema.get("x-grease", ())
        if isinstance(value, dict):
            return self.object(value, schema["properties"], declared, key, part)
        if isinstance(value, list):
            items = [self.value(each, schema["items"], key, part) for each in value]
            if len(items) > 1 and self.varies("list-order", declared, part):
                keys = [self.ids.key(each["id"]) for each in items]
                return self.reorder("list-order", part, items, keys, self.request)
            return items
        if value and not ID_AXES.isdisjoint(declared):
            pairs = self.ids.pairs_of(value)
            self.applied.update(pair for pair in pairs if pair[0] in declared)
        elif not TIME_AXES.isdisjoint(declared):
            # Go's time.Time reads no escapes.
            return Literal(quoted(self.time(value, declared, key, part)))
        elif self.apply("error-text", declared, part):
            source = self.draws("error-text", *key, value)
            return f"{draw_word(source)} {draw_word(source)}".capitalize()
        return value

    def object(
        self,
        value: dict[str, Any],
        known: Mapping[str, Any],
        declared: Collection[str],
        key: tuple[str, ...],
        part: str,
    ) -> dict[str, Any]:
        if "id" in known:
            key = (self.ids.key(value["id"]),)
        varied = {
            name: self.value(each, known[name], key, f"{part}.{name}") if name in known else each
            for name, each in value.items()
        }
        is_running = value.get("status") in self.contract.running
        if is_running and self.apply("status-values", declared, part):
            varied["status"] = draw_word(self.draws("status-values", *key))
        if self.varies("members", declared, part):
            extra = draw_extra(self.draws("members", *key, *known))
            varied |= {name: extra[name] for name in extra if name not in {*known, *value}}
            if len(varied) > len(value):
                self.applied.add(("members", part))
        if len(varied) > 1 and self.varies("member-order", declared, part):
            members = self.reorder("member-order", part, [*varied.items()], [*varied], key)
            return dict(members)
        return varied

    def time(self, moment: str, declared: Collection[str], key: tuple[str, ...], part: str) -> str:
        """The moment as `times` spells it, or `times-odd` in place of its offset and letters."""
        digits, offset, separator = 3, "Z", "T"
        if self.apply("times", declared, part):
            source = self.draws("times", *key)
            whole = (0,) if moment.endswith(".000Z") else ()
            digits, offset = source.choice(FRACTIONS + whole), source.choice([*OFFSETS])
        if self.apply("times-odd", declared, part):
            offset, separator = self.draws("times-odd", *key).choice([*ODD_OFFSETS]), "t"
        return respell(moment, digits, offset, separator)

    def reorder(
        self, axis: str, part: str, items: list[Any], names: Sequence[str], key: tuple[str, ...]
    ) -> list[Any]:
        """The items in an order of their names, the first of them last: clients depend on the first
        most often.
        """
        salt = self.draws(axis, *key).getrandbits(32)
        places = sorted(range(1, len(items)), key=lambda at: crc32(names[at].encode(), salt))
        if [*places, 0] != [*range(len(items))]:
            self.applied.add((axis, part))
        return [items[at] for at in (*places, 0)]

    def draw_text_form(self) -> TextForm:
        """Whitespace around each token, and an escape in each string (RFC 8259 §2, §7)."""
        source = self.draws("json-text")
        space, salt = source.choice([" ", "\n", "\t", "  ", "\r\n "]), source.getrandbits(32)

        @cache
        def quote(value: Any) -> str:
            plain = quoted(value)
            if not value or not isinstance(value, str) or len(plain) > len(value) + 2:
                return plain  # no string, or one that has escapes already
            at = crc32(self.ids.key(value).encode(), salt) % len(value) + 1
            return f"{plain[:at]}\\u{ord(plain[at]):04x}{plain[at + 1 :]}"

        return TextForm(space, f"{space},{space}", f"{space}:{space}", quote)

    def media_type(self, media_type: str) -> str:
        """The same type in another case, with a parameter (RFC 9110 §8.3.1)."""
        source = self.draws("media-type")
        spelled = "".join(source.choice([char.upper(), char]) for char in media_type)
        return spelled + source.choice([";charset=utf-8", '; charset="UTF-8"', "; v=1"])


def draw_extra(source: Random) -> dict[str, Any]:
    """One to three members that no client knows."""
    count = source.randint(1, 3)
    return {draw_word(source): source.choice(EXTRA_VALUES) for _ in range(count)}


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
