"""The constants of a profile: which may not stay, and which did."""

import base64
import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from profiles.markers import CHOICE, is_choice, split
from stub.redaction import SECRET_NAME, Redactor
from web.validation import pointer

from .marks import pattern_of
from .values import is_number, values_in

Part = dict[str, Any]

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
        self, redactor: Redactor, others: list[Any], own: list[Any], names: Iterable[str]
    ) -> None:
        self._redactor = redactor
        self._names = {name for name in lower_texts(names) if len(name) >= LEAST_NAME}
        own_values = lower_texts(values_in(own))
        telling = [value for value in values_in(others) if says_whose(value)]
        self._values = own_values | lower_texts(telling)  # of all records
        self._foreign = self._values - own_values
        self.kept: dict[str, Any] = {}
        self.signed: list[str] = []

    def clean(self, value: Any, place: str, *, is_secret: bool = False) -> Any:
        """A part of a body, without what may not stay; it stands at `place` in the profile.

        `is_secret` says that it stands in a member with the name of a secret.
        """
        if isinstance(value, dict):
            return self._clean_object(value, place, is_secret)
        if isinstance(value, list):
            cleaned = []
            for index, item in enumerate(value):
                cleaned.append(self.clean(item, f"{place}/{index}", is_secret=is_secret))
            return cleaned
        if value is None or isinstance(value, bool):
            return value
        text = str(value)
        if has_credentials(text):
            self.signed.append(place)
        elif not is_secret and not self.may_not_stay(text):
            if literals(text):
                self.kept[place] = value
            return value
        if isinstance(value, str):
            return ""
        return 0

    def _clean_object(self, value: Part, place: str, is_secret: bool) -> Part:
        cleaned = {}
        if is_choice(value):
            place += pointer(CHOICE)
            for word, each in value[CHOICE].items():
                cleaned[word] = self.clean(each, place + pointer(word), is_secret=is_secret)
            return {CHOICE: cleaned}
        for name, each in value.items():
            if not self._is_data(name, is_secret):
                inner = place + pointer(name)
                match = SECRET_NAME.search(name) or PASSWORD.search(name)
                has_secret = is_secret or match is not None
                cleaned[name] = self.clean(each, inner, is_secret=has_secret)
        return cleaned

    def _is_data(self, name: str, is_secret: bool) -> bool:
        """Whether the name of a member is a value of somebody, or may be a secret."""
        if self.has_token(name):
            return True
        if not NAME.fullmatch(name) and (is_secret or self._is_foreign(name)):
            return True
        # A project may be called `data`, as a member may.
        is_word = name.isalpha()
        return not is_word and name.lower() in self._names

    def is_map(self, value: Part) -> bool:
        """Whether the names of all members are values of records, as in a map by their names."""
        return len(value) > 1 and lower_texts(value) <= self._values

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
            inside = [each for each in self._foreign if len(each) >= LEAST_TEXT and each in spelled]
            if any(self._has_part(spelled, part) for part in inside):
                return True
        return False

    def _has_part(self, text: str, part: str) -> bool:
        """Whether a value stands in a text: one of letters alone in a URL, others as a word."""
        in_url = part.isalpha() and part not in self._names
        pattern = pattern_of(part, in_url=in_url)
        return re.search(pattern, text) is not None


def lower_texts(values: Iterable[Any]) -> set[str]:
    """Texts, numbers, booleans and nulls as texts in lower case."""
    return {str(each).lower() for each in values}


def spellings(text: str) -> Iterator[str]:
    """A text in lower case, as it is when it was percent-encoded or, as cursors are, in base64."""
    yield unquote(text).lower()
    with contextlib.suppress(ValueError):
        data = base64.b64decode(text, validate=True)
        yield data.decode().lower()


def literals(text: str) -> list[str]:
    """The pieces of a text between its markers."""
    return [piece for piece in split(text) if isinstance(piece, str)]


def says_whose(value: Any) -> bool:
    """Whether a value may say whose it is: true, null and 7 do not."""
    if isinstance(value, str):
        return len(value) > 1
    if isinstance(value, float):
        return True
    return is_number(value) and abs(value) >= LEAST_NUMBER


def has_credentials(text: str) -> bool:
    """Whether a text has a URL with a password, or `token=` and the like, or a signature."""
    text = unquote(text)
    if re.search(r"://[^/\s]+@", text):
        return True
    names = re.findall(r"(?<![\w.-])([\w.-]{1,64})=[^\s=]", text)
    return any(is_secret_query(name) for name in names)


def is_secret_query(name: str) -> bool:
    """Whether a query parameter of this name holds a secret; a page token is none."""
    if re.search("page|next|cursor|continuation", name, re.IGNORECASE):
        return False
    return bool(SECRET_NAME.search(name) or SIGNATURE.search(name))
