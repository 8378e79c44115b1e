"""The errors of a service, as a profile has them."""

import re
from typing import Any

from werkzeug.http import HTTP_STATUS_CODES

from profiles.markers import find_markers, split_markers
from traffic.json_values import Path, replace_value

from .guesses import is_for_people
from .kinds import NAME_PREFIX
from .values import are_same, find_value, get_key, is_number, list_leaves

DETAIL = "{error.detail}"
CODE = re.compile("[A-Za-z_.:/-]{1,64}|[A-Z]{0,8}[-_]?[0-9]{1,6}")
"""A text that says a reason to programs: one with other digits may be an id."""
MAX_CODE = 10_000  # a number that is larger may be that of one request
IDENTIFIER = re.compile("[A-Za-z0-9]+([_.:/-][A-Za-z0-9]+)*")


def mark_error(path: Path, value: Any, status: int, *, is_same: bool) -> Any:
    """Return what stands for a value in an error: `{error.detail}` for prose that varies.

    A text that is the same for two requests stays, and a single one that has no number.
    """
    if not isinstance(value, str) or not value:
        return value
    if value == HTTP_STATUS_CODES.get(status):
        return "{error.title}"
    has_number = re.search("[0-9]", "".join(literals(value))) is not None
    if NAME_PREFIX in value:  # of another request
        return DETAIL
    is_kept = is_same or not has_number
    return DETAIL if is_prose(path, value) and not is_kept else value


def literals(text: str) -> list[str]:
    """The pieces of a text between its markers."""
    return [piece for piece in split_markers(text) if isinstance(piece, str)]


def is_prose(path: Path, text: str) -> bool:
    """Whether a text is for people: it has spaces, or stands in a member for such."""
    if re.search(r"\s", text):
        return True
    return is_for_people(get_key(path)) and not IDENTIFIER.fullmatch(text)


def common_form(forms: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The form of an error that was not seen: what all errors have, None if they differ.

    It is that of the smallest one; others may have more. Markers stand for what is another one in
    each of them.
    """
    statuses = [form["status"] for form in forms]
    bodies = [form["body"] for form in forms]
    if len(set(statuses)) < 2:
        return None
    shapes = [types_in(body) for body in bodies]
    shape = min(shapes, key=len)
    are_larger = all(shape.items() <= each.items() for each in shapes)
    if not shape or not are_larger:
        return None
    common = bodies[shapes.index(shape)]
    for path in shape:
        values = [find_value(body, path) for body in bodies]
        common = replace_value(common, path, common_value(values, statuses))
    found = {"body": common}
    content_types = [form.get("content_type") for form in forms]
    if content_types[0] and are_same(content_types):
        found["content_type"] = content_types[0]
    return found


def types_in(body: Any) -> dict[Path, type]:
    return {path: type(value) for path, value in list_leaves(body)}


def common_value(values: list[Any], statuses: list[int]) -> Any:
    """What stands for the values that errors have in one place."""
    first = values[0]
    if values == statuses:
        return "{error.status}"
    if values == [str(status) for status in statuses]:
        return "{error.status:text}"
    if are_same(values):
        return first
    if type(first) is int:
        return "{error.status}"
    if not isinstance(first, str):
        return first
    if DETAIL in values or not all(map(is_code, values)):
        return DETAIL
    return "{error.code}"


def is_code(value: Any) -> bool:
    """Whether a constant in an error is one that programs read: not a text for people."""
    if isinstance(value, str):
        return CODE.fullmatch(value) is not None and not find_markers(value)
    return isinstance(value, bool) or (is_number(value) and abs(value) < MAX_CODE)
