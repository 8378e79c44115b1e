"""Times as texts (RFC 3339)."""

import re
from datetime import UTC, datetime, tzinfo
from functools import cache

from records import truncate_to_milliseconds

TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:[0-5]\d)", re.ASCII | re.IGNORECASE
)


def parse_time(value: object) -> datetime | None:
    """The time, UTC, of RFC 3339, or None; none has a leap second."""
    match = TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[0].upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return truncate_to_milliseconds(moment)


@cache
def zone_of(offset: str) -> tzinfo | None:
    """The time zone of `Z`, or of an offset such as `+01:00`, in any case."""
    return datetime.strptime(offset.upper(), "%z").tzinfo


def spell_time(moment: datetime, digits: int, offset: str, separator: str) -> str:
    """A millisecond, given in UTC, with so many digits of a second (RFC 3339 §5.6).

    A time that would be before the year 1 or after 9999 is in UTC.
    """
    try:
        at = moment.astimezone(zone_of(offset))
    except OverflowError:
        at = moment
        offset = "+00:00"
    second = at.isoformat(separator)[:19]
    milliseconds = f"{at.microsecond // 1000:03}"
    fraction = milliseconds.ljust(digits, "0")[:digits]
    if fraction:
        second = f"{second}.{fraction}"
    return second + offset
