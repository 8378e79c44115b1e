"""The variants of a free part of a response, and how each is drawn from a seed."""

import json
import re
import string
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, TypeVar
from zlib import crc32

from web.times import TIME, format_time, parse_time

from .numbers import unquote_numbers

LETTERS = string.ascii_lowercase
UNRESERVED = string.ascii_letters + string.digits + "-._~"  # RFC 3986 §2.3
LENGTHS = (16, 36, 64, 255)

# Offsets that every parser takes. RFC 3339 §5.6 allows more, which Go, Java, Python 3.11 or zod
# reject.
OFFSETS = ("+00:00", "+01:00", "-05:00", "+05:30", "-03:30", "+12:45", "+14:00", "-14:00")
DIGITS = (0, 4, 5, 6, 7, 8, 9)  # of a second; the service itself has three

PARAMETERS = (";charset=utf-8", '; charset="UTF-8"', "; v=1")
SPACES = (" ", "\n", "\t", "  ", "\r\n ")
EXTRA_VALUES: list[Any] = [None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1}]

Value = TypeVar("Value", int, str)

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def make_source(seed: int, axis: str, *key: str) -> Random:
    """The source of draws for a key: the same in every process and version of Python."""
    words = [str(seed), axis, *key]
    return Random("\0".join(words))


def write(body: Any, source: Random | None) -> str:
    """JSON text; with draws it has whitespace around the tokens, and an escape in each string."""
    space = source.choice(SPACES) if source else ""
    text = json.dumps(body, separators=(f"{space}, ", f"{space}: "))
    text = unquote_numbers(text)
    if source:
        place = source.getrandbits(32)
        text = _STRING.sub(lambda match: escape(match[0], place), text)
    return f"{space}{text}\n"


def escape(quoted: str, place: int) -> str:
    """A JSON string with one more escape, unless it is empty or has others.

    A time has none, as Go's time.Time reads no escapes.
    """
    text = quoted[1:-1]
    if not text or "\\" in text or text[0].isdigit():
        return quoted
    at = place % len(text)
    code = ord(text[at])
    rest = text[at + 1 :]
    return f'"{text[:at]}\\u{code:04x}{rest}"'


def draw_text(source: Random, alphabet: str, length: int) -> str:
    return "".join(source.choices(alphabet, k=length))


def draw_word(source: Random) -> str:
    """A word that no client knows, fit for a member, a header or a status."""
    return draw_text(source, LETTERS, source.randint(6, 12))


def draw_words(source: Random) -> list[str]:
    count = source.randint(1, 3)
    return [draw_word(source) for _ in range(count)]


def add_members(source: Random, members: dict[str, Any]) -> None:
    for name in draw_words(source):
        members.setdefault(name, source.choice(EXTRA_VALUES))


def draw_time(text: str, source: Random) -> str:
    """Spell a time in another way. A text that is no time stays."""
    match = re.fullmatch(TIME, text)
    moment = parse_time(text)
    if match is None or moment is None:
        return text
    _, fraction, own_offset = match.groups(default="")
    possible = DIGITS if moment.microsecond == 0 else DIGITS[1:]
    digits = draw_other(source, possible, len(fraction))
    offset = draw_other(source, OFFSETS, own_offset)
    return format_time(moment, digits, offset, separator=text[10])


def draw_other(source: Random, values: Sequence[Value], own: Value) -> Value:
    """One of these values, but not its own."""
    return source.choice([each for each in values if each != own])


def draw_id(source: Random) -> str:
    """An id of another form and length, with a prefix that no service has."""
    letter = source.choice(LETTERS)
    length = source.choice(LENGTHS)
    rest = draw_text(source, UNRESERVED, length - 2)
    return f"{letter}~{rest}"


def reorder(source: Random, named: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What has these names, in another order.

    The first one becomes the last: clients depend on the first most often.
    """
    first, *others = named
    salt = source.getrandbits(32)

    def place(each: tuple[str, Any]) -> int:
        name, _ = each
        return crc32(name.encode(), salt)

    return [*sorted(others, key=place), first]


def draw_media_type(source: Random, media_type: str) -> str:
    """The same type in another case, with another parameter (RFC 9110 §8.3.1)."""
    plain, _, parameter = media_type.partition(";")
    spelled = ""
    for char in plain:
        spelled += source.choice([char.upper(), char])
    own = parameter_name(parameter)
    others = [each for each in PARAMETERS if parameter_name(each) != own]
    return spelled + source.choice(others)


def parameter_name(parameter: str) -> str:
    name, _, _ = parameter.partition("=")
    return name.strip("; ").lower()
