"""The rules of a project, and of the values in a JSON document."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .problems import FieldError, InvalidBody

MAX_NAME = 100  # code points
MAX_ERRORS = 1000  # of one document
SERVER_MEMBERS = ("id", "created_at", "latest_deployment_id")

# White space as ECMA-262 has it, which is the dialect of patterns in a JSON Schema: `\s` of Python
# and U+FEFF.
_BLANK = re.compile(r"[\s\ufeff]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def require_valid(errors: Iterable[FieldError]) -> None:
    """Raise `InvalidBody` with the first `MAX_ERRORS` errors, if there are any."""
    if found := list(islice(errors, MAX_ERRORS)):
        raise InvalidBody(found)


def check_project(document: dict[str, Any], *, strict: bool) -> Iterator[FieldError]:
    """All errors of a project as a client sends it; `strict` rejects what the contract lacks."""
    for member in SERVER_MEMBERS:
        if member in document:
            yield error_at("is set by the service: omit it", member)
    yield from check_name(document)
    if strict:
        for member in document:
            if member not in ("name", *SERVER_MEMBERS):
                yield error_at("is not in the contract (--strict)", member)


def check_name(document: dict[str, Any]) -> Iterator[FieldError]:
    name = document.get("name")
    if "name" not in document:
        yield FieldError("/name", "is required")
    elif not isinstance(name, str):
        yield FieldError("/name", "must be a string")
    else:
        if _BLANK.fullmatch(name):
            yield FieldError("/name", "must not be blank")
        if len(name) > MAX_NAME:
            yield FieldError("/name", f"must have at most {MAX_NAME} characters")
        if _CONTROL.search(name):
            yield FieldError("/name", "must not have control characters")


def pointer(*path: str | int) -> str:
    """A JSON Pointer (RFC 6901 §3) of member names and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def error_at(detail: str, *path: str | int) -> FieldError:
    return FieldError(pointer(*path), detail)


def under(path: Iterable[str | int], errors: Iterable[FieldError]) -> Iterator[FieldError]:
    """The errors of a part of a document that stands at `path`."""
    for error in errors:
        yield FieldError(pointer(*path) + error.pointer, error.detail)
