"""Makes a template of several readings of a body: their markers, constants and choices."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from profiles import times
from profiles.markers import CHOICE
from traffic.json_values import Path

from ..seen import guesses, inspection
from ..seen.service_log import NOTHING
from .known import Known


@dataclass(frozen=True)
class Reading:
    """A body, the values that were known when it was read, and the status of its deployment."""

    body: Any
    known: Known
    word: str = ""


@dataclass(frozen=True)
class Unified:
    """A body for all readings, and the paths of the values that vary between readings."""

    body: Any
    varying: frozenset[Path]


def unify(readings: Sequence[Reading]) -> Unified:
    """Make a body for all readings.

    A known value becomes a marker: `{project.id}`. A value that depends on the status becomes a
    choice. A constant stays. A value that varies stays as in the first reading.
    """
    unifier = Unifier()
    body = unifier.unify(select_readings(readings), ())
    return Unified(body, frozenset(unifier.varying))


def select_readings(readings: Sequence[Reading]) -> list[Reading]:
    """Select all readings with the last status, and the first with every earlier status.

    Before the last status a member like `progress` may change with time.
    """
    last = readings[-1].word
    found = []
    seen = set()
    for reading in readings:
        if reading.word == last or reading.word not in seen:
            found.append(reading)
        seen.add(reading.word)
    return found


class Unifier:
    """Unifies bodies, and collects the paths of the values that vary."""

    def __init__(self) -> None:
        self.varying: set[Path] = set()

    def unify(self, readings: list[Reading], path: Path) -> Any:
        bodies = [reading.body for reading in readings]
        if all(isinstance(body, dict) for body in bodies):
            return self._unify_objects(readings, path)
        if all(isinstance(body, list) and len(body) == len(bodies[0]) for body in bodies):
            return self._unify_arrays(readings, path)
        if not any(isinstance(body, dict | list) for body in bodies):
            leaf = unify_leaves(readings, path)
            if leaf is not NOTHING:
                return leaf
        return self._unify_by_status(readings, path)

    def _unify_arrays(self, readings: list[Reading], path: Path) -> list[Any]:
        return [
            self.unify(enter(readings, index), (*path, index))
            for index in range(len(readings[0].body))
        ]

    def _unify_objects(self, readings: list[Reading], path: Path) -> dict[str, Any]:
        """Unify objects. A member that only some statuses have becomes a choice."""
        names: dict[str, None] = {}
        for reading in readings:
            names.update(dict.fromkeys(reading.body))
        members = {}
        for name in names:
            having = [reading for reading in readings if name in reading.body]
            inner = enter(having, name)
            inner_path = (*path, name)
            lacking = [reading for reading in readings if name not in reading.body]
            if not lacking:
                members[name] = self.unify(inner, inner_path)
            elif find_words(having).isdisjoint(find_words(lacking)):
                members[name] = {CHOICE: self._unify_each_status(inner, inner_path)}
            else:
                self.varying.add(inner_path)
                members[name] = self.unify(inner, inner_path)
        return members

    def _unify_by_status(self, readings: list[Reading], path: Path) -> Any:
        """Make a choice by the status, or return the first body if it varies within a status."""
        if len(find_words(readings)) > 1:
            inner = Unifier()
            values = inner._unify_each_status(readings, path)
            if path not in inner.varying:
                self.varying |= inner.varying
                return make_choice(values)
        self.varying.add(path)
        return self.unify(readings[:1], path)

    def _unify_each_status(self, readings: list[Reading], path: Path) -> dict[str, Any]:
        by_word: dict[str, list[Reading]] = defaultdict(list)
        for reading in readings:
            by_word[reading.word].append(reading)
        return {word: self.unify(found, path) for word, found in by_word.items()}


def find_words(readings: Iterable[Reading]) -> set[str]:
    return {reading.word for reading in readings}


def enter(readings: list[Reading], name: str | int) -> list[Reading]:
    """Return readings of the member, or the item, of the bodies."""
    return [Reading(reading.body[name], reading.known, reading.word) for reading in readings]


def make_choice(values: dict[str, Any]) -> dict[str, Any]:
    """Make the choice between the values of statuses. The most frequent value is the default.

    `{"queued": 0, "building": 0, "failed": 1}` has the choices `{"failed": 1, "": 0}`.
    """
    all_values = list(values.values())

    def count_same(value: Any) -> int:
        return len([found for found in all_values if inspection.is_same(value, found)])

    usual = max(all_values, key=count_same)
    words = {word: value for word, value in values.items() if not inspection.is_same(value, usual)}
    return {CHOICE: {**words, "": usual}}


# Leaves


def unify_leaves(readings: list[Reading], path: Path) -> Any:
    """Return the marker, or the constant, for a value of all readings; `NOTHING` if it varies."""
    first = readings[0]
    key = inspection.get_key(path)
    is_status = all(reading.body == reading.word != "" for reading in readings)
    if is_status and (len(find_words(readings)) > 1 or key in first.known.status_names):
        return CHOICE
    marker = find_marker(readings, key)
    if marker:
        return f"{{{marker}}}"
    time = unify_times(readings, path)
    if time is not None:
        return time
    values = [mark_leaf(reading) for reading in readings]
    return values[0] if inspection.are_same(values) else NOTHING


def mark_leaf(reading: Reading) -> Any:
    value = reading.body
    return reading.known.mark(value) if isinstance(value, str) else value


def find_marker(readings: list[Reading], key: str) -> str:
    """Find the common marker for the values of a member: `project.id`, or ""."""
    first = readings[0]
    names = first.known.match_markers(first.body)
    for reading in readings[1:]:
        matching = reading.known.match_markers(reading.body)
        names = [name for name in names if name in matching]
    is_constant = inspection.are_same([reading.body for reading in readings])
    likely = [name for name in names if not is_constant or is_likely(name, first.body, key)]
    if likely:
        return choose_marker(likely, key)
    if guesses.has_word(key, "id"):
        for name in ("project.id", "deployment.id"):
            if all(reading.known.is_text_form(name, reading.body) for reading in readings):
                return f"{name}:text" if isinstance(first.body, str) else ""
    return ""


def is_likely(marker: str, value: Any, key: str) -> bool:
    """Return whether a member has the value of a marker not by chance.

    A member `port` with 41 does not have the id 41 of a project; `projectId` does.
    """
    if marker == "count":
        return guesses.is_count(key)
    is_long = isinstance(value, str) or len(str(value)) >= guesses.SHORTEST_NUMBER
    return is_long or guesses.has_word(key, "id")


def choose_marker(names: list[str], key: str) -> str:
    """Choose the marker that the name of a member tells, among markers of the same value."""
    if "project.name" in names and guesses.has_word(key, "name"):
        return "project.name"
    if "last.id" in names and not guesses.has_word(key, "first"):
        return "last.id"
    return names[0]


def unify_times(readings: list[Reading], path: Path) -> str | None:
    """Return the marker of a time of the creation, or None if a value is no time of it.

    Its example has the most digits that were read, since zeros may be left out:
    `{project.created_at:2026-01-05T09:00:00.000000Z}`.
    """
    found = [reading.known.match_time(reading.body) for reading in readings]
    examples = [example for example in found if example is not None]
    if len(examples) < len(found):
        return None
    is_of_deployment = inspection.mentions_deployment(path)
    name = "deployment.created_at" if is_of_deployment else readings[0].known.time
    if inspection.is_number(readings[0].body):
        return f"{{{name}:{examples[0]}}}" if inspection.are_same(examples) else None
    forms = [form for form in map(times.parse_time_format, examples) if form]
    longest = max(forms, key=lambda form: form.digits, default=None)
    if longest is None or len({form._replace(digits=0) for form in forms}) > 1:
        return None
    if longest == times.TimeFormat():
        return f"{{{name}}}"
    return f"{{{name}:{inspection.make_example_time(longest)}}}"
