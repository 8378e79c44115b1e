"""What may not stand in a profile: secrets, the service's address, and the values of others."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from profiles.markers import CHOICE, is_choice
from traffic.json_values import Path
from traffic.secrets import Secrets, is_secret_name
from web.validation import format_pointer

from .errors import is_code, list_literals
from .guesses import SHORTEST_NAME, SHORTEST_PART, is_for_programs
from .known import make_value_pattern
from .secrets import find_label
from .values import get_key, is_number, list_leaves

TEXT = "text"  # stands for a secret
HOOK = re.compile(r"://\S*(\bhooks?\b|webhook)\S*/", re.IGNORECASE)
"""A URL of a webhook, whose path may be a secret."""


class Privacy:
    """Cleans the parts of a profile; `notes` tell what was left out, by the pointers.

    `others` are the records of others, `own` are the bodies whose values may stay: those of the
    created record. Its `names` stay nowhere but in markers, and what names `strangers` stays
    nowhere, whatever the created deployment has.
    """

    def __init__(
        self,
        secrets: Secrets,
        base: str,
        *,
        others: Iterable[Any],
        own: Iterable[Any],
        names: Iterable[Any],
        strangers: Iterable[str],
    ) -> None:
        self._secrets = secrets
        host = urlsplit(base).netloc.rpartition("@")[2].lower()
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)") if host else None
        self._names = lower_texts(names)
        self._strangers = {
            each for each in strangers if says_whose(each) and len(each) >= SHORTEST_NAME
        }
        foreign = (lower_texts(others) - lower_texts(own)) | self._names | self._strangers
        self._foreign = {each for each in foreign if says_whose(each)}
        self.notes: list[str] = []

    def clean_record(self, value: Any, place: str) -> Any:
        """A body of the created record without secrets."""
        return self._clean(value, (), place, self._is_safe_in_record)

    def clean_around(self, value: Any, place: str) -> Any:
        """What stands around records, without secrets and the values of others."""
        return self._clean(self._without_maps(value), (), place, self._is_safe_around)

    def clean_error(self, value: Any, place: str) -> Any:
        """The body of an error: a code stays, whatever the records of others have beside names."""

        def is_safe(path: Path, text: str) -> bool:
            is_read = is_for_programs(get_key(path)) and is_code(text)
            kept_out = self._strangers | self._names if is_read else self._foreign
            return self._is_safe(path, text) and not self._has_one_of(kept_out, text)

        return self._clean(value, (), place, is_safe)

    def is_safe_word(self, word: str) -> bool:
        """Whether a status may stand in a profile: no secret, no address, and no name."""
        return self._is_safe((), word) and word.lower() not in self._names

    def is_safe_field(self, name: str, value: str) -> bool:
        """Whether a header field may stay."""
        is_secret = is_secret_name(name) or self._secrets.has_secret(name)
        return not is_secret and self._is_safe_around((name,), value)

    def _clean(
        self, value: Any, path: Path, place: str, is_safe: Callable[[Path, str], bool]
    ) -> Any:
        if isinstance(value, list):
            return [
                self._clean(each, (*path, index), place, is_safe)
                for index, each in enumerate(value)
            ]
        if isinstance(value, dict):
            return self._clean_object(value, path, place, is_safe)
        if value is None or isinstance(value, bool) or value in ("", TEXT):
            return value
        text = str(value)
        is_marker = not list_literals(text)
        is_kept = is_marker if is_in_secret(path) else is_safe(path, text)
        return value if is_kept else self._left_out(value, path, place)

    def _clean_object(
        self, value: dict[str, Any], path: Path, place: str, is_safe: Callable[[Path, str], bool]
    ) -> dict[str, Any]:
        if is_choice(value):
            words = {}
            for word, each in value[CHOICE].items():
                if self.is_safe_word(word):
                    words[word] = self._clean(each, path, place, is_safe)
            return {CHOICE: words}
        label = find_label(value)
        found = {}
        for name, each in value.items():
            inner = (*path, name)
            is_word = name.isidentifier() and not re.search("[0-9]", name)
            if not self._is_safe((), name) or not (is_word or is_safe((), name)):
                continue
            if label and name == "value" and is_secret_name(label):
                found[name] = self._left_out(each, inner, place)
            elif label and each == label and is_safe(inner, label):
                found[name] = label
            else:
                found[name] = self._clean(each, inner, place, is_safe)
        return found

    def _left_out(self, value: Any, path: Path, place: str) -> Any:
        """What stands for a value that is left out, of the same type."""
        self.notes.append(
            f"{place}{format_pointer(*path)}: left out, as it may be a secret, or another's"
        )
        return TEXT if isinstance(value, str) else type(value)()

    def _without_maps(self, value: Any) -> Any:
        """A value in which each map by the names of records is empty."""
        if isinstance(value, list):
            return [self._without_maps(each) for each in value]
        if not isinstance(value, dict):
            return value
        is_map = len(value) > 1 and {name.lower() for name in value} <= self._foreign
        return {} if is_map else {name: self._without_maps(each) for name, each in value.items()}

    def _is_safe(self, path: Path, text: str) -> bool:
        is_called_hook = any("hook" in str(name).lower() for name in path) and "/" in text
        is_hook = is_called_hook or HOOK.search(text) is not None
        if is_hook or self._secrets.has_secret(text):
            return False
        return self._host is None or not self._host.search(unquote(text).lower())

    def _is_safe_in_record(self, path: Path, text: str) -> bool:
        return self._is_safe(path, text) and not self._has_one_of(self._strangers, text)

    def _is_safe_around(self, path: Path, text: str) -> bool:
        return self._is_safe(path, text) and not self._is_foreign(text)

    def _is_foreign(self, text: str) -> bool:
        return self._has_one_of(self._foreign, text)

    def _has_one_of(self, values: set[str], text: str) -> bool:
        """Whether a text is one of these values, or has one as a word."""
        for literal in list_literals(text):
            piece = unquote(literal).lower()
            inside = [each for each in values if len(each) >= SHORTEST_PART and each in piece]
            if piece in values or any(make_value_pattern(each).search(piece) for each in inside):
                return True
        return False


def is_in_secret(path: Path) -> bool:
    """Whether a name on the path is that of a secret; what kind of secret it is, is none."""
    has_secret_name = any(is_secret_name(name) for name in path if isinstance(name, str))
    return has_secret_name and get_key(path) not in ("type", "kind")


def lower_texts(bodies: Iterable[Any]) -> set[str]:
    """The texts and numbers in bodies, in lower case."""
    found = set()
    for body in bodies:
        for _, value in list_leaves(body):
            if isinstance(value, str) or is_number(value):
                found.add(str(value).lower())
    return found


def says_whose(text: str, least_number: int = 1000) -> bool:
    """Whether a value may say whose it is: 7 does not."""
    if text.lstrip("-").isdigit():
        return abs(int(text)) >= least_number
    return len(text) > 1
