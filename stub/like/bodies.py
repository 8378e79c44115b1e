"""Fills the bodies of a profile: JSON texts with slots, compiled once."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter, methodcaller
from typing import Any
from urllib.parse import quote

from records import quoted

from ..documents import texts_of_members
from ..rules import is_valid
from .markers import (
    CHOICE,
    NAME,
    Marker,
    is_choice,
    names_below,
    plain,
    split,
    values_below,
    whole_marker,
)
from .profile import EPOCH, Profile
from .schema import schema_of

NO_ARRAY = object()  # in the place of an array of projects
MILLISECOND = timedelta(milliseconds=1)
PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


Subject = Mapping[str, Any]
"""What a body is filled from: of each marker the value, by its name; what is missing is null.

`sent` is the JSON of what a client sent, `items` that of the projects of a list, without brackets.
"""

Fill = Callable[[Subject], str]
Piece = str | Fill  # what stands as it is, and a slot, which a subject fills
ReadValue = Callable[[Subject], Any]


def joined(pieces: Iterable[Piece]) -> Fill:
    """What fills a text that is made of these pieces."""
    compiled: list[Piece] = []
    for piece in pieces:
        last = compiled[-1] if compiled else None
        if isinstance(last, str) and isinstance(piece, str):
            compiled[-1] = last + piece
        else:
            compiled.append(piece)

    def fill(subject: Subject) -> str:
        return "".join([piece if isinstance(piece, str) else piece(subject) for piece in compiled])

    return fill


class Compiler:
    """Compiles the bodies and header fields of a profile."""

    def __init__(self, like: Profile) -> None:
        self._like = like

    def body(self, value: Any, items: Any = NO_ARRAY, *, has_sent: bool = False) -> Fill:
        """Compile a body. `items` is the array in it that has a project for each item.

        With `has_sent`, what a client sent replaces constants beside the first name.
        """
        beside = find_beside_name(value) if has_sent else None
        return joined(self._pieces(value, items, beside))

    def field(self, value: str) -> Fill:
        """Compile the value of a header field; what is not ASCII in it is percent-encoded."""
        return joined(self._text(value, percent_encoded))

    def _pieces(self, value: Any, items: Any, beside: Any) -> Iterable[Piece]:
        if isinstance(value, str):
            yield from self._string(value)
        elif value is items:
            yield from ("[", itemgetter("items"), "]")
        elif isinstance(value, list):
            yield "["
            for index, each in enumerate(value):
                yield ", " if index else ""
                yield from self._pieces(each, items, beside)
            yield "]"
        elif is_choice(value):
            yield self._choice(value[CHOICE], beside)
        elif isinstance(value, dict):
            yield "{"
            for index, (name, each) in enumerate(value.items()):
                yield ", " if index else ""
                yield f"{quoted(plain(name))}: "
                if value is beside and name != "name" and is_constant(each):
                    yield self._replaceable(plain(name), each)
                else:
                    yield from self._pieces(each, items, beside)
            yield "}"
        else:
            yield json.dumps(value)

    def _string(self, text: str) -> Iterable[Piece]:
        """A string: a marker alone has the value and its type, inside others it has its text."""
        name = whole_marker(text)
        if name:
            read_value = self._value(name)
            yield lambda subject: quoted(read_value(subject))
        else:
            yield from ('"', *self._text(text, escaped), '"')

    def _text(self, text: str, spell: Callable[[object], str]) -> Iterable[Piece]:
        """A text with markers, each part of it spelled; of null there is nothing."""
        for piece in split(text):
            if isinstance(piece, Marker):
                yield converted(self._value(piece.name), spell, none="")
            else:
                yield spell(piece)

    def _choice(self, words: dict[str, Any], beside: Any) -> Piece:
        # Each body has an object beside the name of its own, if the name is in this choice.
        found = {word: find_beside_name(each) for word, each in words.items()}
        is_here = beside is not None and any(each is beside for each in found.values())
        fills = {}
        for word, each in words.items():
            inner = found[word] if is_here else beside
            fills[word] = joined(self._pieces(each, NO_ARRAY, inner))
        fill_others = fills.pop("")

        def fill(subject: Subject) -> str:
            status = subject.get("deployment.status", "")
            fill_word = fills.get(status, fill_others)
            return fill_word(subject)

        return fill

    def _replaceable(self, name: str, constant: Any) -> Piece:
        """A constant that what a client sent replaces, if it is of its type."""
        own = self.body(constant)({})
        schema = schema_of(constant, self._like)

        def fill(subject: Subject) -> str:
            sent = subject["sent"]
            if f'"{name}"' not in sent:
                return own
            text = texts_of_members(sent).get(name, "null")
            value = json.loads(text)
            if value is None or not is_valid(value, schema):
                return own
            return text

        return fill

    def _value(self, name: str) -> ReadValue:
        """What reads the value of a marker from a subject."""
        name, _, unit = name.partition(":")
        read_value: ReadValue = methodcaller("get", name)
        if name.endswith(".created_at"):
            return converted(read_value, self._speller(unit))
        kind = "deployments" if name.startswith("deployment.") else "projects"
        if name.endswith(".id") and self._like.has_integers(kind):
            return converted(read_value, as_number)
        return read_value

    def _speller(self, unit: str) -> Callable[[datetime], Any]:
        if unit == "s":
            return lambda moment: milliseconds(moment) // 1000
        return milliseconds if unit == "ms" else self._like.times.spell


def converted(read_value: ReadValue, convert: Callable[[Any], Any], none: Any = None) -> ReadValue:
    """Reads a value and converts it; of null there is `none`."""

    def read(subject: Subject) -> Any:
        value = read_value(subject)
        return none if value is None else convert(value)

    return read


def milliseconds(moment: datetime) -> int:
    """Since 1970."""
    age = moment - EPOCH
    return age // MILLISECOND


def as_number(text: str) -> int | str:
    """The number that an id is, or the text of one that is none: a seed may have given it."""
    if text.isascii() and text.isdigit() and str(int(text)) == text:
        return int(text)
    return text


def escaped(value: object) -> str:
    """A value as it stands in a JSON string."""
    return quoted(str(value))[1:-1]


def percent_encoded(value: object) -> str:
    return quote(str(value), safe=PRINTABLE)


def is_constant(value: Any) -> bool:
    """Whether a member can be replaced: it has no marker, and a type, which null has not."""
    return value is not None and not any(names_below(value))


def find_beside_name(value: Any) -> dict[str, Any] | None:
    """The first object of a body in which a member is the name of the project."""
    for _, each in values_below(value):
        if isinstance(each, dict) and NAME in each.values():
            return each
    return None
