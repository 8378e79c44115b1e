"""The errors of a service, as a profile has them."""

import re
from typing import Any

from .checks import NAME_PREFIX
from .exchange import Exchange
from .run import Run
from .values import Path, are_same, at, replaced, scalars, with_scalars, without_markers

CODE = re.compile("[a-z_.:-]+|[A-Z_.:-]+")
"""A text that says a reason to programs, not to people; one with digits may be an id."""


def rejections(run: Run) -> dict[str, list[Exchange]]:
    """The responses to what a service should reject and did, by the code of the error.

    Of several checks of one code, those of the first one that was rejected.
    """
    found: dict[str, list[Exchange]] = {}
    for exchange in run.exchanges:
        check = exchange.check
        is_rejected = not exchange.failure and 400 <= exchange.status < 500
        if check.code and is_rejected:
            same_code = found.setdefault(check.code, [])
            if not same_code or same_code[0].name == check.name:
                same_code.append(exchange)
    return found


def without_echo(exchange: Exchange) -> Any:
    """The body of an error, in which no text repeats what was sent, or a name of verify's own."""
    sent = exchange.deployment_id

    def replace_echo(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        is_echo = NAME_PREFIX in value or sent in value.split()
        return "{error.detail}" if is_echo else without_markers(value)

    return with_scalars(exchange.json, replace_echo)


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
        values = [at(body, path) for body in bodies]
        common = replaced(common, path, common_value(values, statuses))
    found = {"body": common}
    content_types = [form.get("content_type") for form in forms]
    if content_types[0] and are_same(content_types):
        found["content_type"] = content_types[0]
    return found


def types_in(body: Any) -> dict[Path, type]:
    return {path: type(value) for path, value in scalars(body)}


def common_value(values: list[Any], statuses: list[int]) -> Any:
    """What stands for the values that errors have in one place."""
    first = values[0]
    if are_same([values, statuses]):
        return "{error.status}"
    if are_same(values) or not isinstance(first, str):
        return first
    if all(CODE.fullmatch(text) for text in values):
        return "{error.code}"
    if any(" " in text for text in values):
        return "{error.detail}"
    return first
