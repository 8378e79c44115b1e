"""The journal: the newest requests of a world and their responses."""

import re
from collections import deque
from collections.abc import Callable, Collection
from itertools import islice
from threading import Lock, RLock
from typing import Any

from werkzeug.datastructures import MultiDict

from web.problems import Problem

from .entry import Entry

MAX_ENTRIES = 1000

# The pattern of each filter's value, and its description.
NUMBERS = dict.fromkeys(("after", "before", "limit"), ("[0-9]{1,15}", "1 to 15 digits"))
FILTERS = {
    # A request to /v1 gets no other status: a value that matches nothing would hide a mistake.
    "status": ("0|20[0-2]|[45][0-9][0-9]|[245]xx", "0, 200 to 202, 400 to 599, 2xx, 4xx or 5xx"),
    **NUMBERS,
    "q": ("(?s:.{1,256})", "a text of 1 to 256 characters"),
}


class Journal:
    """The newest entries of a world, numbered from 1 on.

    `count_entry` adds an entry to the coverage: when the coverage is read, or before the entry is
    forgotten.
    """

    def __init__(
        self,
        memory: "JournalMemory",
        count_entry: Callable[[int, Entry], None],
        most: int = MAX_ENTRIES,
    ) -> None:
        self.lock = RLock()
        self.entries: deque[tuple[int, Entry]] = deque()  # each with its number
        self.size = 0  # bytes that the entries keep
        self.dropped = 0  # entries, to make room
        self.last = 0
        """The highest number of an entry, dropped or cleared ones included."""
        self._counted = 0  # the highest number of an entry that was counted
        self._has_ended = False
        self._memory = memory
        self._count_entry = count_entry
        self._most = most

    def append(self, entry: Entry) -> int:
        """Keep an entry and return its number."""
        with self.lock:
            self.last += 1
            number = self.last
            self.entries.append((number, entry))
            self.size += entry.size
            if len(self.entries) > self._most:
                self.drop()
            if self._has_ended:
                self.count()
        self._memory.add(entry.size)
        return number

    def count(self) -> None:
        """Count the entries that are not counted yet."""
        with self.lock:
            first = self.last - len(self.entries) + 1
            for number, entry in islice(self.entries, max(0, self._counted + 1 - first), None):
                self._count_entry(number, entry)
            self._counted = self.last

    def end(self) -> None:
        """Count all entries, and the last ones as they come: the world was removed."""
        with self.lock:
            self._has_ended = True
            self.count()

    def drop(self) -> int:
        """Drop the oldest entry, if any; return the bytes that it kept."""
        with self.lock:
            if not self.entries:
                return 0
            number, entry = self.entries.popleft()
            if number > self._counted:
                self._count_entry(number, entry)
            self.size -= entry.size
            self.dropped += 1
            return entry.size

    def snapshot(self) -> list[tuple[int, Entry]]:
        with self.lock:
            return list(self.entries)

    def document(
        self,
        operation: str | None = None,
        status: str = "",
        q: str = "",
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """The first `limit` matching entries after number `after`, oldest first; with `before`, the
        last ones before that number.

        With them, the highest number that there is, and how many entries were dropped to make room.
        """
        words = q.casefold().split()
        with self.lock:
            numbered = list(self.entries)
            last = self.last
            dropped = self.dropped
        if before is not None:
            numbered = [each for each in reversed(numbered) if each[0] < before]
        matching = (
            (number, entry)
            for number, entry in numbered
            if number > after
            and operation in (None, entry.operation_id)
            and status in ("", str(entry.status), f"{entry.status // 100}xx")
            and (not words or entry.has(words))
        )
        return {
            "requests": [entry.document(n) for n, entry in sorted(islice(matching, limit))],
            "last": last,
            "dropped": dropped,
        }

    def clear(self) -> None:
        """Forget the entries; the numbers go on."""
        with self.lock:
            self.count()
            self.entries.clear()
            self.size = self.dropped = 0


class JournalMemory:
    """The memory that the entries of all journals may take. `most` is in bytes."""

    def __init__(self, most: int, journals: Callable[[], list[Journal]]) -> None:
        self._most = most
        self._journals = journals
        self._lock = Lock()
        self._kept = 0  # bytes, with the entries of removed worlds until the next drop

    def add(self, size: int) -> None:
        """Count the bytes that an entry keeps. Where all keep too much, drop the oldest entries,
        and a sixteenth more than needed, so that this is rare.
        """
        with self._lock:
            self._kept += size
            if self._kept > self._most:
                self._kept = self._drop_down_to(self._most * 15 // 16)

    def _drop_down_to(self, most: int) -> int:
        """Drop the oldest entries of all journals; return the bytes that are kept then."""
        journals = self._journals()
        kept = sum(journal.size for journal in journals)
        by_age = sorted(
            (entry.started, index)
            for index, journal in enumerate(journals)
            for _, entry in journal.snapshot()
        )
        for _, index in by_age:
            if kept <= most:
                break
            kept -= journals[index].drop()
        return kept


def read_filters(query: MultiDict[str, str], operations: Collection[str]) -> dict[str, Any]:
    """The arguments of `Journal.document` in a query. Raises a `Problem` for any other query."""
    known = {"operation": ("|".join(operations), " or ".join(operations)), **FILTERS}
    filters: dict[str, Any] = {}
    for name, value in query.items(multi=True):
        if name not in known or name in filters:
            detail = f"Send no filters but {', '.join(known)}, each once."
            raise Problem(400, "unknown_query", detail)
        pattern, description = known[name]
        if not re.fullmatch(pattern, value):
            raise Problem(400, "unknown_query", f"The filter {name} must be {description}.")
        filters[name] = int(value) if name in NUMBERS else value
    return filters
