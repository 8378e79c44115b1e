"""Reads a request that creates a project, as a profile describes it."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flask import request

from traffic import json_values
from web import problems, schemas, validation
from web.documents import parse_pointer
from web.strict_json import read_json

from . import markers, openapi
from .check import find_members


class RequestExample:
    """The example of the request that creates a project, and what the profile says about it.

    The comments show the values for this part of a profile:
    `{"request": {"definition": {"name": "{project.name}", "region": "fra", "plan": "free"}},
    "required": ["/definition/region"]}`.

    Only requests of `media_type` are accepted; if it is None, those of all types.
    """

    def __init__(self, part: dict[str, Any], media_type: str | None) -> None:
        self.media_type = media_type
        self.is_own = "request" in part
        self.value: dict[str, Any] = part.get("request", markers.DEFAULT_REQUEST)
        (self.name_path,) = markers.find_name_paths(self.value)  # ("definition", "name")
        *around_name, name = self.name_path
        self.required = parse_pointers(part.get("required", ()))  # [("definition", "region")]
        optional = parse_pointers(part.get("optional", ()))
        self.has_optional_name = self.name_path in optional
        # The required members with the name, and the objects around them:
        # {("definition",), ("definition", "region"), ("definition", "name")}
        self.all_required: set[json_values.Path] = set()
        for path in self.required if self.has_optional_name else [*self.required, self.name_path]:
            for end in range(1, len(path) + 1):
                self.all_required.add(path[:end])
        # The members that are neither required nor optional: [("definition", "plan")]
        known = {*self.all_required, *optional, self.name_path}
        self.expected = [path for path in find_members(self.value) if path not in known]
        # The names of the members in the objects around the name:
        # {(): {"definition"}, ("definition",): {"name", "region", "plan"}}
        self.known_names: openapi.Names = {}
        for end in range(len(self.name_path)):
            path = self.name_path[:end]
            self.known_names[path] = json_values.get_value(self.value, path).keys()
        # The members beside the name; in the bodies a client may replace them: {"region", "plan"}
        self.replaceable = {*self.known_names[tuple(around_name)]} - {name, "name"}


def parse_pointers(pointers: Iterable[str]) -> list[json_values.Path]:
    return [tuple(parse_pointer(pointer)) for pointer in pointers]


def read_project(
    example: RequestExample, new_name: Callable[[], str], *, strict: bool
) -> tuple[str, str]:
    """Read the project that a client sent: return its name, and a JSON object with all members.

    `new_name` makes a missing name, if the name is optional. Members with a name of the service's
    own, such as `id`, are left out: the plain form of a project below `/_stub` sets them itself.
    """
    if example.media_type and request.mimetype != example.media_type:
        detail = f"Send `Content-Type: {example.media_type}`."
        raise problems.Problem(415, "unsupported_media_type", detail)
    text, document = read_json(any_type=True)
    *around_name, member = example.name_path
    holder = json_values.get_value(document, around_name)
    if not isinstance(holder, dict):
        holder = {}
    name = holder.get(member)
    errors: list[problems.FieldError] = []
    if name is not None or not example.has_optional_name:
        errors += find_name_errors(example, document)
    for path in example.required:
        errors += find_member_errors(document, path, json_values.get_value(example.value, path))
    validation.require_valid(dict.fromkeys(errors))
    is_plain = name is not None and not example.is_own
    if name is None:
        name = new_name()
    if strict:
        validation.require_valid(find_strict_errors(example, document))
    if is_plain:
        return name, text
    dropped = (member, *validation.SERVER_MEMBERS)
    sent = {key: value for key, value in holder.items() if key not in dropped}
    return name, json.dumps({**sent, "name": name})


def find_name_errors(
    example: RequestExample, document: dict[str, Any]
) -> Iterator[problems.FieldError]:
    """Yield the errors of the name, or of the first missing object around it.

    With the plain request, the members that the service sets are errors, too.
    """
    if not example.is_own:
        yield from validation.check_project(document, strict=False)
        return
    *around_name, member = example.name_path
    holder = document
    for end, name in enumerate(around_name, 1):
        if name not in holder:
            yield validation.make_error("is required", *around_name[:end])
            return
        holder = holder[name]
        if not isinstance(holder, dict):
            yield validation.make_error("must be a JSON object", *around_name[:end])
            return
    named = {"name": holder[member]} if member in holder else {}
    for error in validation.check_name(named):
        yield validation.make_error(error.detail, *example.name_path)


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


def find_strict_errors(
    example: RequestExample, document: dict[str, Any]
) -> Iterator[problems.FieldError]:
    for path in openapi.find_unknown(document, example.known_names):
        yield validation.make_error("is not in the contract (--strict)", *path)
    for path in openapi.find_missing(document, example.expected):
        yield validation.make_error("is missing, which the example has (--strict)", *path)
