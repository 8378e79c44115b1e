"""The constants of a profile: which may not stay, and which did."""

import base64
import contextlib
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from stub.like.markers import CHOICE, Marker, is_choice, split
from web.redaction import SECRET_NAME, Redactor
from web.validation import pointer

from .values import Path, is_number, scalars

LEAST_TEXT = 3  # characters of a text that is found inside of another one
LEAST_NAME = 4  # characters of a project's name that is found as a word
LEAST_NUMBER = 1000  # of one that may say whose it is
SIGNATURE = re.compile("sig(nature)?$|credential", re.IGNORECASE)
PASSWORD = re.compile(
    "passw|passphrase|pwd|(^|_)pass(_|$)|credential|(private|access|signing)[-_]?key", re.IGNORECASE
)
"""Names of secrets that no header field has, and so the journal need not know."""

NAME = re.compile("[A-Za-z_$-]+")
"""A name that a program gives to a member; others may be data, such as an e-mail address."""


class Constants:
    """Removes secrets, and the values that only the records of others have.

    `names` are ids and names of projects: those of others are found as words, and none is the name
    of a member.

    `kept` are the texts and numbers that stayed, by their JSON pointers; `signed` are the pointers
    of URLs that had a signature or a password.
    """

    def __init__(
        self,
        redactor: Redactor,
        others: Iterable[Any],
        own: Iterable[Any],
        names: Iterable[str] = (),
    ) -> None:
        self._redactor = redactor
        self._names = {name.lower() for name in names if len(name) >= LEAST_NAME}
        own_values = {str(value).lower() for each in own for _, value in scalars(each)}
        values = [value for each in others for _, value in scalars(each)]
        foreign = {str(value).lower() for value in values if says_whose(value)}
        self._values = own_values | foreign
        self._foreign = foreign - own_values
        self._parts = [text for text in self._foreign if len(text) >= LEAST_TEXT]
        self.kept: dict[str, Any] = {}
        self.signed: list[str] = []

    def clean(self, value: Any, place: Path, path: Path = ()) -> Any:
        """A part of a body, without what may not stay; it stands at `place` in the profile."""
        if is_choice(value):
            words = value[CHOICE]
            return {
                CHOICE: {
                    word: self.clean(each, (*place, CHOICE, word), path)
                    for word, each in words.items()
                }
            }
        if isinstance(value, dict):
            return {
                name: self.clean(each, (*place, name), (*path, name))
                for name, each in value.items()
                if not self._is_data(name, path)
            }
        if isinstance(value, list):
            return [
                self.clean(each, (*place, index), (*path, index))
                for index, each in enumerate(value)
            ]
        if isinstance(value, str):
            return self._clean_text(value, place, path)
        if is_number(value):
            if has_secret_name(path) or self.may_not_stay(str(value)):
                return 0
            self.kept[pointer(*place)] = value
        return value

    def _clean_text(self, text: str, place: Path, path: Path) -> str:
        if has_credentials(text):
            self.signed.append(pointer(*place))
            return ""
        if has_secret_name(path) or self.may_not_stay(text):
            return ""
        if literals(text):
            self.kept[pointer(*place)] = text
        return text

    def _is_data(self, name: str, path: Path) -> bool:
        """Whether the name of a member is a value of somebody, or may be a secret."""
        if has_secret_name(path) and NAME.fullmatch(name) is None:
            return True
        if self.has_token(name):
            return True
        # A project may be called `data`, as a member may.
        is_project = name.lower() in self._names and not name.isalpha()
        return is_project or (NAME.fullmatch(name) is None and self._is_foreign(name))

    def is_map(self, value: dict[str, Any]) -> bool:
        """Whether the names of all members are values of records, as in a map by their names."""
        return len(value) > 1 and {name.lower() for name in value} <= self._values

    def may_not_stay(self, text: str) -> bool:
        """Whether a text has a secret, or a value that only another record has."""
        if self.has_token(text) or has_credentials(text):
            return True
        return any(self._is_foreign(literal) for literal in literals(text))

    def has_token(self, text: str) -> bool:
        return self._redactor.text(text) != text

    def _is_foreign(self, text: str) -> bool:
        """Whether it is a value of another record, or has one as a word or in a URL."""
        for spelled in spellings(text):
            if spelled in self._foreign:
                return True
            if any(part in spelled and self._has_part(spelled, part) for part in self._parts):
                return True
        return False

    def _has_part(self, text: str, part: str) -> bool:
        """Whether a value stands in a text: one of letters alone in a URL, others as a word."""
        before, after = "(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"
        if part.isalpha() and part not in self._names:
            before, after = "(?<=[/=@])", "(?=[/?&#]|$)"
        return re.search(f"{before}{re.escape(part)}{after}", text) is not None


def spellings(text: str) -> list[str]:
    """A text in lower case, as it is when it was percent-encoded or, as cursors are, in base64."""
    found = [unquote(text).lower()]
    with contextlib.suppress(ValueError):
        found.append(base64.b64decode(text, validate=True).decode().lower())
    return found


def literals(text: str) -> list[str]:
    """The pieces of a text between its markers."""
    return [piece for piece in split(text) if not isinstance(piece, Marker)]


def says_whose(value: Any) -> bool:
    """Whether a value may say whose it is: true, null and 7 do not."""
    if is_number(value):
        return isinstance(value, float) or bool(abs(value) >= LEAST_NUMBER)
    return isinstance(value, str) and len(value) > 1


def has_secret_name(path: Path) -> bool:
    """Whether a member on a path has the name of a secret."""
    names = [name for name in path if isinstance(name, str)]
    return any(SECRET_NAME.search(name) or PASSWORD.search(name) for name in names)


def has_credentials(text: str) -> bool:
    """Whether a text has a URL with a password, or `token=` and the like, or a signature."""
    text = unquote(text)
    names = re.findall(r"(?<![\w.-])([\w.-]{1,64})=[^\s=]", text)
    return re.search(r"://[^/\s]+@", text) is not None or any(map(is_secret_query, names))


def is_secret_query(name: str) -> bool:
    """Whether a query parameter of this name holds a secret; a page token is none."""
    if re.search("page|next|cursor|continuation", name, re.IGNORECASE):
        return False
    return bool(SECRET_NAME.search(name) or SIGNATURE.search(name))
