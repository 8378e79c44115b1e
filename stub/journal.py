"""The journal: the requests and their responses, bounded. Readers get them with secrets masked."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from flask import Request
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_path_info

from records import timestamp
from web.access_log import MAX_REASON, REJECTED, reasons
from web.redaction import Redactor, cut, printable

from .clock import WorldClock
from .contract import Operation, find_unpromised, find_violations
from .outcome import Outcome

MAX_ENTRIES = 1000
MAX_TARGET = 2048  # bytes of the method, of the path, and of the query
MAX_HEADERS = 8192  # bytes of all names and values
MAX_BODY_TEXT = 4096  # bytes
MAX_SENTENCE = 160  # bytes
MAX_SENTENCES = 100  # of an entry; the coverage counts all
MARGIN = 16 * 1024  # characters searched for tokens beyond those that are shown


class Entry(NamedTuple):
    """A request and its response. `time` is that of the world, UTC; `ms` is milliseconds.

    The journal stores what was received, and masks it when it is read; of a long body no more than
    is searched for tokens.
    """

    time: datetime
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: str
    status: int
    code: str | None
    reason: str | None
    operation: str | None
    fault: str | None
    ms: float
    unpromised: tuple[str, ...]
    violations: tuple[str, ...]
    grease: tuple[str, ...]

    def masked(self, redactor: Redactor) -> "Entry":
        """The entry as readers get it: secrets are masked, and each part is cut to its size."""
        room = MAX_HEADERS
        headers = {}
        for field, value in self.headers.items():
            name = mask(field, room, redactor)
            value = mask(redactor.secret(field, value), room - len(name), redactor)
            headers[name] = value
            room -= len(name) + len(value)
            if room <= 0:
                break
        return self._replace(
            method=mask(self.method, MAX_TARGET, redactor),
            path=mask(self.path, MAX_TARGET, redactor),
            query=mask(redactor.query(self.query), MAX_TARGET, redactor),
            headers=headers,
            body=mask(self.body, MAX_BODY_TEXT, redactor),
        )

    def document(self, number: int) -> dict[str, Any]:
        members = {**self._asdict(), "time": timestamp(self.time), "ms": round(self.ms, 3)}
        return {"number": number, **members}


class Journal:
    """The newest entries of a world, numbered from 1 on.

    Secrets are masked when entries are read, since most entries are never read.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lock = Lock()
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._number = 0
        self._dropped = 0

    def append(self, entry: Entry) -> int:
        """Keep an entry and return its number."""
        if len(entry.unpromised) > MAX_SENTENCES:
            entry = entry._replace(unpromised=entry.unpromised[:MAX_SENTENCES])
        with self._lock:
            self._number += 1
            self._dropped += len(self._entries) == MAX_ENTRIES
            self._entries.append(entry)
            return self._number

    def document(
        self,
        operation: str | None = None,
        status: int | None = None,
        after: int = 0,
        limit: int = MAX_ENTRIES,
    ) -> dict[str, Any]:
        """The first `limit` matching entries after number `after`, oldest first.

        With them, the highest number that there is, and how many entries were dropped to make room.
        """
        with self._lock:
            entries, dropped, last = list(self._entries), self._dropped, self._number
        matching = (
            entry.masked(self._redactor).document(number)
            for number, entry in enumerate(entries, last - len(entries) + 1)
            if number > after
            and operation in (None, entry.operation)
            and status in (None, entry.status)
        )
        return {"requests": [*islice(matching, limit)], "last": last, "dropped": dropped}

    def newest(self, after: int, limit: int) -> tuple[Iterator[tuple[int, Entry]], int, int]:
        """The newest `limit` entries after number `after`, oldest first, each with its number.

        With them, the number of the oldest entry that there is, and the highest number.
        """
        with self._lock:
            entries, last = list(self._entries), self._number
        first = last - len(entries) + 1
        start = max(first, after + 1, last - limit + 1)
        # A generator, so that World.recorded() masks nothing under its lock.
        masked = (entry.masked(self._redactor) for entry in entries[start - first :])
        return enumerate(masked, start), first, last

    def clear(self) -> None:
        """Forget the entries; the numbers go on."""
        with self._lock:
            self._entries.clear()
            self._dropped = 0


def mask(text: str, size: int, redactor: Redactor) -> str:
    """The text with tokens masked, cut to `size` bytes.

    The search goes `MARGIN` characters further, as the end of the text may cut a token in two.
    """
    seen = redactor.text(text[: size + MARGIN])
    return cut(seen if len(text) <= size + MARGIN else seen[:-MARGIN], size)


def describe(
    request: Request,
    context: Mapping[str, Any],
    outcome: Outcome,
    status: int,
    axes: tuple[str, ...],
    clock: WorldClock,
    ms: float,
    redactor: Redactor,
) -> Entry:
    """The entry of a request, whose `flask.g` is `context`, and of its response."""
    environ = request.environ
    operation, fault = outcome.operation, outcome.fault
    body = body_text(request)
    problem = context.get("problem")
    reason = None
    if problem and status in REJECTED:
        reason = cut(printable(redactor.text(reasons(problem)[0])), MAX_REASON)
    unpromised, violations = findings(request, context, operation, body, redactor)
    time, is_frozen = clock.reading()
    return Entry(
        time=time,
        method=environ["REQUEST_METHOD"],
        path=get_path_info(environ),  # request.path has lost its leading slashes
        query=environ["QUERY_STRING"],
        headers=header_fields(environ),
        body=body[: MAX_BODY_TEXT + MARGIN + 1],  # one more shows mask() that it is cut
        status=status,
        code=problem["code"] if problem else None,
        reason=reason,
        operation=operation.id if operation else None,
        fault=fault.id if fault else None,
        ms=0 if is_frozen else ms,
        unpromised=unpromised,
        violations=violations,
        grease=axes,
    )


def findings(
    request: Request,
    context: Mapping[str, Any],
    operation: Operation | None,
    body: str,
    redactor: Redactor,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a request depends on without a promise, and what it violates."""

    def mask_name(name: str) -> str:
        return cut(redactor.text(name), MAX_SENTENCE)

    environ = request.environ
    is_accepted = "world_name" in context  # by the bearer check
    unpromised: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    if operation and is_accepted and sends_more(environ, context, operation, body):
        unpromised = sentences(find_unpromised(operation, request, body, mask_name))
    if operation is None or not is_accepted:
        header = None if is_accepted else request.headers.get("Authorization", "")
        method, path = environ["REQUEST_METHOD"], get_path_info(environ)
        target = f"{mask_name(method)} {mask_name(path)}"
        violations = sentences(find_violations(operation, header, target))
    return unpromised, violations


def sends_more(
    environ: dict[str, str], context: Mapping[str, Any], operation: Operation, body: str
) -> bool:
    """Whether a request may have more than the contract promises: few have."""
    document = context.get("document")
    known = document is not None and document.keys() <= operation.members
    return bool(environ["QUERY_STRING"] or (body and not known))


def header_fields(environ: dict[str, str]) -> dict[str, str]:
    """The header fields of a request, by name."""
    return {name: environ[key] for key, name in header_names(tuple(environ))}


@lru_cache(maxsize=256)
def header_names(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The header fields among the keys of a WSGI environment: key and name.

    Cached, as a client sends the same fields again and again.
    """
    return tuple(
        (key, key.removeprefix("HTTP_").replace("_", "-").title())
        for key in keys
        if key.startswith("HTTP_") or key in ("CONTENT_TYPE", "CONTENT_LENGTH")
    )


def body_text(request: Request) -> str:
    """The body as text; without zeros, so that a token in UTF-16 is found, too."""
    if "CONTENT_LENGTH" not in request.environ:
        return ""
    try:
        return request.get_data().decode(errors="replace").replace("\0", "")
    except ClientDisconnected:
        return ""


def sentences(found: Iterable[str]) -> tuple[str, ...]:
    """Sentences that name what a client sent: short, and on one line."""
    return tuple(cut(printable(each), MAX_SENTENCE) for each in found)
