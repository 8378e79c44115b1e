"""JSON documents: their files, their parts, and the names in them."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .problems import InvalidBody, short
from .strict_json import MalformedJSON


def path_of(pointer: str) -> list[str]:
    """The names and indexes of a JSON Pointer (RFC 6901 §4)."""
    names = pointer.split("/")[1:]
    return [name.replace("~1", "/").replace("~0", "~") for name in names]


def follow(part: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """The part of a schema or a contract itself, or what its `$ref` names."""
    if "$ref" in part:
        *_, name = path_of(part["$ref"])
        part = named[name]
    return part


def names_around(value: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The names in an object, and in those on a path: that of each of these has the names in it."""
    names: dict[str, Any] = {name: {} for name in value}
    if path:
        first, *rest = path
        names[first] = names_around(value[first], rest)
    return names


def unknown_members(value: Any, known: dict[str, Any]) -> Iterator[list[str]]:
    """The paths of the members of an object that are not among the names of `names_around`."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name not in known:
            yield [name]
        elif known[name]:
            for path in unknown_members(inner, known[name]):
                yield [name, *path]


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raises `ValueError` with the reasons for which the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    except InvalidBody as error:
        reasons = [f"{path}: {shown(at)}: {why}" for at, why in error.errors]
        raise ValueError("\n".join(reasons)) from None


def shown(pointer: str) -> str:
    """A place in a document, in which long names are cut."""
    names = json.dumps(pointer)[1:-1].split("/")
    return "/".join(map(short, names)) or "the document"
