"""Fills the bodies of a profile: JSON texts with slots, compiled once for each status."""

import json
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter, methodcaller
from typing import Any
from urllib.parse import quote

from records import quoted
from traffic.json_values import get_value, replace_value
from web.schemas import is_valid

from .ids import parse_opaque_form
from .markers import (
    CHOICE,
    NAME,
    TIMES,
    Marker,
    find_marker_names,
    find_markers,
    find_objects,
    find_project_arrays,
    is_choice,
    parse_whole_marker,
    resolve_choices,
    split_markers,
)
from .profile import Profile
from .schema import build_schema
from .times import OURS, count_milliseconds, parse_time_form

ITEMS = object()  # stands in the body of a list for the array of projects
ENCODER = json.JSONEncoder(default=lambda items: NAME)  # to json.dumps it is one for each value
BASE = "\0"
"""Stands in a text for `{base}`: JSON and header fields have no such character."""

LOCATIONS = ("location", "content-location")  # header fields that are a URL
PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))

Subject = Mapping[str, Any]
"""What a body is filled from: of each marker the value, by its name; what is missing is null.

`sent` has what a client sent beside the name, `items` the JSON of the projects of a list, without
brackets.
"""

Fill = Callable[[Subject], str]
Piece = str | Fill  # what stands as it is, and a slot, which a subject fills
ReadValue = Callable[[Subject], Any]


def join_pieces(pieces: Iterable[Piece]) -> Fill:
    """What fills a text that is made of these pieces."""
    constants: list[str] = []  # one is empty for each slot
    slots: list[tuple[int, Fill]] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            constants += ("".join(texts), "")
            slots.append((len(constants) - 1, piece))
            texts.clear()
    constants.append("".join(texts))

    def fill(subject: Subject) -> str:
        filled = constants.copy()
        for index, fill_slot in slots:
            filled[index] = fill_slot(subject)
        return "".join(filled)

    return fill


class Body:
    """A body, compiled for each status when it is first filled with that.

    `null` is the text of null, which is no body of a response.
    """

    def __init__(self, like: Profile, value: Any, null: str = "") -> None:
        self._like = like
        self._value = value
        self._null = null
        self._words = find_choice_words(value)
        self._fills: dict[str, Fill] = {}

    def fill(self, subject: Subject) -> str:
        word = subject.get("deployment.status", "")
        if word not in self._words:
            word = ""
        fill = self._fills.get(word)
        if fill is None:
            fill = self._compile(word)
            self._fills[word] = fill
        return fill(subject)

    def _compile(self, word: str) -> Fill:
        value = resolve_choices(self._value, word)
        if value is None:
            return lambda subject: self._null
        compiler = Compiler(self._like, find_name_object(value))
        return join_pieces([*compiler.pieces(value), "\n"])


class Compiler:
    """Compiles a value of a profile. What a client sent replaces constants in `beside`."""

    def __init__(self, like: Profile, beside: Any = None) -> None:
        self._like = like
        self._beside = beside

    def field(self, name: str, value: str) -> Fill:
        """Compile the value of a header field; what is not ASCII in it is percent-encoded.

        In a URL, what stands for a marker is one part of it.
        """
        spell = encode_url_part if name.lower() in LOCATIONS else percent_encode
        return join_pieces(self._text(value, spell, str))

    def pieces(self, value: Any) -> Iterable[Piece]:
        if value is ITEMS:
            yield from ("[", itemgetter("items"), "]")
            return
        text = ENCODER.encode(value)
        if not find_markers(text):
            yield text
        elif isinstance(value, str):
            yield from self._string(value)
        elif isinstance(value, list):
            yield "["
            for index, each in enumerate(value):
                yield ", " if index else ""
                yield from self.pieces(each)
            yield "]"
        elif isinstance(value, dict):
            yield "{"
            for index, (name, each) in enumerate(value.items()):
                yield ", " if index else ""
                yield f"{quoted(name)}: "
                if value is self._beside and name in self._like.replaceable and is_constant(each):
                    yield self._replaceable(name, each)
                else:
                    yield from self.pieces(each)
            yield "}"

    def _string(self, text: str) -> Iterable[Piece]:
        """A string: a marker alone has the value and its type, inside others it has its text."""
        marker = parse_whole_marker(text)
        if marker and marker.name != "base":
            read_value = self._value(marker)
            yield lambda subject: quoted(read_value(subject))
        else:
            yield from ('"', *self._text(text, escape_json, escape_json), '"')

    def _text(
        self, text: str, spell: Callable[[object], str], spell_constant: Callable[[str], str]
    ) -> Iterable[Piece]:
        """A text with markers, each part of it spelled; of null there is nothing."""
        for piece in split_markers(text):
            if isinstance(piece, str):
                yield spell_constant(piece)
            elif piece.name == "base":
                yield BASE
            else:
                yield convert_value(self._value(piece), spell, none="")

    def _replaceable(self, name: str, constant: Any) -> Piece:
        """A constant that what a client sent replaces, if it is of its type."""
        own = json.dumps(constant)
        schema = build_schema(constant, self._like)

        def fill(subject: Subject) -> str:
            sent = subject.get("sent", {}).get(name)
            if sent is None or not is_valid(sent, schema):
                return own
            return json.dumps(sent)

        return fill

    def _value(self, marker: Marker) -> ReadValue:
        """What reads the value of a marker from a subject."""
        name, form = marker
        read_value: ReadValue = methodcaller("get", name)
        if name in TIMES:
            return convert_value(read_value, choose_time_format(form))
        if form == "text":
            return convert_value(read_value, str)
        if form:
            return convert_value(read_value, parse_opaque_form(form).make_second)
        kind = "deployments" if name.startswith("deployment.") else "projects"
        if name.endswith(".id") and self._like.has_integers(kind):
            return convert_value(read_value, parse_number)
        return read_value


def choose_time_format(form: str) -> Callable[[Any], Any]:
    """What spells a time in the form that a marker has."""
    if form == "s":
        return lambda moment: count_milliseconds(moment) // 1000
    if form == "ms":
        return count_milliseconds
    found = parse_time_form(form) or OURS
    return found.spell


def convert_value(
    read_value: ReadValue, convert: Callable[[Any], Any], none: Any = None
) -> ReadValue:
    """Reads a value and converts it; of null there is `none`."""

    def read(subject: Subject) -> Any:
        value = read_value(subject)
        return none if value is None else convert(value)

    return read


def parse_number(text: str) -> int | str:
    """The number that an id is, or the text of one that is none: a seed may have given it."""
    if text.isascii() and text.isdigit() and str(int(text)) == text:
        return int(text)
    return text


def escape_json(value: object) -> str:
    """A value as it stands in a JSON string."""
    return quoted(str(value))[1:-1]


def percent_encode(value: object) -> str:
    return quote(str(value), safe=PRINTABLE)


def encode_url_part(value: object) -> str:
    return quote(str(value), safe="")


def is_constant(value: Any) -> bool:
    """Whether a member can be replaced: it has no marker, and a type, which null has not."""
    return value is not None and not find_marker_names(value)


def find_choice_words(value: Any) -> set[str]:
    """The statuses for which a value has something of its own."""
    words: set[str] = set()
    for each in find_objects(value):
        if is_choice(each):
            words.update(each[CHOICE])
    return words


def find_name_object(value: Any) -> dict[str, Any] | None:
    """The first object of a body in which a member is the name of the project."""
    for each in find_objects(value):
        if NAME in each.values():
            return each
    return None


def extract_item(body: Any, array: Any) -> tuple[Any, Any]:
    """The body of a list with another array in place of that of the projects, and its one item."""
    path = next(find_project_arrays(body))
    return replace_value(body, path, array), get_value(body, (*path, 0))
