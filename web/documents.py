"""Reads the parts of JSON documents, and explains why a file is invalid."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import problems
from .strict_json import MalformedJSON


def parse_pointer(pointer: str) -> list[str]:
    """Return the names in a JSON Pointer (RFC 6901 §4): `/a~1b/0` has `["a/b", "0"]`."""
    names = pointer.split("/")[1:]
    return [name.replace("~1", "/").replace("~0", "~") for name in names]


def follow_ref(part: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """Return the named part if the part of a schema is a `{"$ref": "#/…/NAME"}`, else the part."""
    if "$ref" in part:
        *_, name = parse_pointer(part["$ref"])
        part = named[name]
    return part


def make_ref(component: str) -> dict[str, Any]:
    """Return a reference to a schema: `{"$ref": "#/components/schemas/Project"}`."""
    return {"$ref": f"#/components/schemas/{component}"}


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise `ValueError` with the reasons if the file cannot be read inside the `with`.

    A line of its text is `seed.json: /projects/0/name: is required`.
    """
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except MalformedJSON as error:
        raise ValueError(f"{path}: {error}") from None
    except problems.InvalidBody as error:
        reasons = [f"{path}: {format_place(at)}: {why}" for at, why in error.errors]
        raise ValueError("\n".join(reasons)) from None


def format_place(pointer: str) -> str:
    """Shorten the long names in a JSON Pointer; the empty pointer becomes `the document`."""
    names = json.dumps(pointer)[1:-1].split("/")
    return "/".join(map(problems.shorten, names)) or "the document"
