"""One template of several readings of a body: what they share, and how they differ."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiles.markers import CHOICE
from profiles.times import TimeForm, parse_time_form
from traffic.json_values import Path

from .exchange import NOTHING
from .guesses import (
    COUNT_WORDS,
    LAST_WORDS,
    NO_COUNT_WORDS,
    SHORTEST_NUMBER,
)
from .values import (
    Known,
    are_same,
    get_key,
    is_number,
    is_same,
    make_example_time,
    mentions_deployment,
    split_words,
)


@dataclass(frozen=True)
class Reading:
    """A body, the values that were known when it was read, and the status of its deployment."""

    body: Any
    known: Known
    word: str = ""


@dataclass(frozen=True)
class Unified:
    """One body of all readings; `varying` are the paths of what another reading has otherwise."""

    body: Any
    varying: frozenset[Path]


def unify(readings: Sequence[Reading]) -> Unified:
    """What is known in each reading becomes a marker, and what is the same stays.

    What the status decides becomes a choice. The rest varies: the first value stands for it.
    """
    unifier = Unifier()
    body = unifier.unify(judged(readings), ())
    return Unified(body, frozenset(unifier.varying))


def judged(readings: Sequence[Reading]) -> list[Reading]:
    """The readings that show what varies within a status.

    If the last status was read more than once, only its readings do: before, a member such as a
    progress may change with time, and one reading of each other status counts.
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
    """Collects the paths of what varies, while it makes one body of several."""

    def __init__(self) -> None:
        self.varying: set[Path] = set()

    def unify(self, readings: list[Reading], path: Path) -> Any:
        bodies = [each.body for each in readings]
        if all(isinstance(body, dict) for body in bodies):
            return self._unify_objects(readings, path)
        if all(isinstance(body, list) and len(body) == len(bodies[0]) for body in bodies):
            return self._unify_arrays(readings, path)
        if any(isinstance(body, dict | list) for body in bodies):
            return self._unify_by_status(readings, path)
        marked = marked_scalar(readings, path)
        if marked is not NOTHING:
            return marked
        return self._unify_by_status(readings, path)

    def _unify_arrays(self, readings: list[Reading], path: Path) -> list[Any]:
        items = []
        for index in range(len(readings[0].body)):
            inner = [Reading(each.body[index], each.known, each.word) for each in readings]
            items.append(self.unify(inner, (*path, index)))
        return items

    def _unify_objects(self, readings: list[Reading], path: Path) -> dict[str, Any]:
        """Objects as one; a member that is there with some statuses alone is a choice of these."""
        names: dict[str, None] = {}
        for reading in readings:
            names.update(dict.fromkeys(reading.body))
        members = {}
        for name in names:
            having = [each for each in readings if name in each.body]
            inner = [Reading(each.body[name], each.known, each.word) for each in having]
            inner_path = (*path, name)
            if len(having) == len(readings):
                members[name] = self.unify(inner, inner_path)
            elif is_decided(readings, name):
                members[name] = {CHOICE: self._by_status(inner, inner_path)}
            else:
                self.varying.add(inner_path)
                members[name] = self.unify(inner, inner_path)
        return members

    def _unify_by_status(self, readings: list[Reading], path: Path) -> Any:
        """The choice between the bodies of the statuses, or the first one, if it varies."""
        words = {each.word for each in readings}
        if len(words) > 1:
            inner = Unifier()
            values = inner._by_status(readings, path)
            if path not in inner.varying:
                self.varying |= inner.varying
                return choice(values)
        self.varying.add(path)
        return self.unify(readings[:1], path)

    def _by_status(self, readings: list[Reading], path: Path) -> dict[str, Any]:
        """For each status one body."""
        by_word: dict[str, list[Reading]] = defaultdict(list)
        for reading in readings:
            by_word[reading.word].append(reading)
        return {word: self.unify(of_word, path) for word, of_word in by_word.items()}


def is_decided(readings: list[Reading], name: str) -> bool:
    """Whether the status decides that there is a member."""
    found = {(each.word, name in each.body) for each in readings}
    return len(found) == len({each.word for each in readings})


def choice(values: dict[str, Any]) -> dict[str, Any]:
    """The choice between values by the status; what most statuses have is that of the others."""
    each_value = list(values.values())

    def count(value: Any) -> int:
        return len([each for each in each_value if is_same(value, each)])

    usual = max(each_value, key=count)
    words = {word: value for word, value in values.items() if not is_same(value, usual)}
    return {CHOICE: {**words, "": usual}}


# Values


def marked_scalar(readings: list[Reading], path: Path) -> Any:
    """What stands for one value of all readings, `NOTHING` if they differ."""
    if all(is_status(each, path) for each in readings) and has_evidence(readings, path):
        return CHOICE
    marker = known_in_each(readings, path)
    if marker:
        return f"{{{marker}}}"
    time = time_in_each(readings, path)
    if time is not None:
        return time
    values = [marked(each) for each in readings]
    return values[0] if are_same(values) else NOTHING


def marked(reading: Reading) -> Any:
    value = reading.body
    return reading.known.mark(value) if isinstance(value, str) else value


def is_status(reading: Reading, path: Path) -> bool:
    return isinstance(reading.body, str) and reading.body == reading.word != ""


def has_evidence(readings: list[Reading], path: Path) -> bool:
    """Whether a value is the status not by chance: it changes with it, or is called so."""
    words = {each.word for each in readings}
    return len(words) > 1 or get_key(path) in readings[0].known.status_names


def known_in_each(readings: list[Reading], path: Path) -> str:
    """The marker of a value that each reading knows, "" if there is none."""
    first = readings[0]
    names = first.known.match_markers(first.body)
    for reading in readings[1:]:
        names = [name for name in names if name in reading.known.match_markers(reading.body)]
    is_distinct = not are_same([each.body for each in readings])
    words = split_words(get_key(path))
    likely = [name for name in names if is_distinct or is_likely(name, first.body, words)]
    if likely:
        return best_of(likely, words)
    for name in ("project.id", "deployment.id"):
        if "id" in words and all(each.known.is_text_form(name, each.body) for each in readings):
            return f"{name}:text" if isinstance(first.body, str) else ""
    return ""


def is_likely(name: str, value: Any, words: tuple[str, ...]) -> bool:
    """Whether a value is that of a marker not by chance, as its member is called so."""
    if name == "count":
        return bool(COUNT_WORDS.intersection(words)) and NO_COUNT_WORDS.isdisjoint(words)
    is_long = isinstance(value, str) or len(str(value)) >= SHORTEST_NUMBER
    return is_long or "id" in words


def best_of(names: list[str], words: tuple[str, ...]) -> str:
    """Of markers with one value, the one of which the member's name tells."""
    if "project.name" in names and "name" in words:
        return "project.name"
    if "last.id" in names and LAST_WORDS.intersection(words):
        return "last.id"
    return names[0]


def time_in_each(readings: list[Reading], path: Path) -> str | None:
    """The marker of a time of the creation, None if a reading has another value.

    Of times with several numbers of digits, it has the most: zeros may be left out.
    """
    examples = [each.known.match_time(each.body) for each in readings]
    if None in examples:
        return None
    name = "deployment.created_at" if mentions_deployment(path) else readings[0].known.time
    texts = [each for each in examples if each]
    if is_number(readings[0].body):
        return f"{{{name}:{texts[0]}}}" if are_same(texts) else None
    forms = [parse_time_form(text) for text in texts]
    most = max((form for form in forms if form), key=lambda form: form.digits, default=None)
    if most is None or len({form._replace(digits=0) for form in forms if form}) > 1:
        return None
    return f"{{{name}}}" if most == TimeForm() else f"{{{name}:{make_example_time(most)}}}"
