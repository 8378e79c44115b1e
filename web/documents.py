"""JSON documents: their files and their parts."""

import json
from collections.abc import Iterator
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
