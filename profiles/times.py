"""The times of a service, which are written like an example."""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from web.times import format_time, parse_time

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
MILLISECOND = timedelta(milliseconds=1)

_EXAMPLE = re.compile(
    r"(\d{4}-\d\d-\d\d)([Tt ])(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


class TimeForm(NamedTuple):
    """How a service writes times, of a precision of milliseconds."""

    separator: str = "T"
    digits: int = 3
    offset: str = "Z"  # as it is written, "" for none

    @lru_cache(maxsize=1024)  # noqa: B019  # a few forms, which are not freed
    def spell(self, moment: datetime) -> str:
        if self.offset:
            return format_time(moment, self.digits, self.offset, self.separator)
        return format_time(moment, self.digits, "Z", self.separator).removesuffix("Z")

    @property
    def is_of_rfc3339(self) -> bool:
        has_colon = len(self.offset) in (1, 6)
        return self.separator != " " and has_colon

    @property
    def pattern(self) -> str:
        """A pattern of such times. Zeros at the end may be left out; an offset may be another."""
        fraction = rf"\.\d{{1,{self.digits}}}" if self.digits else ""
        colon = ":" if ":" in self.offset else ""
        offset = {"": "", "Z": "[Zz]", "z": "[Zz]"}.get(self.offset, rf"[+-]\d\d{colon}\d\d")
        return rf"\d{{4}}-\d\d-\d\d{self.separator}\d\d:\d\d:\d\d{fraction}{offset}"


OURS = TimeForm()


def parse_time_form(example: str) -> TimeForm | None:
    """The form of a time, None for a text that is none."""
    match = _EXAMPLE.fullmatch(example)
    if match is None:
        return None
    date, separator, time, fraction, offset = match.groups(default="")
    zone = offset or "Z"
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    if parse_time(f"{date}T{time}{zone}") is None:
        return None
    return TimeForm(separator, len(fraction), offset)


def count_milliseconds(moment: datetime) -> int:
    """Since 1970."""
    return (moment - EPOCH) // MILLISECOND
