"""Reads a request that creates a project, as a profile describes it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from flask import request

from traffic import json_values
from web import problems, schemas, validation
from web.strict_json import read_json

from . import openapi
from .profile import Profile


def read_project(like: Profile, new_name: Callable[[], str], *, strict: bool) -> tuple[str, str]:
    """Read the project that a client sent: return its name, and a JSON object with all members.

    If the profile has an optional name, `new_name` makes a missing name. The plain form of a
    project below `/_stub` has these members, too, so `id` and the like are left out.
    """
    if not like.has_any_type and request.mimetype != like.request_type:
        detail = f"Send `Content-Type: {like.request_type}`."
        raise problems.Problem(415, "unsupported_media_type", detail)
    text, document = read_json(any_type=True)
    *path, last = like.path_of_name
    found = json_values.get_value(document, path)
    holder = found if isinstance(found, dict) else {}
    is_unnamed = holder.get(last) is None
    makes_name = is_unnamed and like.has_optional_name
    errors = [] if makes_name else [*find_name_errors(like, document)]
    for place in like.required:
        errors += find_member_errors(document, place, json_values.get_value(like.request, place))
    validation.require_valid(dict.fromkeys(errors))
    name = new_name() if makes_name else holder[last]
    if strict:
        validation.require_valid(find_strict_errors(like, document))
    if not like.has_own_request and not is_unnamed:
        return name, text
    reserved = (last, *validation.SERVER_MEMBERS)
    sent = {key: value for key, value in holder.items() if key not in reserved}
    return name, json.dumps({**sent, "name": name})


def find_name_errors(like: Profile, document: dict[str, Any]) -> Iterator[problems.FieldError]:
    """Yield the errors of the name, or of the first missing object around it.

    With the plain form, the members that the service sets are errors, too.
    """
    if not like.has_own_request:
        yield from validation.check_project(document, strict=False)
        return
    *path, last = like.path_of_name
    holder = document
    for end, name in enumerate(path, 1):
        if name not in holder:
            yield validation.make_error("is required", *path[:end])
            return
        holder = holder[name]
        if not isinstance(holder, dict):
            yield validation.make_error("must be a JSON object", *path[:end])
            return
    named = {"name": holder[last]} if last in holder else {}
    for error in validation.check_name(named):
        yield validation.make_error(error.detail, *like.path_of_name)


def find_member_errors(
    document: Any, path: json_values.Path, example: Any
) -> Iterator[problems.FieldError]:
    """Yield the error of a required member that is missing, or has not the type of its example."""
    found = document
    for end, name in enumerate(path):
        if not isinstance(found, dict):
            yield validation.make_error("must be a JSON object", *path[:end])
            return
        if name not in found:
            yield validation.make_error("is required", *path)
            return
        found = found[name]
    if example is not None:
        # A number of the example may be an integer, and that of a request not.
        types = [
            name for name in schemas.TYPES if name != "integer" and schemas.has_type(example, name)
        ]
        yield from schemas.find_errors(found, {"type": types[0]}, *path)


def find_strict_errors(like: Profile, document: dict[str, Any]) -> Iterator[problems.FieldError]:
    for path in openapi.find_unknown(document, like.names_of_request):
        yield validation.make_error("is not in the contract (--strict)", *path)
    for path in openapi.find_missing(document, like.expected):
        yield validation.make_error("is missing, which the example has (--strict)", *path)
