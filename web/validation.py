"""Checks the project that a client sends, and makes the errors of JSON documents."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from . import problems

SERVER_MEMBERS = ("id", "created_at", "latest_deployment_id")


def require_valid(errors: Iterable[problems.FieldError], max_errors: int = 1000) -> None:
    """Raise `InvalidBody` if there are errors. It has the first `max_errors` of them."""
    if found := list(islice(errors, max_errors)):
        raise problems.InvalidBody(found)


def check_project(document: dict[str, Any], *, strict: bool) -> Iterator[problems.FieldError]:
    """Yield the errors of the project that a client sent: `{"name": "shop"}`.

    With `strict`, members that are not in the contract are errors.
    """
    for member in SERVER_MEMBERS:
        if member in document:
            yield make_error("is set by the service: omit it", member)
    yield from check_name(document)
    if strict:
        for member in document:
            if member not in ("name", *SERVER_MEMBERS):
                yield make_error("is not in the contract (--strict)", member)


def check_name(document: dict[str, Any], max_length: int = 100) -> Iterator[problems.FieldError]:
    """Yield the errors of the member `name`, which has at most `max_length` code points."""
    name = document.get("name")
    if "name" not in document:
        yield problems.FieldError("/name", "is required")
    elif not isinstance(name, str):
        yield problems.FieldError("/name", "must be a string")
    else:
        # The pattern of the contract counts U+FEFF as white space, as ECMA-262 does.
        if not name.replace("\ufeff", "").strip():
            yield problems.FieldError("/name", "must not be blank")
        if len(name) > max_length:
            yield problems.FieldError("/name", f"must have at most {max_length} characters")
        if not name.isprintable() and re.search(r"[\x00-\x1f\x7f-\x9f]", name):
            yield problems.FieldError("/name", "must not have control characters")


def format_pointer(*path: str | int) -> str:
    """Return the JSON Pointer (RFC 6901 §3) of a path: of `"a/b", 0` it is `/a~1b/0`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def make_error(detail: str, *path: str | int) -> problems.FieldError:
    """Return an error at a path: `make_error("is required", "projects", 0, "name")`."""
    return problems.FieldError(format_pointer(*path), detail)


def prefix_errors(
    path: Iterable[str | int], errors: Iterable[problems.FieldError]
) -> Iterator[problems.FieldError]:
    """Yield the errors of a part of a document, with the path of the part in their pointers."""
    for error in errors:
        yield problems.FieldError(format_pointer(*path) + error.pointer, error.detail)
