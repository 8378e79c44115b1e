"""The journal: the requests and their responses, bounded, with secrets masked."""

import re
from collections import deque
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from flask import Request
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_path_info

from redaction import Redactor
from store import timestamp

MAX_ENTRIES = 1000
MAX_TARGET = 2048  # bytes of the path, and of the query
MAX_HEADERS = 8192  # bytes of all names and values
MAX_BODY = 4096  # bytes
MAX_SENTENCE = 160  # bytes
MAX_SENTENCES = 100  # of an entry; the coverage counts all
# Controls, formatting and lone surrogates; `str.isprintable` differs between versions of Python.
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
MARGIN = 16 * 1024  # characters searched for tokens beyond those that are kept


class MaskedRequest(NamedTuple):
    """A request, with secrets masked and each part cut to its size."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: str


class Entry(NamedTuple):
    """A request and its response. `time` is that of the world, UTC; `ms` is milliseconds."""

    time: datetime
    request: MaskedRequest
    status: int
    code: str | None
    operation: str | None
    fault: str | None
    ms: float
    unpromised: tuple[str, ...]
    violations: tuple[str, ...]
    grease: tuple[str, ...]

    def document(self, number: int) -> dict[str, Any]:
        time, request, *_ = self
        members = {**request._asdict(), **self._asdict(), "ms": round(self.ms, 3)}
        del members["time"], members["request"]
        return {"number": number, "time": timestamp(time), **members}


class Journal:
    """The newest entries of a world, numbered from 1 on."""

    def __init__(self) -> None:
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
            entry.document(number)
            for number, entry in enumerate(entries, last - len(entries) + 1)
            if number > after
            and operation in (None, entry.operation)
            and status in (None, entry.status)
        )
        return {"requests": [*islice(matching, limit)], "last": last, "dropped": dropped}

    def newest(self, after: int, limit: int) -> tuple[list[tuple[int, Entry]], int, int]:
        """The newest `limit` entries after number `after`, oldest first, each with its number.

        With them, the number of the oldest entry that there is, and the highest number.
        """
        with self._lock:
            entries, last = list(self._entries), self._number
        first = last - len(entries) + 1
        start = max(first, after + 1, last - limit + 1)
        return [*enumerate(entries[start - first :], start)], first, last

    def clear(self) -> None:
        """Forget the entries; the numbers go on."""
        with self._lock:
            self._entries.clear()
            self._dropped = 0


def mask_request(request: Request, body: str, redactor: Redactor) -> MaskedRequest:
    """The request as it is kept: secrets are masked before a part is cut to its size."""
    environ = request.environ
    method, query = environ["REQUEST_METHOD"], redactor.query(environ["QUERY_STRING"])
    path = get_path_info(environ)  # request.path has lost its leading slashes
    headers = {name: environ[key] for key, name in header_names(tuple(environ))}
    for name in headers:
        headers[name] = redactor.secret(name, headers[name])
    whole = "\n".join([method, path, query, body, *headers, *headers.values()])
    if len(whole) <= MAX_TARGET // 4 and redactor.is_clean(whole):
        return MaskedRequest(method, path, query, headers, body)

    def mask(text: str, size: int) -> str:
        """Mask tokens, but not at the very end, where a token may be cut in two."""
        seen = redactor.text(text[: size + MARGIN])
        return cut(seen if len(text) <= size + MARGIN else seen[:-MARGIN], size)

    room = MAX_HEADERS
    masked = {}
    for name, value in headers.items():
        name = mask(name, room)
        masked[name] = mask(value, room - len(name))
        room -= len(name) + len(masked[name])
        if room <= 0:
            break
    return MaskedRequest(
        mask(method, MAX_TARGET),
        mask(path, MAX_TARGET),
        mask(query, MAX_TARGET),
        masked,
        mask(body, MAX_BODY),
    )


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


def printable(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    if len(text) <= size // 4:
        return text
    return text.encode(errors="replace")[: max(0, size)].decode(errors="ignore")
