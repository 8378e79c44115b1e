"""Fills the bodies of a profile, such as `{"id": "{project.id}"}`.

A body is compiled to a list of texts and slots once per status.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter, methodcaller
from typing import Any
from urllib.parse import quote

from records import quoted
from traffic import json_values
from web.schemas import is_valid

from . import markers, times
from .ids import parse_opaque_form
from .profile import Profile
from .schema import build_schema

ITEMS = object()  # It replaces the array of projects in the body of a list.
ENCODER = json.JSONEncoder(
    default=lambda items: markers.NAME
)  # `json.dumps` would make it per call.
BASE = "\0"
"""Replaces `{base}` in a filled text: JSON and header fields cannot have this character."""

LOCATIONS = ("location", "content-location")
"""The header fields that are URLs."""

Subject = Mapping[str, Any]
"""The values of the markers by their names: `{"project.id": "prj_1"}`. A missing value is null.

`sent` has the further members that a client sent. `items` has the JSON of the projects of a list,
without brackets.
"""

Fill = Callable[[Subject], str]
Piece = str | Fill
"""A part of a compiled text: a constant, or a slot that is filled."""

ReadValue = Callable[[Subject], Any]


def join_pieces(pieces: Iterable[Piece]) -> Fill:
    """Return the function that fills a text of these pieces."""
    constants: list[str] = []  # A slot has an empty text in it.
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
    """A body of a profile. It is compiled for a status when it is first filled with it.

    `null` replaces the body null: a response without a body is empty.
    """

    def __init__(self, like: Profile, value: Any, null: str = "") -> None:
        self._like = like
        self._value = value
        self._null = null
        self._words = find_choice_words(value)
        self._fills: dict[str, Fill] = {}

    def fill(self, subject: Subject) -> str:
        """Return the JSON of the body, with a newline."""
        word = subject.get("deployment.status", "")
        if word not in self._words:
            word = ""
        fill = self._fills.get(word)
        if fill is None:
            fill = self._compile(word)
            self._fills[word] = fill
        return fill(subject)

    def _compile(self, word: str) -> Fill:
        value = markers.resolve_choices(self._value, word)
        if value is None:
            return lambda subject: self._null
        compiler = Compiler(self._like, find_name_object(value))
        return join_pieces([*compiler.pieces(value), "\n"])


class Compiler:
    """A compiler of values. Members that a client sent replace constants in `beside`."""

    def __init__(self, like: Profile, beside: Any = None) -> None:
        self._like = like
        self._beside = beside

    def field(self, name: str, value: str) -> Fill:
        """Compile the value of a header field, such as `/v1/deployments/{deployment.id}`.

        Characters outside of ASCII are percent-encoded. In a URL, the value of a marker is encoded
        as a segment of the path.
        """
        spell = encode_url_part if name.lower() in LOCATIONS else percent_encode
        return join_pieces(self._text(value, spell, str))

    def pieces(self, value: Any) -> Iterable[Piece]:
        """Compile a JSON value."""
        if value is ITEMS:
            yield from ("[", itemgetter("items"), "]")
            return
        text = ENCODER.encode(value)
        if not markers.find_markers(text):
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
        """Compile a string: `"{error.status}"` becomes 404, and `"E{error.status}"` `"E404"`."""
        marker = markers.parse_whole_marker(text)
        if marker and marker.name != "base":
            read_value = self._value(marker)
            yield lambda subject: quoted(read_value(subject))
        else:
            yield from ('"', *self._text(text, escape_json, escape_json), '"')

    def _text(
        self, text: str, spell: Callable[[object], str], spell_constant: Callable[[str], str]
    ) -> Iterable[Piece]:
        """Compile a text with markers; the value null becomes "".

        `spell` encodes the values of markers, and `spell_constant` the texts between them.
        """
        for piece in markers.split_markers(text):
            if isinstance(piece, str):
                yield spell_constant(piece)
            elif piece.name == "base":
                yield BASE
            else:
                yield convert_value(self._value(piece), spell, none="")

    def _replaceable(self, name: str, constant: Any) -> Piece:
        """Compile a constant that a client may replace by a value of the same type."""
        own = json.dumps(constant)
        schema = build_schema(constant, self._like)

        def fill(subject: Subject) -> str:
            sent = subject.get("sent", {}).get(name)
            if sent is None or not is_valid(sent, schema):
                return own
            return json.dumps(sent)

        return fill

    def _value(self, marker: markers.Marker) -> ReadValue:
        """Return the function that reads the value of a marker."""
        name, form = marker
        read_value: ReadValue = methodcaller("get", name)
        if name in markers.TIMES:
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
    """Return the function that formats a time for `{project.created_at:FORM}`."""
    if form == "s":
        return lambda moment: times.count_milliseconds(moment) // 1000
    if form == "ms":
        return times.count_milliseconds
    found = times.parse_time_form(form) or times.TimeForm()
    return found.format_time


def convert_value(
    read_value: ReadValue, convert: Callable[[Any], Any], none: Any = None
) -> ReadValue:
    """Return a function that reads a value and converts it. The value null becomes `none`."""

    def read(subject: Subject) -> Any:
        value = read_value(subject)
        return none if value is None else convert(value)

    return read


def parse_number(text: str) -> int | str:
    """Return an id as a number, or as it is if a seed has an id like `dpl_queued`."""
    if text.isascii() and text.isdigit() and str(int(text)) == text:
        return int(text)
    return text


def escape_json(value: object) -> str:
    """Escape the text of a value for a JSON string: `"` becomes `\\"`."""
    return quoted(str(value))[1:-1]


def percent_encode(value: object) -> str:
    printable = "".join(map(chr, range(0x20, 0x7F)))
    return quote(str(value), safe=printable)


def encode_url_part(value: object) -> str:
    return quote(str(value), safe="")


def is_constant(value: Any) -> bool:
    """Return whether a value has no marker and is not null: only then a client may replace it."""
    return value is not None and not markers.find_marker_names(value)


def find_choice_words(value: Any) -> set[str]:
    """Return the statuses that the choices in a value name."""
    words: set[str] = set()
    for each in markers.find_objects(value):
        if markers.is_choice(each):
            words.update(each[markers.CHOICE])
    return words


def find_name_object(value: Any) -> dict[str, Any] | None:
    """Return the first object of a body with a member that is `{project.name}`."""
    for each in markers.find_objects(value):
        if markers.NAME in each.values():
            return each
    return None


def extract_item(body: Any, array: Any) -> tuple[Any, Any]:
    """Return the body of a list with another array of projects, and the item of the old array."""
    path = next(markers.find_project_arrays(body))
    return json_values.replace_value(body, path, array), json_values.get_value(body, (*path, 0))
