"""The errors of a service, as a profile has them."""

import re
from typing import Any

from .exchange import Exchange
from .probes import NAME_PREFIX
from .run import Run
from .values import Path, at, is_same, replaced, scalars

CODE = re.compile("[a-z_.:-]+|[A-Z_.:-]+")
"""A text that says a reason to programs, not to people; one with digits may be an id."""


def rejections(run: Run) -> dict[str, list[Exchange]]:
    """The responses to what a service should reject and did, by the code of the error.

    Of several probes of one code, those of the first one that was rejected.
    """
    found: dict[str, list[Exchange]] = {}
    for exchange in run.exchanges:
        probe = exchange.probe
        if not probe.code or exchange.failure or not 400 <= exchange.status < 500:
            continue
        others = found.setdefault(probe.code, [])
        if not others or others[0].probe.name == probe.name:
            others.append(exchange)
    return found


def without_echo(value: Any, sent: str) -> Any:
    """The body of an error, in which no text repeats what was sent, or a name of verify's own."""
    if isinstance(value, dict):
        return {name: without_echo(each, sent) for name, each in value.items()}
    if isinstance(value, list):
        return [without_echo(each, sent) for each in value]
    is_echo = isinstance(value, str) and (NAME_PREFIX in value or sent in value.split())
    return "{error.detail}" if is_echo else value


def common_form(forms: list[dict[str, Any]], volatile: set[Path]) -> dict[str, Any] | None:
    """The form of an error that was not seen: the one that all errors have, None if they differ.

    Markers stand for what is another one in each of them, but for what is `volatile` in one alone.
    """
    if len({form["status"] for form in forms}) < 2:
        return None
    bodies = [each["body"] for each in forms]
    shapes = [[(path, type(value)) for path, value in scalars(body)] for body in bodies]
    if any(shape != shapes[0] for shape in shapes):
        return None
    body = bodies[0]
    for path, _ in shapes[0]:
        if path in volatile:
            continue
        values = [at(each, path) for each in bodies]
        body = replaced(body, path, common_value(values, [each["status"] for each in forms]))
    types = {each.get("content_type") for each in forms}
    content_type = types.pop() if len(types) == 1 else None
    return {"body": body, "content_type": content_type} if content_type else {"body": body}


def common_value(values: list[Any], statuses: list[int]) -> Any:
    """What stands for the values that errors have in one place."""
    first = values[0]
    if all(is_same(value, status) for value, status in zip(values, statuses, strict=True)):
        return "{error.status}"
    if all(is_same(value, first) for value in values) or not isinstance(first, str):
        return first
    if all(CODE.fullmatch(each) for each in values):
        return "{error.code}"
    return "{error.detail}" if any(" " in each for each in values) else first
