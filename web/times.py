"""Parses and formats times (RFC 3339): `2026-01-05T09:00:00.000Z`."""

import re
from datetime import UTC, datetime, tzinfo
from functools import cache

from records import truncate_to_milliseconds

TIME = r"(?ai)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:[0-5]\d)"


def parse_time(value: object) -> datetime | None:
    """Parse a time: return it in UTC, truncated to milliseconds, or None for another value.

    A leap second, such as `2016-12-31T23:59:60Z`, is the last microsecond of its minute.
    """
    if not isinstance(value, str):
        return None
    match = re.fullmatch(TIME, value)
    if match is None:
        return None
    text = match[0].upper()
    is_leap_second = match[1].endswith(":60")
    if is_leap_second:
        text = f"{match[1][:-2]}59.999999{match[3]}".upper()
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if is_leap_second and (moment.hour, moment.minute) != (23, 59):
        return None
    return truncate_to_milliseconds(moment)


@cache
def parse_offset(offset: str) -> tzinfo | None:
    """Return the time zone of an offset: `Z`, `z`, `+01:00`."""
    return datetime.strptime(offset.upper(), "%z").tzinfo


def format_time(moment: datetime, digits: int, offset: str, separator: str) -> str:
    """Format a time in UTC with this offset and this number of digits of a second (RFC 3339 §5.6).

    A time that would be before the year 1 or after 9999 keeps the offset `+00:00`.
    """
    try:
        at = moment.astimezone(parse_offset(offset))
    except OverflowError:
        at = moment
        offset = "+00:00"
    second = at.isoformat(separator)[:19]
    milliseconds = f"{at.microsecond // 1000:03}"
    fraction = milliseconds.ljust(digits, "0")[:digits]
    if fraction:
        second = f"{second}.{fraction}"
    return second + offset
