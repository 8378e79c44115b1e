"""Puts markers in place of the values of a record."""

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from stub.like.markers import escape
from stub.rules import TYPES

from .checks import OWN_MEMBER
from .exchange import Exchange
from .forms import Form, has_time_form
from .places import says_deployment
from .values import Path, is_number, is_same, last_name, parse_seconds, type_of, words_of

MINUTE = 60.0
LEAST_NAME = 5  # characters of an id that is found in the name of a member
MIN_SECONDS = 1_000_000_000  # of a time as a number: 2001
SHORTEST_PART = 3  # characters of an id that is found inside of a text; of digits alone, 5
TIME_WORDS = {"at", "on", "time", "date", "created", "updated", "timestamp"}


@dataclass
class Marks:
    """What stands for the values of a project and its deployment, in the bodies of one kind.

    `window` is the time, in seconds since 1970, in which what a body has for a time is that of the
    creation; with `has_any_time` only a number whose name says so is one. Without `is_shown` each
    constant becomes a plain value of its type.
    """

    kind: str  # whose bodies: project or deployment
    project_id: Any = None
    project_name: Any = None
    deployment_id: Any = None
    status_paths: set[Path] = field(default_factory=set)
    times: Form | None = None  # the form of the service's times
    window: tuple[float, float] = (0.0, 0.0)
    is_shown: bool = True
    has_any_time: bool = False
    names: Container[str] | None = None  # of members, if others may be values of somebody

    def mark(self, value: Any, path: Path = ()) -> Any:
        """The value with markers; it stands at the path."""
        if isinstance(value, dict):
            return {
                escape(name): self.mark(each, (*path, name))
                for name, each in value.items()
                if name != OWN_MEMBER and not self._is_data(name)
            }
        if isinstance(value, list):
            return self._mark_array(value, path)
        marker = self._marker(value, path)
        if marker is not None:
            return marker
        if not self.is_shown:
            return "" if value == "" else TYPES[type_of(value)][0]
        return self.mark_inside(value) if isinstance(value, str) else value

    def _is_data(self, name: str) -> bool:
        """Whether the name of a member is a value, which a profile cannot have: in a map, say."""
        if self.names is not None and name not in self.names:
            return True
        values = [str(value) for _, value in self._named_values()]
        has_value = any(value in name for value in values if len(value) >= LEAST_NAME)
        return has_value or parse_seconds(name) is not None

    def _mark_array(self, value: list[Any], path: Path) -> list[Any]:
        """The items with markers; of those without their values, each is there once."""
        found: list[Any] = []
        for index, item in enumerate(value):
            marked = self.mark(item, (*path, index))
            if self.is_shown or not any(is_same(marked, other) for other in found):
                found.append(marked)
        return found

    def mark_inside(self, text: str) -> str:
        """A text in which markers stand for the ids and the name."""
        return mark_parts(text, self._named_values())

    def mark_field(self, value: str, _: Exchange) -> str:
        """The value of a header field with markers."""
        return self.mark_inside(value)

    def _named_values(self) -> list[tuple[str, Any]]:
        """The values that a marker stands for, the likeliest one of equal ones first."""
        ids = [("project.id", self.project_id), ("deployment.id", self.deployment_id)]
        if self.kind == "deployment":
            ids.reverse()
        found = [*ids, ("project.name", self.project_name)]
        return [(name, value) for name, value in found if value not in (None, "")]

    def _marker(self, value: Any, path: Path) -> str | None:
        if path in self.status_paths:
            return "{deployment.status}"
        if isinstance(value, bool) or value in (None, ""):
            return None
        last = last_name(path)
        if value == self.project_name and "name" in words_of(last):
            return "{project.name}"
        for name, known in self._named_values():
            if is_same(value, known) and (isinstance(value, str) or is_id_name(last)):
                return f"{{{name}}}"
        return self._time_marker(value, path)

    def _time_marker(self, value: Any, path: Path) -> str | None:
        """The marker of a time of the creation, None for another value."""
        unit = self._time_unit(value, path)
        if unit is None:
            return None
        is_of_deployment = self.kind == "deployment" or any(says_deployment(name) for name in path)
        record = "deployment" if is_of_deployment else "project"
        return f"{{{record}.created_at{unit}}}"

    def _time_unit(self, value: Any, path: Path) -> str | None:
        """The unit of a time of the creation, "" if it is a text; None for another value."""
        seconds = parse_seconds(value)
        if seconds is not None:
            has_form = self.has_any_time or has_time_form(self.times, value)
            return "" if has_form and self._is_in_window(seconds) else None
        if not is_number(value) or value < MIN_SECONDS:
            return None
        if self.has_any_time and TIME_WORDS.isdisjoint(words_of(last_name(path))):
            return None
        if value > MIN_SECONDS * 1000 and self._is_in_window(value / 1000):
            return ":ms"
        return ":s" if self._is_in_window(value) else None

    def _is_in_window(self, seconds: float) -> bool:
        since, until = self.window
        return since <= seconds <= until


def mark_parts(text: str, values: list[tuple[str, Any]]) -> str:
    """A text in which markers of these names stand for the values."""
    text = escape(text)
    for name, value in values:
        text = replace_part(text, str(value), f"{{{name}}}")
    return text


def replace_part(text: str, part: str, marker: str) -> str:
    """A text with a marker for a value that stands in it as a word."""
    least = 5 if part.isdigit() else SHORTEST_PART
    before = "(?<![A-Za-z0-9{])"
    after = "(?![A-Za-z0-9}])"
    if len(part) < least:  # then in a URL alone
        before = "(?<=[/=])"
        after = "(?=[/?&#]|$)"
    return re.sub(f"{before}{re.escape(part)}{after}", marker, text)


def is_id_name(name: str) -> bool:
    """Whether a number of this name may be an id."""
    return "id" in words_of(name)
