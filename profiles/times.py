"""Formats times like an example, such as `2026-01-05 09:00:00+0000`."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from web import times


class TimeFormat(NamedTuple):
    """A format of times: `TimeFormat("T", 3, "Z")` writes `2026-01-05T09:00:00.000Z`.

    `digits` are those of a second. `offset` is as in the example, or "" for no offset.
    """

    separator: str = "T"
    digits: int = 3
    offset: str = "Z"

    @lru_cache(maxsize=1024)  # noqa: B019  # The few formats are never freed.
    def format_time(self, moment: datetime) -> str:
        if self.offset:
            return times.format_time(moment, self.digits, self.offset, self.separator)
        return times.format_time(moment, self.digits, "Z", self.separator).removesuffix("Z")

    @property
    def is_rfc3339(self) -> bool:
        has_colon = len(self.offset) in (1, 6)
        return self.separator != " " and has_colon

    @property
    def pattern(self) -> str:
        """The pattern of the times. They may lack zeros at the end, or have another offset."""
        fraction = rf"\.\d{{1,{self.digits}}}" if self.digits else ""
        colon = ":" if ":" in self.offset else ""
        offset = {"": "", "Z": "[Zz]", "z": "[Zz]"}.get(self.offset, rf"[+-]\d\d{colon}\d\d")
        return rf"\d{{4}}-\d\d-\d\d{self.separator}\d\d:\d\d:\d\d{fraction}{offset}"


def parse_time_format(example: str) -> TimeFormat | None:
    """Parse the example of a time; return None for another text."""
    pattern = r"(\d{4}-\d\d-\d\d)([Tt ])(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:?\d\d)?"
    match = re.fullmatch(pattern, example, re.ASCII)
    if match is None:
        return None
    date, separator, time, fraction, offset = match.groups(default="")
    zone = offset or "Z"
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    if times.parse_time(f"{date}T{time}{zone}") is None:
        return None
    return TimeFormat(separator, len(fraction), offset)


def count_milliseconds(moment: datetime) -> int:
    """Return the milliseconds since 1970."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (moment - epoch) // timedelta(milliseconds=1)
