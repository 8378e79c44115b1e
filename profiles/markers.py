"""Markers: texts such as `{project.id}`, for which a value stands."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

CHOICE = "{deployment.status}"
"""The only member of an object that is a choice by the status."""

NAME = "{project.name}"
RECORD = "{record}"
DEFAULT_REQUEST = {"name": NAME}  # that creates a project

TIMES = {"project.created_at", "deployment.created_at"}
IDS = {"project.id", "deployment.id"}
EVERYWHERE = {"base"}
OF_RECORDS = EVERYWHERE | TIMES | IDS | {"project.name", "deployment.status"}
OF_LISTS = EVERYWHERE | {"count", "first.id", "last.id"}
OF_ERRORS = EVERYWHERE | {"error.code", "error.title", "error.detail", "error.status"}
ALL = OF_RECORDS | OF_LISTS | OF_ERRORS | {"record"}

_MARKER = re.compile(
    r"\{((?:project|deployment|error|first|last)\.[^{}]*|(?:count|base|record)(?::[^{}]*)?)\}"
)

MISSING = object()
"""What a choice has for a status without a value: its member is left out."""

Path = tuple[str | int, ...]


class Marker(NamedTuple):
    """A marker, which may have an unknown name; `form` is what follows its colon."""

    name: str
    form: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.form}}}" if self.form else f"{{{self.name}}}"


def marker_of(text: str) -> Marker:
    """The marker of the text between its braces."""
    name, _, form = text.partition(":")
    return Marker(name, form)


def split(text: str) -> list[str | Marker]:
    """The markers of a text, and the texts between them."""
    pieces: list[str | Marker] = []
    for index, piece in enumerate(_MARKER.split(text)):
        if index % 2:
            pieces.append(marker_of(piece))
        elif piece:
            pieces.append(piece)
    return pieces


def markers_in(text: str) -> list[Marker]:
    return [marker_of(found) for found in _MARKER.findall(text)]


def whole_marker(value: Any) -> Marker | None:
    """The marker that a value is as a whole, if it is one."""
    match = _MARKER.fullmatch(value) if isinstance(value, str) else None
    return marker_of(match[1]) if match else None


# Choices


def is_choice(value: Any) -> bool:
    return isinstance(value, dict) and CHOICE in value


def chosen(value: Any, word: str) -> Any:
    """The value itself; of a choice what it has for a status, or for `""`, or `MISSING`."""
    while is_choice(value):
        words = value[CHOICE]
        value = words.get(word, words.get("", MISSING))
    return value


def resolve(value: Any, word: str) -> Any:
    """A value as it is with a status, without choices."""
    value = chosen(value, word)
    if isinstance(value, list):
        return [resolve(item, word) for item in value]
    if isinstance(value, dict):
        found = {name: resolve(each, word) for name, each in value.items()}
        return {name: each for name, each in found.items() if each is not MISSING}
    return value


# What is in a JSON value


def values_below(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A JSON value, then all values in it, with their paths, in the order of the document."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        inner: list[tuple[Path, Any]] = []
        if isinstance(value, list):
            inner = [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            inner = [((*path, name), item) for name, item in value.items()]
        waiting += reversed(inner)


def objects_below(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a JSON value, in the order of the document."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        inner: Iterable[Any] = value if isinstance(value, list) else ()
        if isinstance(value, dict):
            yield value
            inner = value.values()
        waiting += reversed([each for each in inner if isinstance(each, dict | list)])


def markers_below(value: Any) -> Iterator[Marker]:
    """The markers in a JSON value; a choice has that of the status."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield from markers_in(value)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value
            waiting += value.values()


def names_below(value: Any) -> set[str]:
    """The names of all markers in a JSON value."""
    return {marker.name for marker in markers_below(value)}


def replaced(value: Any, text: str, new: Any) -> Any:
    """A JSON value in which a value stands in place of a text, of each that is this as a whole."""
    if value == text:
        return new
    if isinstance(value, list):
        return [replaced(item, text, new) for item in value]
    if isinstance(value, dict):
        return {name: replaced(item, text, new) for name, item in value.items()}
    return value


def places_of_projects(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the outermost arrays, through objects, that have a marker of a project."""
    if isinstance(value, list):
        if has_project(value):
            yield path
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from places_of_projects(item, (*path, name))


def has_project(value: Any) -> bool:
    names = markers_below(value)
    return any(each.name == "record" or each.name.startswith("project.") for each in names)


def places_of_name(request: Any) -> list[Path]:
    """The paths in a request, through objects alone, at which the name stands."""
    found = []
    waiting: list[tuple[Path, Any]] = [((), request)]
    while waiting:
        path, value = waiting.pop()
        if value == NAME:
            found.append(path)
        elif isinstance(value, dict):
            inner = [each for each in value.items() if isinstance(each[1], str | dict)]
            waiting += [((*path, name), each) for name, each in reversed(inner)]
    return found
