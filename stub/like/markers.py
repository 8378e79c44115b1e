"""Markers: texts such as `{project.id}`, for which a value stands."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

CHOICE = "{deployment.status}"
"""The only member of an object that is a choice by the status."""

NAME = "{project.name}"
DEFAULT_REQUEST = {"name": NAME}  # that creates a project

TIMES = {
    "project.created_at",
    "project.created_at:s",
    "project.created_at:ms",
    "deployment.created_at",
    "deployment.created_at:s",
    "deployment.created_at:ms",
}
OF_RECORDS = TIMES | {"project.id", "project.name", "deployment.id", "deployment.status"}
OF_LISTS = {"count", "first.id", "last.id"}
OF_ERRORS = {"error.code", "error.title", "error.detail", "error.status"}
ALL = OF_RECORDS | OF_LISTS | OF_ERRORS

_NAME = r"((?:project|deployment|error|first|last)\.[^{}]*|count)"
_MARKER = re.compile(rf"\{{\{{{_NAME}\}}\}}|\{{{_NAME}\}}")
_ALONE = re.compile(rf"\{{{_NAME}\}}")

Path = tuple[str | int, ...]


class Marker(NamedTuple):
    """A marker, which may have an unknown name."""

    name: str


def split(text: str) -> list[str | Marker]:
    """The markers of a text, and the texts between them; `{{project.id}}` is the text itself."""
    pieces: list[str | Marker] = []
    end = 0
    literal = ""
    for match in _MARKER.finditer(text):
        literal += text[end : match.start()]
        end = match.end()
        escaped, name = match.groups()
        if escaped is not None:
            literal += f"{{{escaped}}}"
            continue
        if literal:
            pieces.append(literal)
            literal = ""
        pieces.append(Marker(name))
    literal += text[end:]
    if literal:
        pieces.append(literal)
    return pieces


def escape(text: str) -> str:
    """A text as it stands in a profile, where nothing of it is a marker."""
    return _ALONE.sub(r"{{\1}}", text)


def names_in(text: str) -> list[str]:
    return [piece.name for piece in split(text) if isinstance(piece, Marker)]


def whole_marker(value: Any) -> str | None:
    """The name of the marker that a value is as a whole, if it is one."""
    match = _ALONE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else None


def plain(text: str) -> str:
    """A text without markers, such as the name of a member, as it is sent."""
    return "".join(piece for piece in split(text) if isinstance(piece, str))


def is_choice(value: Any) -> bool:
    return isinstance(value, dict) and CHOICE in value


def values_below(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A JSON value, then all values in it, with their paths."""
    yield path, value
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from values_below(item, (*path, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from values_below(item, (*path, name))


def texts_below(value: Any) -> Iterator[tuple[Path, str]]:
    """The texts in a JSON value, names of members included, and where they are."""
    for path, each in values_below(value):
        if isinstance(each, str):
            yield path, each
        elif isinstance(each, dict):
            for name in each:
                yield (*path, name), name


def names_below(value: Any) -> Iterator[str]:
    """The names of all markers in a JSON value; a choice has that of the status."""
    for _, text in texts_below(value):
        yield from names_in(text)


def places_of_projects(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the outermost arrays that contain a marker of a project."""
    if isinstance(value, list):
        if any(name.startswith("project.") for name in names_below(value)):
            yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places_of_projects(item, (*path, key))


def place_of_name(request: Any) -> Iterator[Path]:
    """The paths in a request, through objects alone, at which the name stands."""
    for path, value in values_below(request):
        is_in_array = any(isinstance(step, int) for step in path)
        if value == NAME and not is_in_array:
            yield path
