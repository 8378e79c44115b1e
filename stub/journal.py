"""The journal: what was asked and answered, bounded, and without a token in any part of it."""

import re
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote

from flask import Request
from werkzeug.exceptions import ClientDisconnected

from store import timestamp

from .contract import Operation, find_unpromised, find_violations

MAX_ENTRIES = 1000
MAX_TARGET = 2048  # bytes of the path, and of the query
MAX_HEADERS = 8192
MAX_BODY = 4096
MAX_SENTENCE = 160
MAX_SENTENCES = 20
MAX_TRIED = 8
MAX_TRIED_LENGTH = 256
HEADER_KEYS = frozenset({"HTTP_", "CONTE"})  # CONTENT_TYPE and CONTENT_LENGTH, too
_PASSED = re.compile(r"""access_token["\\]*\s*[=:]\s*["\\]*([^&\s"\\]+)""")


class Entry(NamedTuple):
    """A request and its answer. `ms` is milliseconds, `time` that of the world, UTC."""

    time: datetime
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: str
    status: int
    code: str | None
    operation: str | None
    fault: str | None
    ms: float
    unpromised: list[str]
    violations: list[str]
    grease: tuple[str, ...]

    def document(self, number: int) -> dict[str, Any]:
        return {"number": number, **self._asdict(), "time": timestamp(self.time)}


class Journal:
    """The newest entries of a world, numbered from 1 on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: deque[tuple[int, Entry]] = deque(maxlen=MAX_ENTRIES)
        self._number = 0
        self._dropped = 0

    def append(self, entry: Entry) -> int:
        """Keep an entry and give its number."""
        with self._lock:
            self._number += 1
            self._dropped += len(self._entries) == MAX_ENTRIES
            self._entries.append((self._number, entry))
            return self._number

    def documents(
        self, operation: str | None = None, status: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The entries kept, oldest first, and how many were dropped to make room."""
        with self._lock:
            entries, dropped = list(self._entries), self._dropped
        return [
            entry.document(number)
            for number, entry in entries
            if operation in (None, entry.operation) and status in (None, entry.status)
        ], dropped

    def clear(self) -> None:
        """Forget the entries; the numbers run on."""
        with self._lock:
            self._entries.clear()
            self._dropped = 0


def describe(
    request: Request,
    *,
    is_let_in: bool,
    time: datetime,
    status: int,
    code: str | None,
    operation: Operation | None,
    fault: str | None,
    ms: float,
    grease: tuple[str, ...],
    redact: Callable[[str, Iterable[str]], str],
) -> Entry:
    """The entry of a request: tokens are taken out of each part before it is cut to its size."""
    environ: dict[str, Any] = request.environ
    body = ""
    if environ.get("CONTENT_LENGTH", "0") not in ("", "0"):
        with suppress(ClientDisconnected):
            body = request.get_data().decode(errors="replace")
    query = environ["QUERY_STRING"]
    authorization = "" if is_let_in else environ.get("HTTP_AUTHORIZATION", "")
    tried = tried_tokens(authorization, query, body)
    if len(tried) > MAX_TRIED or any(len(token) > MAX_TRIED_LENGTH for token in tried):
        # To look for so much would cost more than what is told is worth.
        tried, redact = [], hide
    headers = {field_name(key): environ[key] for key in environ if key[:5] in HEADER_KEYS}
    if is_let_in:
        headers["Authorization"] = "Bearer ***"
    elif "Authorization" in headers:
        is_bearer = headers["Authorization"][:7].lower() == "bearer "
        headers["Authorization"] = "Bearer ***" if is_bearer else "***"
    # One look at the whole tells of nearly every request that it is short and holds no token.
    whole = "\n".join([request.method, request.path, query, body, *headers, *headers.values()])
    is_plain = len(whole) <= MAX_TARGET // 4 and redact(whole, tried) == whole

    def clean(text: str, size: int) -> str:
        return text if is_plain else cut(redact(text, tried), size)

    return Entry(
        time=time,
        method=clean(request.method, MAX_TARGET),
        path=clean(request.path, MAX_TARGET),
        query=clean(query, MAX_TARGET),
        headers=headers if is_plain else fit(headers, clean),
        body=clean(body, MAX_BODY),
        status=status,
        code=code,
        operation=operation.id if operation else None,
        fault=fault,
        ms=round(ms, 3),
        unpromised=[
            told(redact(what, tried))
            for what in find_unpromised(operation, request, body)[:MAX_SENTENCES]
        ],
        violations=[
            told(redact(what, tried)) for what in find_violations(operation, request, is_let_in)
        ],
        grease=grease,
    )


def hide(text: str, tried: Iterable[str]) -> str:
    """Nothing of a text."""
    return "***" if text else text


def tried_tokens(authorization: str, *texts: str) -> list[str]:
    """What a request tried as a token, in any of the three ways of RFC 6750 §2, longest first."""
    tried = set()
    if authorization:
        scheme, *rest = re.split(r"[\s,]+", authorization)
        tried = {word for word in rest or [scheme] if word.lower() != "bearer"}
    for text in texts:
        if "access_token" in text:
            tried |= {unquote(value) for value in _PASSED.findall(text)}
    return sorted(tried - {""}, key=len, reverse=True)


@lru_cache(maxsize=1024)
def field_name(key: str) -> str:
    """The name of a header field from its key in the WSGI environment."""
    return key.removeprefix("HTTP_").replace("_", "-").title()


def fit(headers: dict[str, str], clean: Callable[[str, int], str]) -> dict[str, str]:
    """As many of the headers as `MAX_HEADERS` bytes hold."""
    room = MAX_HEADERS
    kept = {}
    for name, value in headers.items():
        name = clean(name, room)
        kept[name] = clean(value, room - len(name))
        room -= len(name) + len(kept[name])
    return kept


def told(what: str) -> str:
    """A sentence that names what a client sent: short, and on one line."""
    return cut("".join(char if char.isprintable() else "?" for char in what), MAX_SENTENCE)


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    if len(text) <= size // 4:
        return text
    return text.encode(errors="replace")[: max(0, size)].decode(errors="ignore")
