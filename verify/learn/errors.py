"""Describes the errors of a service as a profile has them."""

import re
from typing import Any

from werkzeug.http import HTTP_STATUS_CODES

from profiles import markers
from traffic import json_values

from ..seen import inspection
from ..seen.guesses import is_code, is_for_people
from ..seen.kinds import NAME_PREFIX

DETAIL = "{error.detail}"


def mark_error(path: json_values.Path, value: Any, status: int, *, is_same: bool) -> Any:
    """Return the value or the marker for a place in an error: `{error.detail}` for varying prose.

    Prose stays if it is the same for two requests, or if it has no number but the status.
    """
    if not isinstance(value, str) or not value:
        return value
    if value == HTTP_STATUS_CODES.get(status):
        return "{error.title}"
    if NAME_PREFIX in value:  # It is about another request.
        return DETAIL
    if is_same or not is_prose(inspection.get_key(path), value):
        return value
    return DETAIL if has_number(value, status) else value


def is_prose(name: str, text: str) -> bool:
    """Return whether a text is for people: `No such id.`, and `Unknown!` in a member `message`."""
    if re.search(r"\s", text):
        return True
    return is_for_people(name) and not re.fullmatch("[A-Za-z0-9]+([_.:/-][A-Za-z0-9]+)*", text)


def has_number(text: str, status: int) -> bool:
    """Return whether a text has a number that is not the status, and in no marker."""
    literals = "".join(list_literals(text)).replace(str(status), "")
    return re.search("[0-9]", literals) is not None


def list_literals(text: str) -> list[str]:
    """List the pieces of a text between its markers: `["a ", " b"]` for `a {error.code} b`."""
    return [piece for piece in markers.split_markers(text) if isinstance(piece, str)]


def find_common_form(forms: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Find the form for errors that were not seen, from at least two errors with all its members.

    It is the smallest form, with markers for varying values: `{"body": {"code": "{error.code}"}}`.
    """
    statuses = [form["status"] for form in forms]
    bodies = [form["body"] for form in forms]
    if len(set(statuses)) < 2:
        return None
    common = min(bodies, key=lambda body: len(inspection.list_leaves(body)))
    members = find_types(common)
    if not members or not all(members.items() <= find_types(body).items() for body in bodies):
        return None
    for path in members:
        values = [inspection.find_value(body, path) for body in bodies]
        common = json_values.replace_value(common, path, find_common_value(values, statuses))
    found = {"body": common}
    content_types = [form.get("content_type") for form in forms]
    if content_types[0] and inspection.are_same(content_types):
        found["content_type"] = content_types[0]
    return found


def find_types(body: Any) -> dict[json_values.Path, type]:
    """Find the types of the values in a body: `{("code",): str}`."""
    return {path: type(value) for path, value in inspection.list_leaves(body)}


def find_common_value(values: list[Any], statuses: list[int]) -> Any:
    """Find the common value, or the marker, for a place in errors: `{error.code}`."""
    first = values[0]
    if values == statuses:
        return "{error.status}"
    if values == [str(status) for status in statuses]:
        return "{error.status:text}"
    if inspection.are_same(values):
        return first
    if type(first) is int:
        return "{error.status}"
    if not isinstance(first, str):
        return first
    if all(map(is_code, values)):
        return "{error.code}"
    if DETAIL in values or any(re.search(r"\s", str(value)) for value in values):
        return DETAIL
    return first  # It is an id, such as that of a trace.
