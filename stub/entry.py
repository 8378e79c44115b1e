"""An entry of the journal: a request and its response."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import chain
from sys import getsizeof
from typing import Any, NamedTuple

from flask import Request, Response
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wsgi import get_path_info

from records import timestamp
from web.access_log import MAX_REASON, MAX_TARGET, REJECTED, reasons
from web.redaction import Redactor, cut, printable

from .clock import WorldClock
from .contract import Operation, find_unpromised, find_violations, object_in
from .faults import Fault
from .outcome import Outcome

MAX_HEADERS = 8192  # bytes of all names and values
MAX_BODY_TEXT = 4096  # bytes
MAX_SENTENCE = 160  # bytes
ENTRY_SIZE = 1500  # bytes of memory without its texts
MARGIN = 16 * 1024  # characters searched for tokens beyond those that are shown

OTHER_FIELDS = ("CONTENT_TYPE", "CONTENT_LENGTH")  # whose keys do not begin with HTTP_
STATUS_WORD = re.compile("[0-9]{1,3}|[0-9]xx")
LABELS = ("name", "id", "project_id", "latest_deployment_id")


class Entry(NamedTuple):
    """A request and its response: secrets are masked, and each part is cut to its size.

    `time` is that of the world, UTC; `ms` is milliseconds.
    """

    time: datetime
    ms: float
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
    unpromised: tuple[str, ...]
    violations: tuple[str, ...]
    grease: tuple[str, ...]
    response: dict[str, Any]

    @property
    def size(self) -> int:
        """The bytes of memory that the entry takes, about."""
        texts = (self.method, self.path, self.query, self.body, self.response["body"])
        headers = (self.headers, self.response["headers"])
        fields = (text for each in headers for field in each.items() for text in field)
        found = self.unpromised + self.violations
        return ENTRY_SIZE + sum(map(getsizeof, chain(texts, found, fields)))

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    def document(self, number: int) -> dict[str, Any]:
        times = {"time": timestamp(self.time), "ms": round(self.ms, 3)}
        return {"number": number, **self._asdict(), **times}

    def has(self, words: Collection[str]) -> bool:
        """Whether all these words, which are case-folded, are in the entry.

        `4xx`, and up to three digits, are the beginning of a status. Another word may be in the
        method, in the path with the query, in the code, or in a name or an id of a body.
        """
        statuses = {word for word in words if STATUS_WORD.fullmatch(word)}
        texts = {*words} - statuses
        if not all(str(self.status).startswith(word.rstrip("x")) for word in statuses):
            return False
        return not texts or all(map(self._searched().__contains__, texts))

    def _searched(self) -> str:
        """What words may be in, on lines of their own."""
        labels = [*labels_of(self.body), *labels_of(self.response["body"])]
        return "\n".join([self.method, self.target, self.code or "", *labels]).casefold()


def request_name(world: str, number: int) -> str:
    """Where the journal has a request: `job-5 #27`, or `#27` in the main world."""
    return f"{world} #{number}".lstrip()


def mask(text: str, size: int, redactor: Redactor) -> str:
    """The text with tokens masked, cut to `size` bytes.

    The search goes `MARGIN` characters further, as the end of the text may cut a token in two.
    """
    kept = text[: size + MARGIN]
    masked = redactor.text(kept)
    if len(kept) < len(text):
        masked = masked[: len(masked) - len(redactor.text(kept[-MARGIN:]))]
    return cut(masked, size)


def mask_body(body: bytes, redactor: Redactor) -> str:
    return mask(text_of(body, MAX_BODY_TEXT + MARGIN + 1), MAX_BODY_TEXT, redactor)


def mask_fields(fields: Iterable[tuple[str, str]], redactor: Redactor) -> dict[str, str]:
    """Header fields with secrets masked, cut to the size of all; those of one name are joined."""
    shown: dict[str, str] = {}
    for name, value in fields:
        value = redactor.secret(name, value)
        shown[name] = f"{shown[name]}, {value}" if name in shown else value
    text = "\n".join([*shown, *shown.values()])
    if len(text) <= MAX_HEADERS and text.isascii() and redactor.text(text) == text:
        return shown  # as most are: one search for tokens in place of one for each name and value
    masked: dict[str, str] = {}
    room = MAX_HEADERS
    for field, value in shown.items():
        name = mask(field, room, redactor)
        room -= len(name.encode())
        masked[name] = mask(value, room, redactor)
        room -= len(masked[name].encode())
        if room <= 0:
            break
    return masked


@lru_cache(maxsize=256)
def field_name(key: str) -> str:
    """The name of a header field whose key in the WSGI environment this is."""
    return key.removeprefix("HTTP_").replace("_", "-").title()


def text_of(body: bytes, size: int | None = None) -> str:
    """A body as text, at least `size` characters of it; without zeros, so that a token in UTF-16
    is found, too.
    """
    return body.replace(b"\0", b"")[: size and 4 * size].decode(errors="replace")


def labels_of(body: str) -> list[str]:
    """The name and the ids in a body that is a JSON object."""
    document = object_in(body)
    return [label for name in LABELS if isinstance(label := document.get(name), str)]


def describe(
    request: Request,
    response: Response,
    context: Mapping[str, Any],
    outcome: Outcome,
    axes: tuple[str, ...],
    clock: WorldClock,
    ms: float,
    redactor: Redactor,
) -> Entry:
    """The entry of a request, whose `flask.g` is `context`, and of its response."""
    environ = request.environ
    operation, fault, status = outcome.operation, outcome.fault, response.status_code
    problem = context.get("problem")
    reason = None
    if problem and status in REJECTED:
        reason = cut(printable(redactor.text(reasons(problem)[0])), MAX_REASON)
    body = body_of(request) if "CONTENT_LENGTH" in environ else b""
    unpromised, violations = findings(request, context, operation, body, redactor)
    now, is_frozen = clock.reading()
    fields = (
        (field_name(key), value)
        for key, value in environ.items()
        if key.startswith("HTTP_") or key in OTHER_FIELDS
    )
    sent = b"" if environ["REQUEST_METHOD"] == "HEAD" else sent_body(response, fault)
    path = get_path_info(environ)  # request.path has lost leading slashes
    return Entry(
        time=now,
        ms=0 if is_frozen else ms,
        method=mask(environ["REQUEST_METHOD"], MAX_TARGET, redactor),
        path=mask(path, MAX_TARGET, redactor),
        query=mask(redactor.query(environ.get("QUERY_STRING", "")), MAX_TARGET, redactor),
        headers=mask_fields(fields, redactor),
        body=mask_body(body, redactor),
        status=status,
        code=problem["code"] if problem else None,
        reason=reason,
        operation=operation.id if operation else None,
        fault=fault.id if fault else None,
        unpromised=unpromised,
        violations=violations,
        grease=axes,
        response={
            "status": status,
            "headers": mask_fields(response.headers, redactor),
            "body": mask_body(sent, redactor),
        },
    )


def findings(
    request: Request,
    context: Mapping[str, Any],
    operation: Operation | None,
    body: bytes,
    redactor: Redactor,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a request depends on without a promise, and what it violates."""
    environ = request.environ
    is_accepted = "world_name" in context  # by the bearer check
    document = context.get("document")
    is_known = not body or (document and operation and document.keys() <= operation.members)
    if operation and is_accepted and is_known and not environ.get("QUERY_STRING", ""):
        return (), ()  # as of most requests

    def mask_name(name: str) -> str:
        return cut(redactor.text(name), MAX_SENTENCE)

    if operation and is_accepted:
        return sentences(find_unpromised(operation, request, text_of(body), mask_name)), ()
    header = None if is_accepted else request.headers.get("Authorization", "")
    target = f"{mask_name(environ['REQUEST_METHOD'])} {mask_name(get_path_info(environ))}"
    return (), sentences(find_violations(operation, header, target))


def body_of(request: Request) -> bytes:
    """The body that was received."""
    try:
        return request.get_data()
    except ClientDisconnected:
        return b""


def sent_body(response: Response, fault: Fault | None) -> bytes:
    """The body that is sent; nothing of one that is streamed."""
    if not response.is_sequence:
        return b""
    pieces: Any = response.response
    body: bytes = pieces[0] if len(pieces) == 1 else response.get_data()
    return body if fault is None else body[: fault.cut]


def sentences(found: Iterable[str]) -> tuple[str, ...]:
    """Sentences that name what a client sent: short, and on one line."""
    return tuple(cut(printable(each), MAX_SENTENCE) for each in found)
