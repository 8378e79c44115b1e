"""An entry of the journal: a request and its response. Readers get it with secrets masked."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
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
ENTRY_SIZE = 2500  # bytes of memory without the texts of the request, and without bodies
MARGIN = 16 * 1024  # characters searched for tokens beyond those that are shown
MAX_KEPT = MAX_BODY_TEXT + MARGIN  # bytes of a body

OTHER_FIELDS = ("CONTENT_TYPE", "CONTENT_LENGTH")  # whose keys do not begin with HTTP_
STATUS_WORD = re.compile("[0-9]{1,3}|[0-9]xx")
MEMBERS = (
    "method", "path", "query", "headers", "body", "status", "code", "reason", "operation", "fault",
    "unpromised", "violations", "grease", "response",
)  # fmt: skip
LABELS = ("name", "id", "project_id", "latest_deployment_id")


class Entry(NamedTuple):
    """A request and its response. `time` is that of the world, UTC; `ms` is milliseconds. `size`
    is the bytes of memory that the entry takes, about.

    Most entries are never read. So an entry has what was received and sent, of a long body only
    what is searched for tokens; its properties mask that, and cut it to its size. This saves 30 %
    of the processor time of a GET in the app.
    """

    redactor: Redactor
    size: int
    time: datetime
    ms: float
    status: int
    code: str | None
    reason: str | None
    operation: str | None
    fault: str | None
    unpromised: tuple[str, ...]
    violations: tuple[str, ...]
    grease: tuple[str, ...]
    line: tuple[str, str, str]  # method, path and query, as in the WSGI environment
    fields: dict[str, str]  # the header fields, by their keys there
    received: bytes
    sent: bytes
    sent_fields: Iterable[tuple[str, str]]

    @property
    def method(self) -> str:
        return mask(self.line[0], MAX_TARGET, self.redactor)

    @property
    def path(self) -> str:
        path = get_path_info({"PATH_INFO": self.line[1]})  # request.path has lost leading slashes
        return mask(path, MAX_TARGET, self.redactor)

    @property
    def query(self) -> str:
        return mask(self.redactor.query(self.line[2]), MAX_TARGET, self.redactor)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def headers(self) -> dict[str, str]:
        fields = (
            (key.removeprefix("HTTP_").replace("_", "-").title(), value)
            for key, value in self.fields.items()
        )
        return mask_fields(fields, self.redactor)

    @property
    def body(self) -> str:
        return mask_body(self.received, self.redactor)

    @property
    def response(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "headers": mask_fields(self.sent_fields, self.redactor),
            "body": mask_body(self.sent, self.redactor),
        }

    def bare(self) -> "Entry":
        """The entry without header fields and bodies."""
        return self._replace(size=0, fields={}, received=b"", sent=b"", sent_fields=())

    def members(self, names: Iterable[str] = MEMBERS) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def document(self, number: int) -> dict[str, Any]:
        times = {"time": timestamp(self.time), "ms": round(self.ms, 3)}
        return {"number": number, **times, **self.members()}

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
        labels = map(self.redactor.text, (*labels_of(self.received), *labels_of(self.sent)))
        return "\n".join([self.method, self.target, self.code or "", *labels]).casefold()


def request_name(world: str, number: int) -> str:
    """Where the journal has a request: `job-5 #27`, or `#27` in the main world."""
    return f"{world} #{number}".lstrip()


def mask(text: str, size: int, redactor: Redactor) -> str:
    """The text with tokens masked, cut to `size` bytes.

    The search goes `MARGIN` characters further, as the end of the text may cut a token in two.
    """
    kept = text[: size + MARGIN]
    return mask_kept(kept, "" if kept == text else kept[-MARGIN:], size, redactor)


def mask_body(kept: bytes, redactor: Redactor) -> str:
    """The text of a body with tokens masked, cut as `mask` does."""
    margin = "" if len(kept) < MAX_KEPT else text_of(kept[-MARGIN:])
    return mask_kept(text_of(kept), margin, MAX_BODY_TEXT, redactor)


def mask_kept(kept: str, margin: str, size: int, redactor: Redactor) -> str:
    """The text with tokens masked, without the `margin` at its end."""
    masked = redactor.text(kept)
    return cut(masked[: len(masked) - len(redactor.text(margin))], size)


def mask_fields(fields: Iterable[tuple[str, str]], redactor: Redactor) -> dict[str, str]:
    """Header fields with secrets masked, cut to the size of all; those of one name are joined."""
    shown: dict[str, str] = {}
    for name, value in fields:
        value = redactor.secret(name, value)
        shown[name] = f"{shown[name]}, {value}" if name in shown else value
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


def text_of(body: bytes) -> str:
    """A body as text; without zeros, so that a token in UTF-16 is found, too."""
    return body.decode(errors="replace").replace("\0", "")


def labels_of(body: bytes) -> list[str]:
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
    time, is_frozen = clock.reading()
    fields = {
        key: value
        for key, value in environ.items()
        if key.startswith("HTTP_") or key in OTHER_FIELDS
    }
    line = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    received = body[:MAX_KEPT]
    sent = b"" if line[0] == "HEAD" else sent_body(response, fault)
    texts = "".join((*line, *fields.values(), *unpromised, *violations))
    return Entry(
        redactor,
        ENTRY_SIZE + len(texts) + len(received) + len(sent),
        time,
        0 if is_frozen else ms,
        status,
        problem["code"] if problem else None,
        reason,
        operation.id if operation else None,
        fault.id if fault else None,
        unpromised,
        violations,
        axes,
        line,
        fields,
        received,
        sent,
        response.headers,
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
    return body[: fault.cut if fault else None][:MAX_KEPT]


def sentences(found: Iterable[str]) -> tuple[str, ...]:
    """Sentences that name what a client sent: short, and on one line."""
    return tuple(cut(printable(each), MAX_SENTENCE) for each in found)
