"""Removes secrets, the address of the service and foreign values from a profile."""

import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any
from urllib.parse import unquote, urlsplit

from profiles import ids, markers
from traffic.json_values import Path
from traffic.secrets import Secrets, is_secret_name
from web.validation import format_pointer

from ..seen import guesses
from ..seen.inspection import get_key
from ..seen.secrets import find_label
from ..seen.strangers import MAIL, Strangers, lower_texts, may_identify
from . import errors
from .known import make_value_pattern

ADDRESS = "text@mail.example"  # replaces a mail address

FindForeign = Callable[[Path, str], set[str]]
"""Finds the values that must not be in a text at a path."""


class Privacy:
    """Cleans the parts of a profile. `notes` name the places of the values that were left out.

    The values of foreign records (`others`) are left out, unless a body in `own` has them. The
    `names` of the created record, and foreign names (`strangers`), never stay.
    """

    def __init__(
        self,
        secrets: Secrets,
        base: str,
        *,
        others: Iterable[Any],
        own: Iterable[Any],
        names: Iterable[Any],
        strangers: Strangers,
    ) -> None:
        self._secrets = secrets
        host = urlsplit(base).netloc.rpartition("@")[2].lower()
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)") if host else None
        self._names = lower_texts(names)
        self._shapes = strangers.shapes
        names_of_others = strangers.values
        self._strangers = {name for name in names_of_others if len(name) >= guesses.SHORTEST_NAME}
        foreign = (lower_texts(others) - lower_texts(own)) | self._names | self._strangers
        self._foreign = {value for value in foreign if may_identify(value)}
        self.notes: list[str] = []

    def clean_record(self, value: Any, place: str) -> Any:
        """Return the created record without secrets."""

        def find_foreign(path: Path, text: str) -> set[str]:
            return self._strangers | self._shapes.find(text)

        return self._clean(self._empty_maps(value), (), place, find_foreign)

    def clean_around(self, value: Any, place: str) -> Any:
        """Return the body around records without secrets and foreign values."""

        def find_foreign(path: Path, text: str) -> set[str]:
            return self._foreign | self._shapes.find(text)

        return self._clean(self._empty_maps(value), (), place, find_foreign)

    def clean_error(self, value: Any, place: str) -> Any:
        """Return the body of an error. An error code stays, even if a record has the same text."""

        def find_foreign(path: Path, text: str) -> set[str]:
            if guesses.is_for_programs(get_key(path)) and guesses.is_code(text):
                return self._strangers | self._names
            return self._foreign | self._shapes.find(text)

        return self._clean(self._empty_maps(value), (), place, find_foreign)

    def is_safe_word(self, word: str) -> bool:
        """Return whether a status may stand in a profile."""
        return self._is_safe((), word) and word.lower() not in self._names

    def is_safe_field(self, name: str, value: str) -> bool:
        """Return whether a header field may stand in a profile."""
        is_secret = is_secret_name(name) or self._secrets.has_secret(name)
        foreign = self._foreign | self._shapes.find(value)
        is_foreign = MAIL.search(value) or not self._is_safe((name,), value, foreign)
        return not is_secret and not is_foreign

    def _clean(self, value: Any, path: Path, place: str, find_foreign: FindForeign) -> Any:
        if isinstance(value, list):
            items = enumerate(value)
            return [self._clean(each, (*path, i), place, find_foreign) for i, each in items]
        if markers.is_choice(value):
            words = {}
            for word, each in value[markers.CHOICE].items():
                if self.is_safe_word(word):
                    words[word] = self._clean(each, path, place, find_foreign)
            return {markers.CHOICE: words}
        if isinstance(value, dict):
            return self._clean_object(value, path, place, find_foreign)
        if value is None or isinstance(value, bool) or value in ("", guesses.TEXT):
            return value
        text = MAIL.sub(ADDRESS, str(value))
        if is_in_secret(path):
            is_kept = not errors.list_literals(text)
        else:
            is_kept = self._is_safe(path, text, find_foreign(path, text))
        if is_kept and text == str(value):
            return value
        return self._leave_out(value, path, place, text if is_kept else guesses.TEXT)

    def _clean_object(
        self, value: dict[str, Any], path: Path, place: str, find_foreign: FindForeign
    ) -> dict[str, Any]:
        label = find_label(value)
        found = {}
        for name, member in value.items():
            inner = (*path, name)
            is_word = name.isidentifier() and not re.search("[0-9]", name)
            foreign = set() if is_word else find_foreign((), name)
            if not self._is_safe((), name, foreign):
                continue
            if label and name == "value" and is_secret_name(label):
                found[name] = self._leave_out(member, inner, place)
                continue
            is_label = label != "" and member == label
            if is_label and self._is_safe(inner, label, find_foreign(inner, label)):
                found[name] = label
            else:
                found[name] = self._clean(member, inner, place, find_foreign)
        return found

    def _leave_out(self, value: Any, path: Path, place: str, text: str = guesses.TEXT) -> Any:
        """Note that a value is left out, and return a value of the same type.

        A made-up id replaces an id, since a client may read its form.
        """
        self.notes.append(
            f"{place}{format_pointer(*path)}: left out: it may be a secret, or belong to others"
        )
        if isinstance(value, str | int) and self._shapes.matches(str(value)):
            return type(value)(ids.parse_id_example(str(value)).make(Random(0)))
        return text if isinstance(value, str) else type(value)()

    def _empty_maps(self, value: Any) -> Any:
        """Return a value in which maps by the names of records are empty: `{"shop-1": {...}}`."""
        if isinstance(value, list):
            return [self._empty_maps(each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) > 1 and {name.lower() for name in value} <= self._foreign:
            return {}
        return {name: self._empty_maps(each) for name, each in value.items()}

    def _is_safe(self, path: Path, text: str, foreign: Iterable[str] = ()) -> bool:
        """Return whether a text may stay. A URL of a webhook is a secret."""
        has_hook = re.search(r"://\S*(\bhooks?\b|webhook)\S*/", text, re.IGNORECASE)
        is_hook = "/" in text and any("hook" in str(name).lower() for name in path)
        if has_hook or is_hook or self._secrets.has_secret(text):
            return False
        if self._host and self._host.search(unquote(text).lower()):
            return False
        for literal in errors.list_literals(text):
            piece = unquote(literal).lower()
            if piece in foreign:
                return False
            inside = [each for each in foreign if each in piece]
            long = [each for each in inside if len(each) >= guesses.SHORTEST_PART]
            if any(make_value_pattern(value).search(piece) for value in long):
                return False
        return True


def is_in_secret(path: Path) -> bool:
    """Return whether a value belongs to a secret by its path: `("secret", "value")`."""
    has_secret_name = any(is_secret_name(name) for name in path if isinstance(name, str))
    return has_secret_name and get_key(path) not in ("type", "kind")
