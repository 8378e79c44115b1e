"""Finds names, ids and mail addresses in texts, in any spelling."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from profiles import ids
from traffic.secrets import decode_entities

from . import inspection
from .kinds import NAME_PREFIX

MAIL = re.compile(
    r"(?:[^\s\"'<>,;:][^\"'<>,;:\\]{,80} <)?(?<![\w.+-])(?:[\w.+-]+@(?:[\w-]+(?:\.[\w-]+)+"
    r"|\[[\w.:]+\])|\w+\.[\w.+-]+@[A-Za-z][\w-]*)(?!\.?[\w-])(?!:[^\s\d])"
)
"""Matches a mail address, perhaps after a name: `Ann Lee <ann@mail.example`.

It does not match the user and the host of `git@git.example:shop.git`.
"""

RANDOM = re.compile(
    f"{ids.UUID.pattern}|(?<![0-9a-z])(?<!{NAME_PREFIX})(?![0-9]{{8}}t[0-9]{{6}}z?(?![0-9a-z]))"
    "(?=[a-z]*[0-9]+[a-z]+[0-9]+[a-z]|[a-z]+[0-9]+[a-z]+[0-9])[0-9a-z]{8,}(?![0-9a-z])",
    re.IGNORECASE,
)
"""A UUID, or letters and digits in turn such as `7f3kq2xz`, and no time: `20261125T203808Z`."""


def fold(text: str) -> str:
    """Return the words of a text in small letters: `my shop 2` for `My-Shop_2`."""
    normal = unicodedata.normalize("NFC", text).lower()
    return " ".join(re.findall(r"[^\W_]+", normal))


def fold_texts(values: Iterable[Any]) -> set[str]:
    """Fold the texts and numbers: `{"my shop", "7040"}`."""
    return {fold(str(value)) for value in values if inspection.is_id(value)}


def spell_as_word(name: str) -> Iterator[str]:
    """Yield a name without apostrophes, and as one word: `quinsshop` for `Quin's Shop`."""
    plain = name.replace("'", "")
    joined = fold(plain).replace(" ", "")
    yield plain
    if len(joined) >= 8:
        yield joined


def decode_text(text: str) -> str:
    """Decode percent-encoding, entities of HTML and escapes of JSON, also in one another."""
    decoded = decode_entities(unquote(unquote(text)))
    if "\\" in decoded:
        decoded = re.sub(
            r"(?<!\\)\\+u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), decoded
        )
        decoded = re.sub(r"(?<!\\)\\+[nrtbf]", " ", decoded)
        # Two escapes are one character outside of the first 65,536.
        decoded = decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    with suppress(UnicodeError):  # Header fields in UTF-8 are read as Latin-1.
        decoded = decoded.encode("latin-1").decode()
    return unicodedata.normalize("NFC", decoded)


def may_identify(text: str, max_length: int = 300) -> bool:
    """Return whether a value is long enough to find it in texts: `shop` and `7040`, but not `7`."""
    shortest = 2 if not text.isascii() else 4 if text.isdigit() else 3
    return shortest <= len(text) <= max_length


class IdShapes:
    """Patterns of ids that look like known ids: `prj_4f9a2c` looks like `prj_0b77e1`."""

    def __init__(self, known_ids: Iterable[Any]) -> None:
        shapes = dict.fromkeys(make_id_shape(str(each)) for each in known_ids if each is not None)
        # A single pattern is fast, also for the thousand shapes of ids like `sunny-hill-4f9a2c`.
        alternatives = "|".join(filter(None, shapes)) or "(?!)"
        self._pattern = re.compile(f"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])")

    def find(self, text: str) -> set[str]:
        """Find the ids in a text, in lower case."""
        return {match[0].lower() for match in self._pattern.finditer(text)}

    def matches(self, text: str) -> bool:
        """Return whether a whole text is an id."""
        return self._pattern.fullmatch(text) is not None


def make_id_shape(known_id: str) -> str:
    """Make a pattern of ids like one: `prj_[a-z0-9]{6}`. It is "" if further texts may look so."""
    if known_id.isdigit():
        return f"[0-9]{{{len(known_id)}}}" if len(known_id) > 5 else ""
    if NAME_PREFIX in known_id or not re.search("[0-9A-Za-z]", known_id):
        return ""
    try:
        form = ids.parse_id_example(known_id)
    except ValueError:
        return ""
    prefix = re.escape(form.prefix)
    if ids.UUID.fullmatch(form.rest):
        return f"{prefix}(?i:{ids.UUID.pattern})"
    if re.fullmatch("[0-9a-f]*[0-9][0-9a-f]*", form.rest) and len(form.rest) > 5:
        return f"(?i:{prefix}(?=[a-f]*[0-9])[0-9a-f]{{{len(form.rest)}}})"
    ranges = ("a-z", "A-Z", "0-9")
    classes = "".join(each for each in ranges if re.search(f"[{each}]", form.rest))
    has_digits = "0-9" in classes
    shortest = 4 if form.prefix else 8 if has_digits else 16
    if not form.rest.isalnum() or len(form.rest) < shortest:
        return ""
    digits = f"(?=[{classes}]*[0-9])" if has_digits else ""
    return f"{prefix}{digits}[{classes}]{{{len(form.rest)}}}"
