"""Fills the bodies and the header fields of a profile, such as `{"id": "{project.id}"}`.

A text is compiled to pieces: constant texts, and slots that are filled for a response.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from records import quoted
from traffic import json_values
from web.schemas import Schema, is_valid

from . import markers, times
from .ids import parse_id_example
from .profile import Profile
from .schema import build_schema

BASE = "\0"
"""Replaces `{base}` in a filled text: JSON and header fields cannot have this character."""

LOCATIONS = ("location", "content-location")
"""The header fields that are URLs."""

Subject = Mapping[str, Any]
"""The values of the markers by their names: `{"project.id": "prj_1"}`. A missing value is null.

Three further keys have no marker. In the subject of a project, `sent_text` is the JSON object that
a client sent, and `sent` has its members if the profile lets them replace constants. In the
subject of a list, `items` has the JSON of the projects, without brackets.
"""


class Slot(Protocol):
    """A part of a text that depends on the subject."""

    def fill(self, subject: Subject) -> str: ...


Piece = str | Slot


@dataclass(frozen=True)
class MarkerSlot:
    """The value of a marker: `convert` changes it, and `write` makes a text of it.

    The time of `{project.created_at}` is first formatted, then written with quotes. `null` is the
    text of a missing value.
    """

    name: str
    convert: Callable[[Any], Any]
    write: Callable[[Any], str]
    null: str

    def fill(self, subject: Subject) -> str:
        value = subject.get(self.name)
        if value is None:
            return self.null
        return self.write(self.convert(value))


@dataclass(frozen=True)
class SentSlot:
    """A constant that a client may replace by a member of the same name and type."""

    name: str
    constant: str
    schema: Schema

    def fill(self, subject: Subject) -> str:
        sent = subject.get("sent", {}).get(self.name)
        if sent is None or not is_valid(sent, self.schema):
            return self.constant
        return quoted(sent)


class ItemsSlot:
    """The array of projects in the body of a list."""

    def fill(self, subject: Subject) -> str:
        return f"[{subject['items']}]"


class Body:
    """A body of a profile. It is compiled for a status when it is first filled with it."""

    def __init__(self, profile: Profile, value: Any) -> None:
        self._profile = profile
        self._value = value
        self._statuses = find_choice_statuses(value)
        self._compiled: dict[str, list[Piece]] = {}  # key: status

    def fill(self, subject: Subject) -> str:
        """Return the JSON of the body. It is empty if the body is null."""
        status = subject.get("deployment.status", "")
        if status not in self._statuses:
            status = ""
        pieces = self._compiled.get(status)
        if pieces is None:
            pieces = self._compile(status)
            self._compiled[status] = pieces
        return fill_pieces(pieces, subject)

    def _compile(self, status: str) -> list[Piece]:
        value = markers.resolve_choices(self._value, status)
        if value is None:
            return []
        # A client may replace the constants beside the name. The value is a copy.
        holder = find_name_object(value)
        for name, member in holder.items():
            if name in self._profile.request.replaceable and is_constant(member):
                schema = build_schema(member, self._profile)
                holder[name] = SentSlot(name, quoted(member), schema)
        return join_constants(compile_json(value, self._profile))


def join_constants(pieces: Iterable[Piece]) -> list[Piece]:
    """Join the constant texts between slots, since many short texts are filled more slowly."""
    joined: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            joined += ["".join(texts), piece]
            texts.clear()
    joined.append("".join(texts))
    return joined


def fill_pieces(pieces: Iterable[Piece], subject: Subject) -> str:
    return "".join([piece if isinstance(piece, str) else piece.fill(subject) for piece in pieces])


def compile_json(value: Any, profile: Profile) -> Iterator[Piece]:
    """Compile a JSON value, in which slots may stand as values."""
    if isinstance(value, SentSlot | ItemsSlot):
        yield value
    elif isinstance(value, str):
        yield from compile_string(value, profile)
    elif isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            yield ", " if index else ""
            yield from compile_json(item, profile)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (name, member) in enumerate(value.items()):
            yield ", " if index else ""
            yield f"{quoted(name)}: "
            yield from compile_json(member, profile)
        yield "}"
    else:
        yield quoted(value)


def compile_string(text: str, profile: Profile) -> Iterator[Piece]:
    """Compile a string: `"{error.status}"` becomes 404, and `"E{error.status}"` `"E404"`."""
    marker = markers.parse_whole_marker(text)
    if marker and marker.name != "base":
        yield make_slot(marker, profile, quoted, null="null")
        return
    yield '"'
    for piece in markers.split_markers(text):
        if isinstance(piece, str):
            yield escape_json(piece)
        else:
            yield make_slot(piece, profile, escape_json)
    yield '"'


def compile_field(name: str, value: str, profile: Profile) -> list[Piece]:
    """Compile the value of a header field, such as `/v1/deployments/{deployment.id}`.

    Characters outside of ASCII are percent-encoded. In a URL, the value of a marker is encoded as a
    segment of the path.
    """
    write = encode_url_part if name.lower() in LOCATIONS else percent_encode
    pieces = markers.split_markers(value)
    return [each if isinstance(each, str) else make_slot(each, profile, write) for each in pieces]


def make_slot(
    marker: markers.Marker, profile: Profile, write: Callable[[Any], str], null: str = ""
) -> Piece:
    """Make the slot of a marker; for `{base}` it is the text that replaces it."""
    if marker.name == "base":
        return BASE
    return MarkerSlot(marker.name, choose_conversion(marker, profile), write, null)


def choose_conversion(marker: markers.Marker, profile: Profile) -> Callable[[Any], Any]:
    """Return the function that converts the value of a marker, such as a time to a text."""
    name, spec = marker
    if name in markers.TIMES:
        return choose_time_format(spec)
    if spec == "text":
        return str
    if spec:
        return parse_id_example(spec).make_second
    kind = "deployments" if name.startswith("deployment.") else "projects"
    if name.endswith(".id") and profile.has_integers(kind):
        return parse_number
    return lambda value: value


def choose_time_format(spec: str) -> Callable[[Any], Any]:
    """Return the function that formats a time for `{project.created_at:SPEC}`."""
    if spec == "s":
        return lambda moment: times.count_milliseconds(moment) // 1000
    if spec == "ms":
        return times.count_milliseconds
    found = times.parse_time_format(spec) or times.TimeFormat()
    return found.format_time


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


def find_choice_statuses(value: Any) -> set[str]:
    """Return the statuses that the choices in a value name."""
    statuses: set[str] = set()
    for each in markers.find_objects(value):
        if markers.is_choice(each):
            statuses.update(each[markers.CHOICE])
    return statuses


def find_name_object(value: Any) -> dict[str, Any]:
    """Return the first object of a body with a member that is `{project.name}`, or an empty one."""
    for each in markers.find_objects(value):
        if markers.NAME in each.values():
            return each
    return {}


def extract_item(body: Any, array: Any) -> tuple[Any, Any]:
    """Return the body of a list with `array` for its array of projects, and the item of that."""
    path = next(markers.find_project_arrays(body))
    return json_values.replace_value(body, path, array), json_values.get_value(body, (*path, 0))
