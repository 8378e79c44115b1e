"""The journal: what was asked and answered, bounded, and without a token in any part of it."""

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote

from flask import Request
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_path_info

from store import timestamp

from .contract import Clean, Operation, find_unpromised, find_violations

MAX_ENTRIES = 1000
MAX_TARGET = 2048  # bytes of the path, and of the query
MAX_HEADERS = 8192
MAX_BODY = 4096
MAX_SENTENCE = 160
MAX_SENTENCES = 100  # of an entry; the coverage counts all of them
MAX_TRIED = 8
MAX_TRIED_LENGTH = 600  # characters, of all together
MIN_TRIED_LENGTH = 3  # to look for less would leave nothing of an entry
MARGIN = 16 * 1024  # characters that are looked at beyond those that are shown
MAX_PLAIN = 1000
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SCHEMES = frozenset({"", "bearer", "basic", "digest", "token"})
_SECRET_FIELD = re.compile(
    "authorization|(?:^|-)auth(?:-|$)|bearer|token|api-?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)
_NAMES = ("bearer", "token", "auth", "secret", "password", "jwt", "key")
# `token=…`, `"api_key": "…"`, `Authorization: Bearer …`. No two parts of it match the same text
# twice over: it is linear in whatever is sent.
_PASSED = re.compile(
    r"""
    (?: (?: (?:bearer|access_token["'\\]*) [\s=:+"'\\(,]
          | (?:token|auth|authorization|secret|password|jwt|api[_-]?key) ["'\\\s\[\]]* [=:/]
        ) [\s=:+"'\\/\[{(]*
        (?: (?:bearer|basic|digest|token) [\s=:+"'\\]+ )*
    )+
    ( [^&\s"'\\,;{}\[\]]{3,} )
    """,
    re.IGNORECASE | re.VERBOSE,
)

Redact = Callable[[str, Iterable[str]], str]
"""Takes out of a text each valid token, and each of those that were tried."""


class Asked(NamedTuple):
    """A request, without a token, each part cut to its size, and what it leans on or breaks."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: str
    unpromised: tuple[str, ...]
    violations: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fields:
    """What header fields there are, but for Authorization: key in an environment and name.

    `read` gives method, path and query, and the values of those told.
    """

    told: tuple[tuple[str, str], ...]
    secret: tuple[tuple[str, str], ...]
    read: Callable[[dict[str, Any]], tuple[str, ...]]


class Entry(NamedTuple):
    """A request and its answer. `ms` is milliseconds, `time` that of the world, UTC."""

    time: datetime
    asked: Asked
    status: int
    code: str | None
    operation: str | None
    fault: str | None
    ms: float
    grease: tuple[str, ...]

    def document(self, number: int) -> dict[str, Any]:
        *request, unpromised, violations = self.asked
        return {
            "number": number,
            "time": timestamp(self.time),
            **dict(zip(Asked._fields, request, strict=False)),
            "status": self.status,
            "code": self.code,
            "operation": self.operation,
            "fault": self.fault,
            "ms": round(self.ms, 3),
            "unpromised": unpromised,
            "violations": violations,
            "grease": self.grease,
        }


class Journal:
    """The newest entries of a world, numbered from 1 on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._number = 0
        self._dropped = 0

    def append(self, entry: Entry) -> int:
        """Keep an entry and give its number."""
        asked = entry.asked
        if len(asked.unpromised) > MAX_SENTENCES:
            kept = asked._replace(unpromised=asked.unpromised[:MAX_SENTENCES])
            entry = entry._replace(asked=kept)
        with self._lock:
            self._number += 1
            self._dropped += len(self._entries) == MAX_ENTRIES
            self._entries.append(entry)
            return self._number

    def documents(
        self, operation: str | None = None, status: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The entries kept, oldest first, and how many were dropped to make room."""
        with self._lock:
            entries, dropped = list(self._entries), self._dropped
            first = self._number - len(entries) + 1
        return [
            entry.document(number)
            for number, entry in enumerate(entries, first)
            if operation in (None, entry.operation) and status in (None, entry.status)
        ], dropped

    def clear(self) -> None:
        """Forget the entries; the numbers run on."""
        with self._lock:
            self._entries.clear()
            self._dropped = 0


class Describer:
    """Tells what was asked; tokens are taken out of each part before it is cut to its size."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        # A client sends the same again and again: here is what there is nothing to redact in.
        self._plain: dict[tuple[Any, ...], Asked] = {}
        self._plain_fields: dict[tuple[Any, ...], dict[str, str]] = {}

    def describe(self, request: Request, operation: Operation | None, is_let_in: bool) -> Asked:
        environ: dict[str, Any] = request.environ
        fields = header_fields(tuple(environ))
        said = fields.read(environ)
        body = text_of_body(request) if "CONTENT_LENGTH" in environ else ""
        is_usual = is_let_in and not fields.secret
        known = self._plain.get((fields, said)) if is_usual and not body else None
        if known is not None:
            return known
        method, _, query, *values = said
        path = get_path_info(environ)  # not request.path, of which Werkzeug drops leading slashes
        rest = f"{method}&{path}&{query}&{body}"
        clean: Clean = unchanged
        sent = (fields, *values)
        headers = self._plain_fields.get(sent) if is_usual else None
        if headers is None or not self._is_plain(rest, MAX_TARGET):
            clean = self._cleaner(tried_in(environ, fields, is_let_in, [rest, *values]))
            headers = headers_of(environ, fields, clean)
            as_sent = headers_of(environ, fields, unchanged)
            text = "&".join([*as_sent, *as_sent.values()])
            if is_usual and self._is_plain(text, MAX_HEADERS):
                keep(self._plain_fields, sent, as_sent)
        if method not in METHODS:  # those are our own words, whatever was tried
            method = clean(method, MAX_TARGET)
        path = clean(path, MAX_TARGET)
        leaned_on: tuple[str, ...] = ()
        broken: tuple[str, ...] = ()
        if query or body or method == "HEAD":
            leaned_on = told(find_unpromised(operation, request, body, clean))
        if operation is None or not is_let_in:
            broken = told(find_violations(operation, request, f"{method} {path}"))
        asked = Asked(
            method,
            path,
            clean(query, MAX_TARGET),
            headers,
            clean(body, MAX_BODY),
            leaned_on,
            broken,
        )
        if clean is unchanged and not body:
            keep(self._plain, (fields, said), asked)
        return asked

    def _is_plain(self, text: str, size: int) -> bool:
        """Whether there is nothing to redact, and nothing to cut in UTF-8 either."""
        return len(text) <= size // 4 and not tried_tokens(text) and self._redact(text, ()) == text

    def _cleaner(self, tried: set[str]) -> Clean:
        if len(tried) > MAX_TRIED or sum(map(len, tried)) > MAX_TRIED_LENGTH:
            # To look for so much would cost more than what is told is worth.
            return lambda text, size: "***" if text else text

        def clean(text: str, size: int) -> str:
            seen = self._redact(text[: size + MARGIN], tried)
            if len(text) > size + MARGIN:
                seen = seen[:-MARGIN]  # which may end within a token
            return cut(seen, size)

        return clean


def keep(known: dict[tuple[Any, ...], Any], key: tuple[Any, ...], value: Any) -> None:
    """Remember a value, or begin anew where there are too many."""
    if len(known) >= MAX_PLAIN:
        known.clear()
    known[key] = value


def tried_in(
    environ: dict[str, Any], fields: Fields, is_let_in: bool, texts: Iterable[str]
) -> set[str]:
    """All that a request tries as a token."""
    secrets = {key: environ[key] for key, _ in fields.secret}
    if not is_let_in:
        secrets["HTTP_AUTHORIZATION"] = environ.get("HTTP_AUTHORIZATION", "")
    # What looks like a cookie's token is one: the rest of it is nobody's secret.
    tried = tried_tokens("&".join([*texts, secrets.pop("HTTP_COOKIE", "")]))
    return tried.union(*map(tried_words, secrets.values()))


def headers_of(environ: dict[str, Any], fields: Fields, clean: Clean) -> dict[str, str]:
    """The header fields, as many as `MAX_HEADERS` bytes hold."""
    headers = [(name, environ[key]) for key, name in fields.told]
    headers += [(name, "***") for _, name in fields.secret]
    if authorization := environ.get("HTTP_AUTHORIZATION"):
        is_bearer = authorization[:7].lower() == "bearer "
        headers.insert(0, ("Authorization", "Bearer ***" if is_bearer else "***"))
    room = MAX_HEADERS
    kept = {}
    for name, value in headers:
        name = clean(name, room)
        kept[name] = clean(value, room - len(name))
        room -= len(name) + len(kept[name])
        if room <= 0:
            break
    return kept


def unchanged(text: str, size: int) -> str:
    """A text in which there is nothing to clean."""
    return text


def text_of_body(request: Request) -> str:
    """The body as text; without zeros, so that a token in UTF-16 is found, too."""
    try:
        return request.get_data().decode(errors="replace").replace("\0", "")
    except ClientDisconnected:
        return ""


def tried_tokens(text: str) -> set[str]:
    """What a text passes as a token, in a way of RFC 6750 §2 or much like one, however spelled."""
    if "%" in text or "\\" in text:
        text = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), text)
        text = unquote(unquote(text))
    lower = text.lower()
    for name in _NAMES:
        if name in lower:
            break
    else:
        return set()
    found = new = {*_PASSED.findall(text)}
    while new and sum(map(len, found)) <= MAX_TRIED_LENGTH:  # one may be within another
        new = {inner for value in new for inner in _PASSED.findall(value)} - found
        found = found | new
    return {value for value in found if value != "***" and value.lower() not in SCHEMES}


def tried_words(header: str) -> set[str]:
    """What an Authorization header, or one like it, tries as a token, in whatever form."""
    as_utf_8 = header.encode("latin-1", "replace").decode(errors="replace")
    text = f"{header} {unquote(header)} {as_utf_8}"
    words = {*text.split(), *re.split(r"""[\s,;:="']+""", text), *re.split(r"[^\w.~+/-]+", text)}
    words |= {re.sub(r"^bearer[^A-Za-z0-9]*", "", word, flags=re.IGNORECASE) for word in words}
    words |= {word.rpartition(".")[0] for word in words}  # without the name of a world
    return {word for word in words if len(word) >= MIN_TRIED_LENGTH and word.lower() not in SCHEMES}


@lru_cache(maxsize=1024)
def header_fields(environ: tuple[str, ...]) -> Fields:
    """What header fields there are among the keys of a WSGI environment."""
    names = {
        key: key.removeprefix("HTTP_").replace("_", "-").title()
        for key in environ
        if (key.startswith("HTTP_") and key != "HTTP_AUTHORIZATION")
        or key in ("CONTENT_TYPE", "CONTENT_LENGTH")
    }
    secret = {key for key, name in names.items() if _SECRET_FIELD.search(name)}
    told = tuple((key, name) for key, name in names.items() if key not in secret)
    read = itemgetter("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", *(key for key, _ in told))
    return Fields(told, tuple((key, names[key]) for key in names if key in secret), read)


def told(sentences: Iterable[str]) -> tuple[str, ...]:
    """Sentences that name what a client sent: short, and on one line."""
    return tuple(
        [
            cut("".join(char if char.isprintable() else "?" for char in each), MAX_SENTENCE)
            for each in sentences
        ]
    )


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    if len(text) <= size // 4:
        return text
    return text.encode(errors="replace")[: max(0, size)].decode(errors="ignore")
