"""Puts markers in place of the values of a record, and of what a list has around its records."""

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import Any

from web.schemas import TYPES

from .checks import OWN_MEMBER
from .forms import Form, is_known_time, time_example, time_form
from .places import is_of_deployment
from .values import (
    Path,
    has_records,
    is_id,
    is_number,
    is_same,
    last_name,
    parse_seconds,
    type_of,
    without_markers,
    words_of,
)

LEAST_NAME = 5  # characters of an id that is found in the name of a member
MIN_SECONDS = 1_000_000_000  # of a time as a number: 2001
SHORTEST_PART = 3  # characters of an id that is found inside of a text
SHORTEST_NUMBER = 5
COUNT_WORDS = {"count", "total", "length"}
LAST_WORDS = {"last", "next", "after", "end", "cursor"}

Named = list[tuple[str, Any]]
"""Names of markers, and the values for which they stand, of equal ones the likelier one first."""


@dataclass
class Marks:
    """What stands for the values of a project and its deployment, in the bodies of one kind.

    `window` is the time, in seconds since 1970, in which what a body has for a time is that of the
    creation. Without `is_shown` each constant becomes a plain value of its type.
    """

    kind: str  # whose bodies: project or deployment
    named: Named = field(default_factory=list)
    window: tuple[float, float] = (0.0, 0.0)
    time: Form | None = None  # that of most digits: zeros may be left out
    status_paths: list[Path] = field(default_factory=list)
    is_shown: bool = True
    names: Container[str | int] | None = None  # of members, if others may be values of somebody

    def mark(self, value: Any, path: Path = ()) -> Any:
        """The value with markers; it stands at the path."""
        if isinstance(value, dict):
            found = {}
            for name, each in value.items():
                if name != OWN_MEMBER and not self._is_data(name):
                    found[name] = self.mark(each, (*path, name))
            return found
        if isinstance(value, list):
            items = [self.mark(item, (*path, index)) for index, item in enumerate(value)]
            return items if self.is_shown else distinct(items)
        marker = self._marker(value, path)
        if marker is not None:
            return f"{{{marker}}}"
        if not self.is_shown:
            return "" if value == "" else TYPES[type_of(value)][0]
        return mark_inside(value, self.named)

    def mark_field(self, value: str) -> str:
        return str(mark_inside(value, self.named))

    def _is_data(self, name: str) -> bool:
        """Whether the name of a member is a value, which a profile cannot have: in a map, say."""
        if self.names is not None and name not in self.names:
            return True
        if parse_seconds(name) is not None:
            return True
        values = [str(value) for _, value in self.named]
        return any(len(value) >= LEAST_NAME and value in name for value in values)

    def _marker(self, value: Any, path: Path) -> str | None:
        """The name of the marker of a value as a whole, if it has one."""
        if path in self.status_paths:
            return "deployment.status"
        words = words_of(last_name(path))
        found = [name for name, known in self.named if is_same(value, known)]
        if "project.name" in found and "name" in words:
            return "project.name"
        if found and (isinstance(value, str) or "id" in words):
            return found[0]
        unit = self._time_form(value)
        if unit is None:
            return None
        is_own = self.kind == "project" and not is_of_deployment(path)
        record = "project" if is_own else "deployment"
        return f"{record}.created_at{unit}"

    def _time_form(self, value: Any) -> str | None:
        """What a marker has after its name for a time of the creation; None for another value."""
        since, until = self.window
        seconds = parse_seconds(value)
        form = time_form(value)
        if seconds is not None and form:
            if self.time and is_known_time(self.time, form):
                form = self.time
            return time_example(form) if since <= seconds <= until else None
        if not is_number(value) or value < MIN_SECONDS:
            return None
        if since <= value <= until:
            return ":s"
        is_recent = value > MIN_SECONDS * 1000 and since <= value / 1000 <= until
        return ":ms" if is_recent else None


@dataclass(frozen=True)
class ListMarks:
    """What stands for the values around the projects of a list, which are at `items_path`.

    `is_map` says whether the names of members are values of records. If it is not sure which array
    has the projects, all others may be of other people.
    """

    items_path: Path
    size: int  # the number of the projects
    ids: Named  # of the first and the last project
    is_map: Callable[[dict[str, Any]], bool]
    is_sure: bool

    def mark(self, value: Any, path: Path = ()) -> Any:
        """The body of a list with markers, and without projects."""
        if path == self.items_path:
            return []
        if isinstance(value, dict):
            if self.is_map(value):
                return {}
            return {name: self.mark(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list):
            if not self.is_sure or has_records(value):
                return Marks("project", is_shown=False).mark(value)
            return [self.mark(item, (*path, index)) for index, item in enumerate(value)]
        return self._mark_scalar(value, words_of(last_name(path)))

    def _mark_scalar(self, value: Any, words: list[str]) -> Any:
        """`words` are those of the name of its member."""
        if is_same(value, self.size) and COUNT_WORDS.intersection(words):
            return "{count}"
        found = [name for name, known in self.ids if is_same(value, known)]
        if not found:
            return mark_inside(value, self.ids)
        name = found[0] if LAST_WORDS.isdisjoint(words) else found[-1]
        return f"{{{name}}}"

    def mark_field(self, value: str) -> str:
        if value == str(self.size):
            return "{count}"
        return str(mark_inside(value, self.ids))


def distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(is_same(value, other) for other in found):
            found.append(value)
    return found


def named(values: dict[str, Any]) -> Named:
    """Those of the values that a marker can stand for."""
    return [(name, value) for name, value in values.items() if is_id(value)]


def mark_inside(value: Any, values: Named) -> Any:
    """A text in which markers of these names stand for the values that it has; or another value."""
    if not isinstance(value, str):
        return value
    text = without_markers(value)
    for name, known in values:
        part = str(known)
        least = SHORTEST_NUMBER if part.isdigit() else SHORTEST_PART
        text = re.sub(pattern_of(part, in_url=len(part) < least), f"{{{name}}}", text)
    return text


def pattern_of(part: str, *, in_url: bool) -> str:
    """A pattern for a value in a text: in a URL, or else as a word that stands in no marker."""
    escaped = re.escape(part)
    if in_url:
        return f"(?<=[/=@]){escaped}(?=[/?&#]|$)"
    return f"(?<![A-Za-z0-9{{]){escaped}(?![A-Za-z0-9}}])"
