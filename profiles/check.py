"""Finds the errors of a profile: first by its schema, then those that a schema cannot express."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
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


def check_profile(profile: Any, max_errors: int = 100) -> list[problems.FieldError]:
    """Return the first errors by the schema of a profile, or else the first further errors."""
    found = list(islice(schemas.find_errors(profile, load_schemas()["profile"]), max_errors))
    if found:
        return [error._replace(detail=GONE.get(error.pointer, error.detail)) for error in found]
    return list(islice(check_parts(profile), max_errors))


def check_parts(
    profile: dict[str, Any], max_error: int = 64 * 1024
) -> Iterator[problems.FieldError]:
    """Yield the errors that a schema cannot express.

    The body of an error has at most `max_error` bytes, since the contract repeats it often.
    """
    parts: dict[str, Any] = defaultdict(dict, profile)
    statuses = find_statuses(profile)
    yield from check_statuses(profile, statuses)
    bodies = Bodies(statuses, has_record="record" in profile)
    if "record" in profile:
        yield from bodies.check(profile["record"], ("record",), markers.RECORD_MARKERS)
    if "list" in profile:
        yield from bodies.check_list(profile["list"])
    creation = parts["create"]
    yield from bodies.check_form(creation, ("create",), markers.RECORD_MARKERS | {"record"})
    request = creation.get("request", markers.DEFAULT_REQUEST)
    yield from check_request(request)
    yield from check_pointers(creation, request)
    yield from bodies.check_form(
        parts["deployment"], ("deployment",), markers.RECORD_MARKERS | {"record"}
    )
    errors = parts["errors"]
    for code, form in errors.items():
        yield from bodies.check_form(form, ("errors", code), markers.ERROR_MARKERS)
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
    profile: dict[str, Any], statuses: Statuses, max_statuses: int = 100
) -> Iterator[problems.FieldError]:
    """Yield the errors of the statuses of a profile, or of its first choice."""
    place: json_values.Path = ("statuses",)
    if "statuses" in profile:
        for index, status in enumerate(statuses.others):
            if status in statuses.run:
                yield validation.make_error("is in `run` already", *place, "others", index)
    else:
        place, _ = find_first_choice(profile)
        for status in statuses.run:
            for error in schemas.find_errors(status, load_schemas()["status"]):
                yield validation.make_error(
                    f"{problems.shorten(status)}, a status of a choice, {error.detail}", *place
                )
    if len(statuses.all) > max_statuses:
        yield validation.make_error(f"must have at most {max_statuses} statuses", *place)


class Bodies:
    """A check of bodies whose choices have these statuses."""

    def __init__(self, statuses: Statuses, *, has_record: bool) -> None:
        self.statuses = statuses
        self.known = frozenset(statuses.all)
        self.has_record = has_record
        self.projects: json_values.Path | None = None  # the path of the array of projects
        self.skipped: set[json_values.Path] = set()  # the paths of further arrays of projects

    def check_form(
        self, form: dict[str, Any], path: json_values.Path, allowed: set[str]
    ) -> Iterator[problems.FieldError]:
        for name, value in form.get("headers", {}).items():
            yield from self.check_text(value, (*path, "headers", name), allowed - {"record"})
        if "body" in form:
            yield from self.check(form["body"], (*path, "body"), allowed)

    def check_list(self, form: dict[str, Any]) -> Iterator[problems.FieldError]:
        path = ("list", "body")
        arrays = [(*path, *place) for place in markers.find_project_arrays(form["body"])]
        if arrays:
            self.projects = arrays[0]
            self.skipped = set(arrays[1:])
        else:
            detail = "must have an array with one item, in which markers of a project stand"
            yield validation.make_error(f"{detail}, such as {markers.NAME}", *path)
        for other in arrays[1:]:
            yield validation.make_error(
                "is a second array of projects: there is one beside it", *other
            )
        yield from self.check_form(form, ("list",), markers.LIST_MARKERS)

    def check(
        self, value: Any, path: json_values.Path, allowed: set[str], *, is_member: bool = False
    ) -> Iterator[problems.FieldError]:
        """Yield the errors of a value in a body. A choice may leave a member out."""
        if isinstance(value, str):
            yield from self.check_text(value, path, allowed)
        elif isinstance(value, list):
            yield from self.check_items(value, path, allowed)
        elif markers.is_choice(value):
            yield from self.check_choice(value, path, allowed, is_member=is_member)
        elif isinstance(value, dict):
            for name, item in value.items():
                inner = (*path, name)
                if markers.find_markers(name):
                    yield validation.make_error("no marker can stand in a name", *inner)
                if isinstance(item, str | list | dict):
                    yield from self.check(item, inner, allowed, is_member=True)

    def check_items(
        self, items: list[Any], path: json_values.Path, allowed: set[str]
    ) -> Iterator[problems.FieldError]:
        if path in self.skipped:
            return
        if path == self.projects:
            allowed = markers.RECORD_MARKERS | markers.LIST_MARKERS | {"record"}
            if len(items) != 1:
                yield validation.make_error("must have one item, the form of each project", *path)
        for index, item in enumerate(items):
            if isinstance(item, str | list | dict):
                yield from self.check(item, (*path, index), allowed)

    def check_choice(
        self, value: dict[str, Any], path: json_values.Path, allowed: set[str], *, is_member: bool
    ) -> Iterator[problems.FieldError]:
        words = value[markers.CHOICE]
        place = (*path, markers.CHOICE)
        if "deployment.status" not in allowed:
            yield validation.make_error("no choice by the status can stand here", *place)
        elif len(value) > 1:
            yield validation.make_error("must be alone in its object, as it is a choice", *place)
        elif not isinstance(words, dict):
            yield validation.make_error(
                'must be an object: a value for each word, and for ""', *place
            )
        else:
            if not is_member and "" not in words and not words.keys() >= self.known:
                detail = 'needs a value for "", which is each other word: only a member can be'
                yield validation.make_error(f"{detail} left out", *place)
            for status, item in words.items():
                if status and status not in self.known:
                    detail = f"is no status: there are {show_statuses(self.statuses.all)}"
                    yield validation.make_error(detail, *place, status)
                yield from self.check(item, (*place, status), allowed, is_member=is_member)

    def check_text(
        self, text: str, path: json_values.Path, allowed: set[str]
    ) -> Iterator[problems.FieldError]:
        for marker in markers.find_markers(text):
            detail = self.describe_error(marker, text, allowed)
            if detail:
                yield validation.make_error(detail, *path)
        found = re.search(r"\{(?:project|deployment)\.[a-z_]{1,20}:\{", text)
        if found:
            detail = "no brace follows a colon: braces stand around the marker"
            yield validation.make_error(f"{problems.shorten(found[0])}: {detail}", *path)

    def describe_error(self, marker: markers.Marker, text: str, allowed: set[str]) -> str | None:
        """Return the error of a marker in a text, or None."""
        if marker.name not in markers.ALL:
            return f"{problems.shorten(marker)} is no marker: {list_markers(allowed)}"
        if marker.name not in allowed:
            return f"{problems.shorten(marker)} cannot stand here: {list_markers(allowed)}"
        if marker.name == "record" and text != markers.RECORD:
            return "{record} stands alone, for a value"
        if marker.name == "record" and not self.has_record:
            return "{record} needs the member `record` of the profile"
        if marker.name == "deployment.status" and self.statuses == Statuses():
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
    if len([*markers.walk_markers(request)]) == len(places):
        return
    for place, value in json_values.walk(request):
        texts = value if isinstance(value, dict) else [value]
        for text in texts:
            if isinstance(text, str) and markers.find_markers(text) and place not in places:
                at = (*place, text) if isinstance(value, dict) else place
                detail = (
                    f"must have no marker: only {markers.NAME} stands in a request, once and alone"
                )
                yield validation.make_error(detail, *path, *at)


def check_pointers(
    creation: dict[str, Any], request: dict[str, Any]
) -> Iterator[problems.FieldError]:
    """Yield the errors of the pointers in `create.required` and `create.optional`."""
    members = [*find_members(request)]
    required = creation.get("required", ())
    for name in ("required", "optional"):
        for index, text in enumerate(creation.get(name, ())):
            if (
                tuple(parse_pointer(text)) not in members
                or validation.format_pointer(*parse_pointer(text)) != text
            ):
                detail = (
                    f"{problems.shorten(text)!r} is no pointer of a member of the example, such as "
                    "/name: it begins with a slash, and has no array on its way"
                )
                yield validation.make_error(detail, "create", name, index)
            elif name == "optional" and text in required:
                yield validation.make_error(
                    f"{problems.shorten(text)} is in `required`", "create", name, index
                )


def find_members(request: dict[str, Any]) -> Iterator[json_values.Path]:
    """Yield the paths of the members of a request: `("data",)`, `("data", "name")`.

    Paths through arrays are left out.
    """
    for path, _ in json_values.walk(request):
        if path and all(isinstance(name, str) for name in path):
            yield path
