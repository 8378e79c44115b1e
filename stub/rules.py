"""The rules of JSON that a client sends: checks, each of which yields all errors of a value."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from typing import Any

from records import Stage, Timeline, round_to_microseconds
from web.problems import NOT_AN_OBJECT, FieldError
from web.validation import pointer, under, unknown_members

NO_SUCH_PROJECT = "must be the id of a project that exists"

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:[0-5]\d)", re.ASCII | re.IGNORECASE
)

Check = Callable[[Any], Iterable[FieldError]]


def rule(is_valid: Callable[[Any], object], detail: str) -> Check:
    """A check of a whole value; `detail` is what it must be."""
    return lambda value: () if is_valid(value) else (FieldError("", detail),)


def text(pattern: str, detail: str) -> Check:
    compiled = re.compile(pattern, re.DOTALL)
    return rule(lambda value: isinstance(value, str) and compiled.fullmatch(value), detail)


def integer(least: int, most: int) -> Check:
    detail = f"must be an integer from {least} to {most}"
    # 2.0 is one, as for JSON Schema.
    return rule(lambda value: is_number(value, least, most) and value == int(value), detail)


def seconds(most: float) -> Check:
    detail = f"must be a number of seconds from 0 to {most:,.0f}"
    return rule(lambda value: is_number(value, 0, most), detail)


def is_number(value: Any, least: float, most: float) -> bool:
    """Whether a JSON value is a number (a boolean is none) in this range, ends included."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and least <= value <= most


def or_null(check: Check) -> Check:
    return lambda value: () if value is None else check(value)


def check_members(
    document: dict[str, Any], checks: Mapping[str, Check], required: Collection[str] = ()
) -> Iterator[FieldError]:
    """The errors of the members that have a check."""
    for name, check in checks.items():
        if name in document:
            yield from under((name,), check(document[name]))
        elif name in required:
            yield FieldError(pointer(name), "is required")


def check_object(
    document: Any, checks: Mapping[str, Check], required: Collection[str] = ()
) -> Iterator[FieldError]:
    """The errors of an object that has no members but those with a check."""
    if not isinstance(document, dict):
        yield NOT_AN_OBJECT
        return
    yield from unknown_members(document, checks)
    yield from check_members(document, checks, required)


def check_array(items: Any, check: Check) -> Iterator[FieldError]:
    """The errors of an array, and of its items."""
    if not isinstance(items, list):
        yield FieldError("", "must be an array")
        return
    for index, item in enumerate(items):
        yield from under((index,), check(item))


def matches(pattern: str, text: str) -> bool:
    """Whether the text is the pattern itself, or the shell pattern matches it."""
    return pattern == text or fnmatchcase(text, pattern)


def parse_time(value: object) -> datetime | None:
    """The time, UTC, of RFC 3339, or None."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    second, fraction, offset = match.groups(default="")
    leap = timedelta(seconds=second.endswith(":60"))
    second = re.sub(":60$", ":59", second)
    offset = "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.fromisoformat(f"{second}.{fraction[:3]:0<3}{offset}")
        return moment.astimezone(timezone.utc) + leap
    except (ValueError, OverflowError):
        return None


# `.` and `..` are taken out of a path before a request is sent (RFC 3986 §5.2.4). U+FFFD stands for
# what is not UTF-8 in a path.
ID = text(
    "(?!\\.{1,2}\\Z)[^\x00-\x1f\x7f-\x9f\ufffd]{1,255}",
    "must be a string of 1 to 255 characters, none a control or U+FFFD, other than . and ..",
)
STATUS = text("[a-z0-9_-]{1,64}", "must be a string of 1 to 64 of a-z 0-9 _ -")
TIME = rule(parse_time, "must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")
# The store checks that it exists.
PROJECT = rule(lambda value: isinstance(value, str | None), NO_SUCH_PROJECT)

STAGE = {
    "status": STATUS,
    "seconds": rule(
        lambda value: is_number(value, 0, float("inf")), "must be a number of seconds, 0 or more"
    ),
}
LAST_STAGE = STAGE | {
    "seconds": rule(lambda _: False, "must be left out: the last stage has no end")
}


def check_timeline(stages: Any) -> Iterator[FieldError]:
    if not isinstance(stages, list) or not stages:
        yield FieldError("", "must be an array of at least one stage")
        return
    *running, last = stages
    yield from check_array(running, lambda stage: check_object(stage, STAGE, STAGE))
    yield from under((len(running),), check_object(last, LAST_STAGE, ("status",)))


def check_deployment(
    document: Any, checks: Mapping[str, Check], required: tuple[str, ...] = ()
) -> Iterator[FieldError]:
    """The errors of a deployment; `checks` are those of its members but `status` and `timeline`."""
    checks = {**checks, "status": STATUS, "timeline": check_timeline}
    yield from check_object(document, checks, required)
    if isinstance(document, dict) and ("status" in document) == ("timeline" in document):
        yield FieldError("", "must have either `status` or `timeline`")


def read_timeline(document: dict[str, Any]) -> Timeline:
    """The timeline of a document without errors; a lone `status` is pinned."""
    *stages, last = document.get("timeline", [document])
    running = (Stage(each["status"], round_to_microseconds(each["seconds"])) for each in stages)
    return (*running, Stage(last["status"]))
