"""The forms that a free part of a response can take, and how each is drawn from a seed."""

import json
import re
import string
from collections.abc import Collection, Sequence
from random import Random
from typing import Any
from zlib import crc32

from ..documents import unquote_numbers

UNRESERVED = string.ascii_letters + string.digits + "-._~"  # RFC 3986 §2.3
# What of a path segment must be percent-encoded (RFC 3986 §2.1): one of each kind.
ENCODED = (("/",), ("%", "%41", "%2F"), (" ",), ("\u00e9", "\u00df", "\u6f22", "\U0001f600"))
LENGTHS = (16, 36, 64, 255)
PREFIX = 4  # characters of an id that name the kind of its record

# Every parser takes the offsets of `times`. The grammar allows those of `times-odd` as well
# (RFC 3339 §5.6), but Go, Java, Python 3.11 and zod reject some of them.
OFFSETS = ("+00:00", "+01:00", "-05:00", "+05:30", "-03:30", "+12:45", "+14:00", "-14:00")
ODD_OFFSETS = ("z", "+23:59", "-23:59", "+14:01", "-18:30")
DIGITS = (0, 4, 5, 6, 7, 8, 9)  # of a second; the service itself has three

PARAMETERS = (";charset=utf-8", '; charset="UTF-8"', "; v=1")
SPACES = (" ", "\n", "\t", "  ", "\r\n ")
EXTRA_VALUES: list[Any] = [None, True, -9, 10**12, 0.5, "extra", [], [1], {}, {"extra": 1}]

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def write(body: Any, space: str = "", escape_at: int | None = None) -> str:
    """JSON text with whitespace around the tokens, and with an escape at a place of each string,
    unless it has others. A time has none: Go's time.Time reads no escapes.
    """

    def escape(match: re.Match[str]) -> str:
        text = match[0]
        if escape_at is None or "\\" in text or text[1] in '"0123456789':
            return text
        at = escape_at % (len(text) - 2) + 1
        return f"{text[:at]}\\u{ord(text[at]):04x}{text[at + 1 :]}"

    text = json.dumps(body, separators=(f"{space}, ", f"{space}: "))
    return _STRING.sub(escape, unquote_numbers(text))


def draws(seed: int, axis: str, *key: str) -> Random:
    """A source of draws: the same for a key in every process and version of Python."""
    return Random("\0".join([str(seed), axis, *key]))


def draw_word(source: Random) -> str:
    """A word that no client knows, fit for a member, a header or a status."""
    return "".join(source.choices(string.ascii_lowercase, k=source.randint(6, 12)))


def draw_words(source: Random) -> list[str]:
    return [draw_word(source) for _ in range(source.randint(1, 3))]


def vary_id(axes: Collection[str], seed: int, key: str, plain: str) -> str:
    """The id of a new resource, whose id would be `plain` without these axes."""
    new = plain
    if "ids" in axes:
        source = draws(seed, "ids", key)
        new = f"{source.choice(string.ascii_lowercase)}~"  # as in no id of a service
        new += "".join(source.choices(UNRESERVED, k=source.choice(LENGTHS) - 2))
    if "ids-encoded" in axes:
        source = draws(seed, "ids-encoded", key)
        piece = "".join(source.choice(kind) for kind in ENCODED)
        new = new[: max(LENGTHS) - len(piece)]
        at = source.randrange(min(PREFIX, len(new) - 1), len(new))
        new = new[:at] + piece + new[at:]
    return new


def reorder(source: Random, items: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """The items in an order of their names, the first of them last: clients depend on the first
    most often.
    """
    salt = source.getrandbits(32)
    places = sorted(range(1, len(items)), key=lambda at: crc32(names[at].encode(), salt))
    return [items[at] for at in (*places, 0)]


def draw_media_type(source: Random, media_type: str) -> str:
    """The same type in another case, with another parameter (RFC 9110 §8.3.1)."""
    plain, _, parameter = media_type.partition(";")
    spelled = "".join(source.choice([char.upper(), char]) for char in plain)
    others = [each for each in PARAMETERS if not parameter or parameter.strip()[0] not in each]
    return spelled + source.choice(others)
