"""Draws the variants of a part of a response from a seed."""

import re
from collections.abc import Iterable, Sequence
from random import Random
from string import ascii_letters, ascii_lowercase, digits
from typing import Any, TypeVar
from zlib import crc32

from web import times

Value = TypeVar("Value", int, str)


def make_source(seed: int, axis: str, *key: str) -> Random:
    """Make the source of draws for a key: `make_source(7, "ids", "#1")`.

    It is the same in every process and version of Python.
    """
    words = [str(seed), axis, *key]
    return Random("\0".join(words))


def draw_word(source: Random) -> str:
    """Draw a word that no client knows, for a member, a header field or a status: `qhbvne`."""
    length = source.randint(6, 12)
    return "".join(source.choices(ascii_lowercase, k=length))


def draw_words(source: Random) -> list[str]:
    count = source.randint(1, 3)
    return [draw_word(source) for _ in range(count)]


def add_members(source: Random, members: dict[str, Any]) -> None:
    """Add members that no client knows, for example `"qhbvne": null`."""
    values: list[Any] = [None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1}]
    for name in draw_words(source):
        members.setdefault(name, source.choice(values))


def draw_time(text: str, source: Random) -> str:
    """Spell a time differently: `2026-01-05T09:00:00.000Z` becomes `2026-01-05T14:30:00+05:30`.

    Every parser takes these offsets. RFC 3339 §5.6 allows more, but Go, Java, Python 3.11 or zod
    reject some of them. Any other text stays.
    """
    match = re.fullmatch(times.TIME, text)
    moment = times.parse_time(text)
    if match is None or moment is None:
        return text
    _, fraction, own_offset = match.groups(default="")
    possible = [0, 4, 5, 6, 7, 8, 9] if moment.microsecond == 0 else [4, 5, 6, 7, 8, 9]
    count = draw_different(source, possible, len(fraction))
    offsets = ("+00:00", "+01:00", "-05:00", "+05:30", "-03:30", "+12:45", "+14:00", "-14:00")
    offset = draw_different(source, offsets, own_offset)
    return times.format_time(moment, count, offset, separator=text[10])


def draw_different(source: Random, values: Sequence[Value], current: Value) -> Value:
    """Draw a value that is not the current value."""
    return source.choice([each for each in values if each != current])


def draw_id(source: Random) -> str:
    """Draw an id with a form and a length that no service has: `q~0Fz.k_T-w8Rb3xYq`."""
    letter = source.choice(ascii_lowercase)
    length = source.choice([16, 36, 64, 255])
    unreserved = ascii_letters + digits + "-._~"  # RFC 3986 §2.3
    rest = "".join(source.choices(unreserved, k=length - 2))
    return f"{letter}~{rest}"


def reorder(source: Random, named: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Reorder pairs of a name and a value.

    The first pair becomes the last pair, since most clients that depend on an order use the first.
    """
    first, *others = named
    salt = source.getrandbits(32)

    def place(pair: tuple[str, Any]) -> int:
        name, _ = pair
        return crc32(name.encode(), salt)

    return [*sorted(others, key=place), first]


def draw_media_type(source: Random, media_type: str) -> str:
    """Spell a media type in another case, with another parameter: `Application/jSON; v=1`.

    They have no meaning in a comparison (RFC 9110 §8.3.1).
    """
    plain, _, parameter = media_type.partition(";")
    spelled = ""
    for char in plain:
        spelled += source.choice([char.upper(), char])
    current = find_parameter_name(parameter)
    parameters = (";charset=utf-8", '; charset="UTF-8"', "; v=1")
    possible = [each for each in parameters if find_parameter_name(each) != current]
    return spelled + source.choice(possible)


def find_parameter_name(parameter: str) -> str:
    name, _, _ = parameter.partition("=")
    return name.strip("; ").lower()
