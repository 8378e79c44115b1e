"""Removes secrets, the address of the service and foreign values from a profile."""

import re
from collections.abc import Set
from random import Random
from typing import Any
from urllib.parse import urlsplit

from profiles import ids, markers
from traffic.json_values import Path
from traffic.secrets import HOOK, Secrets, is_secret_name
from web.validation import format_pointer

from ..seen import guesses
from ..seen.inspection import get_key
from ..seen.places import Places
from ..seen.secrets import find_labels
from ..seen.strangers import Strangers
from ..seen.texts import MAIL, decode_text, fold, fold_texts, may_identify
from . import errors
from .ids import randomize

REQUEST = "/create/request"  # the place of the request, whose constants a service may check
ADDRESS = "text@mail.example"  # replaces a mail address


class Privacy:
    """Cleans the parts of a profile of a service at `base`.

    `notes` name the places of the values that were left out.
    """

    def __init__(self, base: str, places: Places, secrets: Secrets, strangers: Strangers) -> None:
        self._secrets = secrets
        host = urlsplit(base).netloc.rpartition("@")[2].lower()
        self._host = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)") if host else None
        self._strangers = strangers
        own = fold_texts([places.created_id, places.created_name, places.deployment_id])
        own = {*filter(may_identify, own)}
        self._names = strangers.names | own
        # `X-Api-Version` is not named after a project `api`.
        self._long_names = {each for each in self._names if len(each) >= guesses.SHORTEST_NAME}
        self._values = strangers.values | own
        self.notes: list[str] = []

    def clean_record(self, value: Any, place: str) -> Any:
        """Return the created record, or its deployment, without secrets and values of others."""
        return self._clean(value, (), place, self._strangers.values)

    def clean_other(self, value: Any, place: str) -> Any:
        """Return an error, or the body around a record, which has no id of the run, either."""
        return self._clean(value, (), place, self._values)

    def is_safe_word(self, word: str) -> bool:
        """Return whether a status may stand in a profile."""
        return self._is_safe(("status",), word, self._values)

    def clean_field(self, name: str, value: str) -> str | None:
        """Return a header field as it may stand in a profile, or None."""
        is_safe_name = not is_secret_name(name) and self._is_safe((), name, self._long_names)
        is_safe = is_safe_name and self._is_safe((name,), value, self._values)
        if not is_safe:
            return None
        return value if guesses.is_constant(name, value) else randomize(value, name)

    def _clean(self, value: Any, path: Path, place: str, foreign: Set[str]) -> Any:
        if isinstance(value, list):
            items = enumerate(value)
            return [self._clean(each, (*path, i), place, foreign) for i, each in items]
        if markers.is_choice(value):
            words = {}
            for word, each in value[markers.CHOICE].items():
                if self.is_safe_word(word):
                    words[word] = self._clean(each, path, place, foreign)
            return {markers.CHOICE: words}
        if isinstance(value, dict):
            return self._clean_object(value, path, place, foreign)
        if type(value) not in (str, int, float) or value == "" or guesses.is_left_out(value):
            return value
        text = MAIL.sub(ADDRESS, str(value))
        if is_in_secret(path):
            is_kept = not errors.list_literals(text)
        else:
            is_kept = self._is_safe(path, text, foreign)
        if not is_kept:
            return self._leave_out(value, path, place)
        if not guesses.is_constant(get_key(path), text) and place != REQUEST:
            text = randomize(text, format_pointer(*path[-2:]))
        return value if text == str(value) else self._leave_out(value, path, place, text)

    def _clean_object(
        self, value: dict[str, Any], path: Path, place: str, foreign: Set[str]
    ) -> dict[str, Any]:
        names = {*map(fold, value)}
        known = self._strangers.values if len(names) > 1 else self._strangers.names
        if names <= known and not names <= guesses.list_common_words():
            return {}  # It is a map by the names of records: `{"shop-1": {...}}`.
        labels = find_labels(value)
        all_labels = [label for each in labels.values() for label in each]
        found = {}
        for name, member in value.items():
            inner = (*path, name)
            # `data` may be the name of a project, too; `payroll_worker` is no word of a service.
            is_plain = name.islower() and name.isalpha() and name.isascii()
            is_named = fold(name) in self._strangers.names and not is_plain
            is_word = re.fullmatch("[A-Za-z_]+", name)
            if is_named or not self._is_safe((), name, set() if is_word else foreign):
                continue
            if any(map(is_secret_name, labels[name])):
                found[name] = self._leave_out(member, inner, place)
            elif member in all_labels and self._is_safe(inner, member, foreign):
                found[name] = member
            else:
                found[name] = self._clean(member, inner, place, foreign)
        return found

    def _leave_out(self, value: Any, path: Path, place: str, made_up: str = "") -> Any:
        """Note that a value is left out, and return the made-up text, or a value of the same type.

        A made-up id replaces an id, and a URL a URL, since a client may read its form.
        """
        self.notes.append(
            f"{place}{format_pointer(*path)}: left out: it may be a secret, or belong to others"
        )
        if made_up:
            return made_up
        if isinstance(value, str | int) and self._strangers.shapes.matches(str(value)):
            return type(value)(ids.parse_id_example(str(value)).make(Random(0)))
        if not isinstance(value, str):
            return type(value)()
        scheme = re.match("[a-z][a-z0-9+.-]*://", value)
        return f"{scheme[0]}{guesses.TEXT}.example" if scheme else guesses.TEXT

    def _is_safe(self, path: Path, text: str, foreign: Set[str]) -> bool:
        """Return whether a text may stay. A URL of a webhook is a secret."""
        has_hook = HOOK.search(text)
        is_hook = "/" in text and any("hook" in str(name).lower() for name in path)
        if has_hook or is_hook or self._secrets.has_secret(text):
            return False
        for literal in errors.list_literals(text):
            piece = decode_text(literal)
            if self._strangers.shapes.find(piece) or has_mail(piece):
                return False
            piece = piece.lower()
            if self._host and self._host.search(piece):
                return False
            key = get_key(path)
            is_constant = guesses.is_constant(key, piece)
            is_of_service = is_constant or (guesses.has_code(key) and guesses.is_code(piece))
            known = self._names if is_of_service else foreign
            if self._has_value(piece, known, is_constant=is_constant):
                return False
        return True

    def _has_value(self, piece: str, foreign: Set[str], *, is_constant: bool) -> bool:
        """Return whether a text is a foreign value, or has one as a word in it.

        A short value may be a word of the service, too: a project is called `prod`, and a stage.
        Inside a text the words of the contract are not found, and short values only as a part of a
        path, `/zones/eu`.
        """
        folded = fold(piece)
        if folded in foreign:
            return len(piece) >= guesses.SHORTEST_NAME or not is_constant
        common = guesses.list_common_words()
        for each in foreign:
            is_name = each in self._strangers.names and not is_constant
            letters, digits = guesses.SHORTEST_FOREIGN if is_name else guesses.SHORTEST_VALUE
            if len(each) >= (digits if each.isdigit() else letters):
                is_found = f" {each} " in f" {folded} "
            else:
                is_found = re.search(f"[/=@]{re.escape(each)}(?=[/?&#]|$)", piece) is not None
            if is_found and each not in common:
                return True
        return False


def has_mail(text: str) -> bool:
    """Return whether a text has the mail address of a person."""
    return any(match[0] != ADDRESS for match in MAIL.finditer(text))


def is_in_secret(path: Path) -> bool:
    """Return whether a value belongs to a secret by its path: `("secret", "value")`."""
    has_secret_name = any(is_secret_name(name) for name in path if isinstance(name, str))
    return has_secret_name and get_key(path) not in ("type", "kind")
