"""JSON values: what stands in them and where, and the values that are known of a reading."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from profiles.markers import find_markers, split_markers
from profiles.times import TimeForm, parse_time_form
from traffic.json_values import Path, walk
from web.schemas import TYPES, has_type
from web.times import parse_time

from .exchange import NOTHING
from .guesses import SHORTEST_NUMBER, SHORTEST_PART

T = TypeVar("T")

MIN_SECONDS = 1_000_000_000  # of a time as a number: 2001


# What stands where


def list_leaves(value: Any) -> list[tuple[Path, Any]]:
    """The texts, numbers, booleans and nulls in a value, with their paths, the outer ones first."""
    found = [(path, each) for path, each in walk(value) if is_leaf(each)]
    return sorted(found, key=lambda item: len(item[0]))


def find_texts(value: Any) -> dict[Path, str]:
    """The texts in a value that are not empty, by their paths, the outer ones first."""
    return {path: each for path, each in list_leaves(value) if isinstance(each, str) and each}


def is_leaf(value: Any) -> bool:
    return not isinstance(value, dict | list) and value is not NOTHING


def list_arrays(value: Any) -> list[Path]:
    """The paths of the arrays in a value, the outer ones first."""
    paths = [path for path, each in walk(value) if isinstance(each, list)]
    return sorted(paths, key=len)


def find_value(value: Any, path: Path | None) -> Any:
    """What is at a path, `NOTHING` if there is nothing, or no path."""
    if path is None:
        return NOTHING
    for name in path:
        if isinstance(name, str) and isinstance(value, dict):
            value = value.get(name, NOTHING)
        elif isinstance(name, int) and isinstance(value, list) and name < len(value):
            value = value[name]
        else:
            return NOTHING
    return value


# What a value is


def is_id(value: Any) -> bool:
    """Whether it is a text or an integer that a path can have."""
    return type(value) in (str, int) and value != ""


def find_type(value: Any) -> str:
    """The name of the type of a JSON value, as a schema has it."""
    return next(name for name in TYPES if has_type(value, name))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: 1 is neither true nor 1.0."""
    if type(one) is not type(other) or one != other:
        return False
    if is_leaf(one):
        return True
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def are_same(values: list[Any]) -> bool:
    return all(is_same(value, values[0]) for value in values)


def parse_seconds(text: Any) -> float | None:
    """The seconds since 1970 of a text that is a time in a form of profiles; None for others."""
    form = parse_time_form(text) if isinstance(text, str) else None
    if form is None:
        return None
    zone = form.offset or "Z"
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    end = len(text) - len(form.offset)
    moment = parse_time(f"{text[:10]}T{text[11:end]}{zone}")
    return moment.timestamp() if moment else None


def make_example_time(form: TimeForm) -> str:
    """A time of a form, as an example."""
    fraction = f".{'0' * form.digits}" if form.digits else ""
    return f"2026-01-05{form.separator}09:00:00{fraction}{form.offset}"


# Names of members


def get_key(path: Path) -> str:
    """The innermost name of a member on a path, "" if there is none."""
    names = [name for name in path if isinstance(name, str)]
    return names[-1] if names else ""


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """The words of a member's name in lower case: `latestDeploymentId` has three."""
    separated = re.sub("(?<=[a-z0-9])[A-Z]", r"_\g<0>", name)
    return tuple(re.findall("[a-z]+", separated.lower()))


def mentions_deployment(path: Path) -> bool:
    """Whether a name on the path has the word for a deployment."""
    return any("deployment" in str(name).lower() for name in path)


def get_first(found: Iterable[T]) -> T | None:
    """The first one, None if there is none."""
    return next(iter(found), None)


def prefer(found: list[T], is_better: Callable[[T], bool]) -> list[T]:
    """Those that are better, or all if none is."""
    return [each for each in found if is_better(each)] or found


# What is known


@dataclass(frozen=True)
class Known:
    """The values that were known when a body was read, for which markers stand.

    `named` has the values by the names of their markers, of equal ones the likelier one first.
    `base` matches the address of the service. A time in the window, of seconds since 1970, is that
    of the creation, which has the marker `time`.
    """

    named: tuple[tuple[str, Any], ...] = ()
    base: re.Pattern[str] | None = None
    window: tuple[float, float] = (0.0, 0.0)
    time: str = "project.created_at"
    status_names: frozenset[str] = frozenset({"status"})  # of members

    def match_markers(self, value: Any) -> list[str]:
        """The names of the markers that may stand for a value as a whole."""
        return [name for name, known in self.named if is_same(known, value)]

    def is_text_form(self, name: str, value: Any) -> bool:
        """Whether a text is the number that is known by a name, or a number such a text."""
        for each, known in self.named:
            if each == name and str(known) == str(value):
                return is_id(value)
        return False

    def match_time(self, value: Any) -> str | None:
        """What a marker has after its colon for a time of the creation; None for another value."""
        if isinstance(value, str):
            seconds = parse_seconds(value)
            return value if seconds is not None and self._is_recent(seconds) else None
        if not is_number(value) or value < MIN_SECONDS:
            return None
        if self._is_recent(value):
            return "s"
        return "ms" if self._is_recent(value / 1000) else None

    def _is_recent(self, seconds: float) -> bool:
        since, until = self.window
        return since <= seconds <= until

    def mark(self, text: str) -> str:
        """A text in which markers stand for the values that it has."""
        text = strip_markers(text)
        if self.base:
            text = self.base.sub("{base}", text)
        for name, known in self.named:
            part = str(known)
            if part in text and is_id(known):
                text = make_value_pattern(part).sub(f"{{{name}}}", text)
        return text


def strip_markers(text: str) -> str:
    """A text as it can stand in a profile: what would be a marker is without its braces."""
    while find_markers(text):
        pieces = split_markers(text)
        text = "".join(each if isinstance(each, str) else str(each)[1:-1] for each in pieces)
    return text


def make_value_pattern(part: str) -> re.Pattern[str]:
    """A pattern for a value in a text: a short one in a URL, others as words in no marker."""
    escaped = re.escape(part)
    least = SHORTEST_NUMBER if part.isdigit() else SHORTEST_PART
    if len(part) < least:
        return re.compile(f"(?<=[/=@]){escaped}(?=[/?&#]|$)")
    return re.compile(f"(?<![A-Za-z0-9{{]){escaped}(?![A-Za-z0-9}}])")


def make_base_pattern(base: str) -> re.Pattern[str] | None:
    """A pattern for the address of a service in a text, with any scheme, or none."""
    match = re.fullmatch(r"(https?):(//[^/?#]+)(/.*)?", base.rstrip("/"), re.IGNORECASE)
    if match is None:
        return None
    scheme, host, path = match.groups(default="")
    host = re.sub(":443$" if scheme.lower() == "https" else ":80$", "", host)
    port = "" if re.search(":[0-9]+$", host) else "(?::443|:80)?"
    prefix = f"(?:{re.escape(path)}(?=[/?#\\s]|$))?" if path else ""
    start = r"(?:\b(?:https?|wss?):|(?<![:\w/]))"
    return re.compile(rf"{start}{re.escape(host)}{port}{prefix}(?![\w-]|[.:]\w)", re.IGNORECASE)
