"""Markers: texts such as `{project.id}`, for which a value stands."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from traffic.json_values import Path, map_leaves, walk

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
OF_ERRORS = EVERYWHERE | {
    "error.code", "error.title", "error.detail", "error.subject", "error.status",
}  # fmt: skip
ALL = OF_RECORDS | OF_LISTS | OF_ERRORS | {"record"}

_MARKER = re.compile(
    r"\{((?:project|deployment|error|first|last)\.[^{}]*|(?:count|base|record)(?::[^{}]*)?)\}"
)

MISSING = object()
"""What a choice has for a status without a value: its member is left out."""


class Marker(NamedTuple):
    """A marker, which may have an unknown name; `form` is what follows its colon."""

    name: str
    form: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.form}}}" if self.form else f"{{{self.name}}}"


def parse_marker(text: str) -> Marker:
    """The marker of the text between its braces."""
    name, _, form = text.partition(":")
    return Marker(name, form)


def split_markers(text: str) -> list[str | Marker]:
    """The markers of a text, and the texts between them."""
    pieces: list[str | Marker] = []
    for index, piece in enumerate(_MARKER.split(text)):
        if index % 2:
            pieces.append(parse_marker(piece))
        elif piece:
            pieces.append(piece)
    return pieces


def find_markers(text: str) -> list[Marker]:
    return [parse_marker(found) for found in _MARKER.findall(text)]


def parse_whole_marker(value: Any) -> Marker | None:
    """The marker that a value is as a whole, if it is one."""
    match = _MARKER.fullmatch(value) if isinstance(value, str) else None
    return parse_marker(match[1]) if match else None


# Choices


def is_choice(value: Any) -> bool:
    return isinstance(value, dict) and CHOICE in value


def choose_value(value: Any, word: str) -> Any:
    """The value itself; of a choice what it has for a status, or for `""`, or `MISSING`."""
    while is_choice(value):
        words = value[CHOICE]
        value = words.get(word, words.get("", MISSING))
    return value


def resolve_choices(value: Any, word: str) -> Any:
    """A value as it is with a status, without choices."""
    value = choose_value(value, word)
    if isinstance(value, list):
        return [resolve_choices(item, word) for item in value]
    if isinstance(value, dict):
        found = {name: resolve_choices(each, word) for name, each in value.items()}
        return {name: each for name, each in found.items() if each is not MISSING}
    return value


# What is in a JSON value


def find_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value, in the order of the document."""
    for _, each in walk(value):
        if isinstance(each, dict):
            yield each


def walk_markers(value: Any) -> Iterator[Marker]:
    """Yield the markers in a JSON value; a choice has that of the status."""
    for _, each in walk(value):
        texts = each if isinstance(each, dict) else [each]
        for text in texts:
            if isinstance(text, str):
                yield from find_markers(text)


def find_marker_names(value: Any) -> set[str]:
    """Return the names of all markers in a JSON value."""
    return {marker.name for marker in walk_markers(value)}


def replace_text(value: Any, text: str, new: Any) -> Any:
    """Return a copy of a JSON value with another value in place of each text that is this one."""
    return map_leaves(value, lambda _, each: new if each == text else each)


def find_project_arrays(value: Any) -> Iterator[Path]:
    """Yield the paths of the outermost arrays, through objects, with a marker of a project."""
    for path, each in walk(value):
        if isinstance(each, list) and is_through_objects(path) and has_project(each):
            yield path


def has_project(value: Any) -> bool:
    names = walk_markers(value)
    return any(each.name == "record" or each.name.startswith("project.") for each in names)


def find_name_paths(request: Any) -> list[Path]:
    """Return the paths in a request, through objects alone, at which the name stands."""
    return [path for path, each in walk(request) if each == NAME and is_through_objects(path)]


def is_through_objects(path: Path) -> bool:
    return all(isinstance(name, str) for name in path)
