"""The constants of a profile: which may not stay, and which did."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from stub.like.markers import CHOICE, Marker, split
from web.redaction import SECRET_NAME, Redactor
from web.validation import pointer

from .values import Path, is_number, scalars

LONG = 5  # characters of a text that is found inside of another one
LARGE = 10_000  # a number that may say whose it is
SIGNATURE = re.compile("sig(nature)?$|credential", re.IGNORECASE)


class Constants:
    """Removes secrets, and the values that only the records of others have.

    `kept` are the texts and numbers that stayed, by their JSON pointers.
    """

    def __init__(self, redactor: Redactor, others: Iterable[Any], own: Iterable[Any]) -> None:
        self._redactor = redactor
        own_values = {value for each in own for _, value in scalars(each)}
        values = {value for each in others for _, value in scalars(each)}
        foreign = {value for value in values if says_whose(value)} - own_values
        self._texts = {value for value in foreign if isinstance(value, str)}
        self._numbers = foreign - self._texts
        self._long = [text for text in self._texts if len(text) >= LONG]
        # Those that may be names of members, as in a map by ids.
        self._names = {text for text in self._long if not text.isalpha()}
        self.kept: dict[str, Any] = {}

    def clean(self, value: Any, place: Path, path: Path = ()) -> Any:
        """A part of a body, without what may not stay; it stands at `place` in the profile."""
        if isinstance(value, dict):
            return {
                name: self.clean(each, (*place, name), (*path, name))
                for name, each in value.items()
                if not self._has_secret(name) and name not in self._names
            }
        if isinstance(value, list):
            return [
                self.clean(each, (*place, index), (*path, index))
                for index, each in enumerate(value)
            ]
        if isinstance(value, str):
            return self._clean_text(value, place, path)
        if is_number(value):
            if value in self._numbers or self._has_secret(str(value)):
                return 0
            self.kept[pointer(*place)] = value
        return value

    def _clean_text(self, text: str, place: Path, path: Path) -> str:
        literal = "".join(piece for piece in split(text) if not isinstance(piece, Marker))
        if has_secret_name(path) or self.may_not_stay(text):
            return ""
        if literal:
            self.kept[pointer(*place)] = text
        return text

    def may_not_stay(self, text: str) -> bool:
        """Whether a text has a secret, or a value that only another record has."""
        is_foreign = text in self._texts or any(each in text for each in self._long)
        return is_foreign or self._has_secret(text) or has_credentials(text)

    def _has_secret(self, text: str) -> bool:
        return self._redactor.text(text) != text


def says_whose(value: Any) -> bool:
    """Whether a value may say whose it is: true, null and 7 do not."""
    if is_number(value):
        return bool(abs(value) >= LARGE)
    return isinstance(value, str) and len(value) > 1


def has_secret_name(path: Path) -> bool:
    """Whether a member on a path has the name of a secret."""
    names = [name for name in path if isinstance(name, str) and name != CHOICE]
    return any(SECRET_NAME.search(name) for name in names)


def has_credentials(text: str) -> bool:
    """Whether a text is a URL with a password, a token or a signature."""
    if "://" not in text:
        return False
    try:
        url = urlsplit(text)
    except ValueError:
        return True
    names = [name for name, _ in parse_qsl(url.query)]
    is_signed = any(SECRET_NAME.search(name) or SIGNATURE.search(name) for name in names)
    return "@" in url.netloc or is_signed
