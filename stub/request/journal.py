"""The journal: the newest requests of a world and their responses."""

import re
from collections import deque
from collections.abc import Collection
from threading import Lock
from typing import Any

from werkzeug.datastructures import MultiDict

from web.patterns import matches
from web.problems import Problem

from .entry import Entry

NUMBERS = ("after", "before", "limit")
FILTERS = {
    # A fault may have any of these statuses. A filter that never matches would hide a mistake.
    "status": ("0|[2-5]([0-9]{2}|xx)", "0, 200 to 599, or a class such as 4xx"),
    "method": ("[A-Z]{1,20}", "a method, such as POST"),
    "path": ("(?s:.{1,256})", "a shell pattern of 1 to 256 characters, such as /v1/*"),
    **dict.fromkeys(NUMBERS, ("[0-9]{1,15}", "1 to 15 digits")),
}
"""The patterns of the values of filters, and their descriptions."""


class Journal:
    """The newest entries of a world, with their numbers from 1 on.

    `last` is the number of the last request, even if the journal no longer has it.
    """

    def __init__(self, most: int = 1000) -> None:
        self.last = 0
        self._lock = Lock()
        self._entries: deque[tuple[int, Entry]] = deque(maxlen=most)

    @property
    def first(self) -> int:
        """The number of the oldest entry; `last + 1` if the journal is empty."""
        return self.last - len(self._entries) + 1

    def append(self, entry: Entry, max_sentences: int = 100) -> int:
        """Add an entry, with at most `max_sentences` findings of a kind, and return its number."""
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
        """Return the JSON of the matching entries, oldest first: `{"requests": […], "last": 27}`.

        They are the first `limit` entries after the number `after`. With `before`, they are the
        last entries before this number.
        """
        with self._lock:
            numbered = list(self._entries)
            last = self.last
        if before is not None:
            numbered = [each for each in reversed(numbered) if each[0] < before]
        found: list[dict[str, Any]] = []
        for number, entry in numbered:
            if len(found) == limit:
                break
            exchange = entry.exchange
            if number <= after or operation not in (None, entry.operation_id):
                continue
            if status not in ("", str(exchange.status), f"{exchange.status // 100}xx"):
                continue
            if method not in ("", exchange.method):
                continue
            if path and not matches(path, entry.redactor.mask(exchange.path)):
                continue
            found.append(entry.document(number))
        if before is not None:
            found.reverse()
        return {"requests": found, "last": last}

    def clear(self) -> None:
        """Remove the entries. The numbers continue."""
        with self._lock:
            self._entries.clear()


def read_filters(query: MultiDict[str, str], operations: Collection[str]) -> dict[str, Any]:
    """Read the arguments of `Journal.document` in a query, such as `status=4xx&limit=10`.

    Raises a `Problem` for an unknown parameter or value.
    """
    known = {"operation": ("|".join(operations), " or ".join(operations)), **FILTERS}
    filters: dict[str, Any] = {}
    for name, value in query.items(multi=True):
        if name not in known or name in filters:
            detail = f"Send only the query parameters {', '.join(known)}, and none of them twice."
            raise Problem(400, "unknown_query", detail)
        pattern, description = known[name]
        if not re.fullmatch(pattern, value):
            raise Problem(
                400, "unknown_query", f"The query parameter {name} must be {description}."
            )
        filters[name] = int(value) if name in NUMBERS else value
    return filters
