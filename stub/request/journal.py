"""The journal: the newest requests of a world and their responses."""

import re
from collections import deque
from collections.abc import Collection
from itertools import islice
from threading import Lock
from typing import Any

from werkzeug.datastructures import MultiDict

from web.patterns import matches
from web.problems import Problem

from .entry import Entry

MAX_ENTRIES = 1000

# The pattern of each filter's value, and its description.
NUMBERS = dict.fromkeys(("after", "before", "limit"), ("[0-9]{1,15}", "1 to 15 digits"))
FILTERS = {
    # A request to /v1 gets no other status: a value that matches nothing would hide a mistake.
    "status": ("0|20[0-2]|[45][0-9][0-9]|[245]xx", "0, 200 to 202, 400 to 599, 2xx, 4xx or 5xx"),
    "method": ("[A-Z]{1,20}", "a method, such as POST"),
    "path": ("(?s:.{1,256})", "a shell pattern of 1 to 256 characters, such as /v1/*"),
    **NUMBERS,
}


class Journal:
    """The newest entries of a world, numbered from 1 on."""

    def __init__(self, most: int = MAX_ENTRIES) -> None:
        self.last = 0
        """The highest number of an entry, also of one that is no longer kept."""
        self._lock = Lock()
        self._entries: deque[tuple[int, Entry]] = deque(maxlen=most)  # each with its number

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept; one more than `last` if there is none."""
        return self.last - len(self._entries) + 1

    def append(self, entry: Entry, max_sentences: int = 100) -> int:
        """Keep an entry, with the first sentences of each kind, and return its number."""
        if max(len(entry.unpromised), len(entry.violations)) > max_sentences:
            unpromised = entry.unpromised[:max_sentences]
            violations = entry.violations[:max_sentences]
            entry = entry._replace(unpromised=unpromised, violations=violations)
        with self._lock:
            self.last += 1
            self._entries.append((self.last, entry))
            return self.last

    def document(
        self,
        operation: str | None = None,
        status: str = "",
        method: str = "",
        path: str = "",
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """The first `limit` matching entries after number `after`, oldest first; with `before`, the
        last ones before that number.

        With them, the highest number that there is.
        """
        with self._lock:
            numbered = list(self._entries)
            last = self.last
        if before is not None:
            numbered = [each for each in reversed(numbered) if each[0] < before]
        matching = (
            (number, entry)
            for number, entry in numbered
            if number > after
            and operation in (None, entry.operation_id)
            and status in ("", str(entry.exchange.status), f"{entry.exchange.status // 100}xx")
            and method in ("", entry.exchange.method)
            and (not path or matches(path, entry.redactor.mask(entry.exchange.path)))
        )
        return {
            "requests": [entry.document(n) for n, entry in sorted(islice(matching, limit))],
            "last": last,
        }

    def clear(self) -> None:
        """Forget the entries; the numbers go on."""
        with self._lock:
            self._entries.clear()


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
