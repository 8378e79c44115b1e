"""Finds the errors of a profile: first by its schema, then those that a schema cannot express."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from traffic import json_values
from web import problems, schemas, validation
from web.documents import parse_pointer
from web.files import read_file

from . import ids, markers
from .statuses import Statuses, find_first_choice, find_statuses
from .times import parse_time_format

MAX_BYTES = 1024 * 1024  # bytes of a profile

GONE = {
    "/times": "is gone: write an example of a time in the marker, such as "
    "{project.created_at:2026-01-05T09:00:00.000Z}",
    "/statuses/ended": "is gone: the last status of `run` stays",
    "/create/any_type": "is gone: the Content-Type of a request may be any, unless "
    "`errors.unsupported_media_type` stands in the profile",
}
"""The messages for removed members, by their pointers."""


def read_schema() -> schemas.Schema:
    """Read the schema of a profile, and fill in the codes of the contract, like `name_taken`."""
    schema: schemas.Schema = json.loads(read_file("profiles/profile.json"))
    contract = json.loads(read_file("openapi.json"))
    # Examples of the contract have them: {"name_taken": {"value": {"code": "name_taken", …
    codes = {value for path, value in json_values.walk(contract) if path[-2:] == ("value", "code")}
    errors = schema["properties"]["errors"]["properties"]
    errors |= {code: {"$ref": "#/$defs/error"} for code in sorted(codes)}
    return schema


@cache
def load_schemas() -> dict[str, schemas.Schema]:
    """Return the schema of a profile and its parts by name, all without `$ref`."""
    profile = read_schema()
    named: dict[str, schemas.Schema] = {**profile["$defs"], "profile": profile}
    return {name: schemas.resolve_refs(schema, named) for name, schema in named.items()}


def check_profile(document: Any, max_errors: int = 100) -> list[problems.FieldError]:
    """Return the first errors by the schema of a profile, or else the first further errors."""
    found = list(islice(schemas.find_errors(document, load_schemas()["profile"]), max_errors))
    if found:
        return [error._replace(detail=GONE.get(error.pointer, error.detail)) for error in found]
    return list(islice(check_parts(document), max_errors))


def check_parts(
    document: dict[str, Any], max_error: int = 64 * 1024
) -> Iterator[problems.FieldError]:
    """Yield the errors that a schema cannot express.

    The body of an error has at most `max_error` bytes, since the contract repeats it often.
    """
    parts: dict[str, Any] = defaultdict(dict, document)
    statuses = find_statuses(document)
    yield from check_statuses(document, statuses)
    record_check = BodyCheck(statuses, "record" in document, markers.RECORD_MARKERS)
    form_check = replace(record_check, allowed=markers.RECORD_MARKERS | {"record"})
    if "record" in document:
        yield from record_check.check(document["record"], ("record",))
    if "list" in document:
        yield from check_list(document["list"], form_check)
    creation = parts["create"]
    yield from form_check.check_form(creation, ("create",))
    request = creation.get("request", markers.DEFAULT_REQUEST)
    yield from check_request(request)
    yield from check_pointers(creation, request)
    yield from form_check.check_form(parts["deployment"], ("deployment",))
    errors = parts["errors"]
    error_check = replace(record_check, allowed=markers.ERROR_MARKERS)
    for code, form in errors.items():
        yield from error_check.check_form(form, ("errors", code))
        if len(json.dumps(form.get("body"))) > max_error:
            yield validation.make_error(
                f"must have at most {max_error} bytes", "errors", code, "body"
            )
        if "body" not in form and "default" not in errors:
            yield validation.make_error(
                "is required, as there is no `default`", "errors", code, "body"
            )
    for kind, example in parts["ids"].items():
        yield from check_id(kind, example)


def check_id(kind: str, example: str | int) -> Iterator[problems.FieldError]:
    try:
        ids.parse_id_format(example, kind)
    except ValueError as error:
        yield validation.make_error(str(error), "ids", kind)


def check_statuses(
    document: dict[str, Any], statuses: Statuses, max_statuses: int = 100
) -> Iterator[problems.FieldError]:
    """Yield the errors of the statuses of a profile, or of its first choice."""
    place: json_values.Path = ("statuses",)
    if "statuses" in document:
        for index, status in enumerate(statuses.others):
            if status in statuses.run:
                yield validation.make_error("is in `run` already", *place, "others", index)
    else:
        place, _ = find_first_choice(document)
        for status in statuses.run:
            for error in schemas.find_errors(status, load_schemas()["status"]):
                yield validation.make_error(
                    f"{problems.shorten(status)}, a status of a choice, {error.detail}", *place
                )
    if len(statuses.all) > max_statuses:
        yield validation.make_error(f"must have at most {max_statuses} statuses", *place)


def check_list(form: dict[str, Any], form_check: "BodyCheck") -> Iterator[problems.FieldError]:
    """Yield the errors of `list`, whose body has one array of projects.

    `form_check` checks the item of the array.
    """
    path = ("list", "body")
    arrays = [(*path, *place) for place in markers.find_project_arrays(form["body"])]
    if not arrays:
        detail = "must have an array with one item, in which markers of a project stand"
        yield validation.make_error(f"{detail}, such as {markers.NAME}", *path)
    for other in arrays[1:]:
        yield validation.make_error("is a second array of projects: there is one beside it", *other)
    item_check = replace(form_check, allowed=form_check.allowed | markers.LIST_MARKERS)
    list_check = replace(
        form_check, allowed=markers.LIST_MARKERS, arrays=arrays, item_check=item_check
    )
    yield from list_check.check_form(form, ("list",))


@dataclass(frozen=True)
class BodyCheck:
    """A check of bodies in which the `allowed` markers and choices by these statuses may stand.

    In the body of a list, `arrays` are the paths of the arrays of projects. `item_check` checks the
    item of the first array. The others are not checked, as they are errors themselves.
    """

    statuses: Statuses
    has_record: bool
    allowed: set[str]
    arrays: Sequence[json_values.Path] = ()
    item_check: "BodyCheck | None" = None

    def check_form(
        self, form: dict[str, Any], path: json_values.Path
    ) -> Iterator[problems.FieldError]:
        field_check = replace(self, allowed=self.allowed - {"record"})
        for name, value in form.get("headers", {}).items():
            yield from field_check.check_text(value, (*path, "headers", name))
        if "body" in form:
            yield from self.check(form["body"], (*path, "body"))

    def check(
        self, value: Any, path: json_values.Path, *, is_member: bool = False
    ) -> Iterator[problems.FieldError]:
        """Yield the errors of a value in a body. A choice may leave a member out."""
        if isinstance(value, str):
            yield from self.check_text(value, path)
        elif isinstance(value, list):
            yield from self.check_array(value, path)
        elif markers.is_choice(value):
            yield from self.check_choice(value, path, is_member=is_member)
        elif isinstance(value, dict):
            for name, member in value.items():
                if markers.find_markers(name):
                    yield validation.make_error("no marker can stand in a name", *path, name)
                yield from self.check(member, (*path, name), is_member=True)

    def check_array(
        self, items: list[Any], path: json_values.Path
    ) -> Iterator[problems.FieldError]:
        if path in self.arrays[1:]:
            return
        check = self
        if self.item_check and path in self.arrays:  # It is the first array.
            check = self.item_check
            if len(items) != 1:
                yield validation.make_error("must have one item, the form of each project", *path)
        for index, item in enumerate(items):
            yield from check.check(item, (*path, index))

    def check_choice(
        self, value: dict[str, Any], path: json_values.Path, *, is_member: bool
    ) -> Iterator[problems.FieldError]:
        values = value[markers.CHOICE]
        place = (*path, markers.CHOICE)
        if "deployment.status" not in self.allowed:
            yield validation.make_error("no choice by the status can stand here", *place)
            return
        if len(value) > 1:
            yield validation.make_error("must be alone in its object, as it is a choice", *place)
            return
        if not isinstance(values, dict):
            detail = 'must be an object: a value for each status, and for ""'
            yield validation.make_error(detail, *place)
            return
        known = self.statuses.all
        has_all = "" in values or values.keys() >= {*known}
        if not is_member and not has_all:
            detail = 'needs a value for "", all other statuses: only a member can be left out'
            yield validation.make_error(detail, *place)
        for status, item in values.items():
            if status and status not in known:
                detail = f"is not a status of the profile: these are {show_statuses(known)}"
                yield validation.make_error(detail, *place, status)
            yield from self.check(item, (*place, status), is_member=is_member)

    def check_text(self, text: str, path: json_values.Path) -> Iterator[problems.FieldError]:
        for marker in markers.find_markers(text):
            detail = self.describe_error(marker, text)
            if detail:
                yield validation.make_error(detail, *path)
        found = re.search(r"\{(?:project|deployment)\.[a-z_]{1,20}:\{", text)
        if found:
            detail = "no brace follows a colon: braces stand around the marker"
            yield validation.make_error(f"{problems.shorten(found[0])}: {detail}", *path)

    def describe_error(self, marker: markers.Marker, text: str) -> str | None:
        """Return the error of a marker in a text, or None."""
        if marker.name not in markers.ALL:
            return f"{problems.shorten(marker)} is not a marker: {list_markers(self.allowed)}"
        if marker.name not in self.allowed:
            return f"{problems.shorten(marker)} cannot stand here: {list_markers(self.allowed)}"
        if marker.name == "record" and text != markers.RECORD:
            return "{record} stands alone, for a value"
        if marker.name == "record" and not self.has_record:
            return "{record} needs the member `record` of the profile"
        if marker.name == "deployment.status" and not self.statuses.all:
            shown = problems.shorten(marker)
            return f"{shown} needs `statuses`, or a choice: the profile has no status"
        return describe_spec_error(marker)


@lru_cache(maxsize=1024)
def describe_spec_error(marker: markers.Marker) -> str | None:
    """Return the error of the text after the colon of a marker, or None."""
    name, spec = marker
    if name in markers.TIMES:
        if spec in ("", "s", "ms") or parse_time_format(spec):
            return None
        example = "2026-01-05T09:00:00.000Z"
        return (
            f"{problems.shorten(marker)}: write s, ms, or an example of a time, such as {example}"
        )
    if spec in ("", "text"):
        return None
    if name not in markers.IDS:
        return f"{problems.shorten(marker)}: only text can follow this colon"
    if not schemas.is_valid(spec, load_schemas()["id"]):
        return (
            f"{problems.shorten(marker)}: an example of an id has 1 to 200 visible ASCII characters"
        )
    try:
        ids.parse_id_example(spec)
    except ValueError as error:
        return f"{problems.shorten(marker)}: {problems.shorten(spec)} {error}"
    return None


def list_markers(names: Iterable[str]) -> str:
    return "there are " + " ".join(f"{{{name}}}" for name in sorted(names))


def show_statuses(statuses: tuple[str, ...], max_shown: int = 10) -> str:
    shown = ", ".join(map(problems.shorten, statuses[:max_shown]))
    return f"{shown}, …" if len(statuses) > max_shown else shown


def check_request(request: dict[str, Any]) -> Iterator[problems.FieldError]:
    """Yield the errors of the example of a request, which must have `{project.name}` once."""
    path = ("create", "request")
    places = markers.find_name_paths(request)
    if not places:
        yield validation.make_error(
            f"must have the text {markers.NAME} once, and not in an array", *path
        )
    for place in places[1:]:
        yield validation.make_error(f"{markers.NAME} stands there already", *path, *place)
    detail = f"must have no marker: only {markers.NAME} stands in a request, once and alone"
    for place, value in json_values.walk(request):
        if isinstance(value, dict):
            for name in value:
                if markers.find_markers(name):
                    yield validation.make_error(detail, *path, *place, name)
        elif isinstance(value, str) and place not in places and markers.find_markers(value):
            yield validation.make_error(detail, *path, *place)


def check_pointers(
    creation: dict[str, Any], request: dict[str, Any]
) -> Iterator[problems.FieldError]:
    """Yield the errors of the pointers in `create.required` and `create.optional`."""
    members = {*find_members(request)}
    required = creation.get("required", ())
    for name in ("required", "optional"):
        for index, pointer in enumerate(creation.get(name, ())):
            shown = problems.shorten(pointer)
            path = tuple(parse_pointer(pointer))
            if path not in members or validation.format_pointer(*path) != pointer:
                detail = (
                    f"{shown!r} is not a pointer to a member of the example, such as /name: it "
                    "begins with a slash, and has no array on its way"
                )
                yield validation.make_error(detail, "create", name, index)
            elif name == "optional" and pointer in required:
                yield validation.make_error(f"{shown} is in `required`", "create", name, index)


def find_members(request: dict[str, Any]) -> Iterator[json_values.Path]:
    """Yield the paths of the members of a request: `("data",)`, `("data", "name")`.

    Paths through arrays are left out.
    """
    for path, _ in json_values.walk(request):
        if path and all(isinstance(name, str) for name in path):
            yield path
