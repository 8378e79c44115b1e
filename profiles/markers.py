"""Reads markers, such as `{project.id}` and `{project.created_at:2026-01-05T09:00:00Z}`."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from traffic import json_values

CHOICE = "{deployment.status}"
"""The only member of a choice by the status: `{"{deployment.status}": {"failed": 1, "": 0}}`."""

NAME = "{project.name}"
RECORD = "{record}"
DEFAULT_REQUEST = {"name": NAME}
"""The request that creates a project, unless a profile has another."""

TIMES = {"project.created_at", "deployment.created_at"}
IDS = {"project.id", "deployment.id"}
RECORD_MARKERS = {"base", "project.name", "deployment.status"} | TIMES | IDS
LIST_MARKERS = {"base", "count", "first.id", "last.id"}
ERROR_MARKERS = {
    "base", "error.code", "error.title", "error.detail", "error.subject", "error.status",
}  # fmt: skip
ALL = RECORD_MARKERS | LIST_MARKERS | ERROR_MARKERS | {"record"}

_MARKER = re.compile(
    r"\{((?:project|deployment|error|first|last)\.[^{}]*|(?:count|base|record)(?::[^{}]*)?)\}"
)

MISSING = object()
"""The value of a choice for a status that it does not name: the member is left out."""


class Marker(NamedTuple):
    """A marker `{name:spec}` or `{name}`. Its name may be unknown.

    `spec` says how the value looks: `text`, `s`, or an example of a time or an id.
    """

    name: str
    spec: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}:{self.spec}}}" if self.spec else f"{{{self.name}}}"


def parse_marker(text: str) -> Marker:
    """Parse the text between the braces of a marker: `project.created_at:s`."""
    name, _, spec = text.partition(":")
    return Marker(name, spec)


def split_markers(text: str) -> list[str | Marker]:
    """Split a text into its markers and the texts between them."""
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
    """Parse a value that is a marker from its first to its last character, or return None."""
    match = _MARKER.fullmatch(value) if isinstance(value, str) else None
    return parse_marker(match[1]) if match else None


# Choices


def is_choice(value: Any) -> bool:
    return isinstance(value, dict) and CHOICE in value


def choose_value(value: Any, status: str) -> Any:
    """Return the value of a choice for a status, for `""`, or else `MISSING`.

    Another value is returned as it is.
    """
    while is_choice(value):
        values = value[CHOICE]
        value = values.get(status, values.get("", MISSING))
    return value


def resolve_choices(value: Any, status: str) -> Any:
    """Return a copy of a value in which the choices are replaced by their values for a status."""
    value = choose_value(value, status)
    if isinstance(value, list):
        return [resolve_choices(item, status) for item in value]
    if isinstance(value, dict):
        found = {name: resolve_choices(each, status) for name, each in value.items()}
        return {name: each for name, each in found.items() if each is not MISSING}
    return value


# Parts of JSON values


def find_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value, in the order of the document."""
    for _, each in json_values.walk(value):
        if isinstance(each, dict):
            yield each


def walk_markers(value: Any) -> Iterator[Marker]:
    """Yield the markers in a JSON value, with `{deployment.status}` for a choice."""
    for _, each in json_values.walk(value):
        texts = each if isinstance(each, dict) else [each]
        for text in texts:
            if isinstance(text, str):
                yield from find_markers(text)


def find_marker_names(value: Any) -> set[str]:
    """Return the names of all markers in a JSON value."""
    return {marker.name for marker in walk_markers(value)}


def replace_text(value: Any, text: str, new: Any) -> Any:
    """Return a copy of a JSON value in which `new` replaces the strings equal to `text`."""
    return json_values.map_leaves(value, lambda _, each: new if each == text else each)


def find_project_arrays(value: Any) -> Iterator[json_values.Path]:
    """Yield the paths of the outermost arrays with a marker of a project: `("data", "items")`."""
    for path, each in json_values.walk(value):
        if isinstance(each, list) and is_through_objects(path) and has_project(each):
            yield path


def has_project(value: Any) -> bool:
    names = walk_markers(value)
    return any(each.name == "record" or each.name.startswith("project.") for each in names)


def find_name_paths(request: Any) -> list[json_values.Path]:
    """Return the paths of `{project.name}` in a request: `[("data", "name")]`.

    Paths through arrays are left out.
    """
    return [
        path
        for path, each in json_values.walk(request)
        if each == NAME and is_through_objects(path)
    ]


def is_through_objects(path: json_values.Path) -> bool:
    return all(isinstance(name, str) for name in path)
