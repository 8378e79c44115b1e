"""An entry of the journal: a request and its response. Readers get it with secrets masked."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from time import perf_counter
from typing import Any, NamedTuple

from flask import Request, Response
from werkzeug.exceptions import ClientDisconnected

from records import timestamp
from web.problems import reasons

from .access_log import MAX_REASON, REJECTED, STARTED
from .clock import WorldClock
from .contract import find_unpromised, find_violations, object_in
from .outcome import Outcome
from .paths import shown_path
from .redaction import Redactor, Tokens, cut, printable

MAX_BODY_TEXT = 4096  # bytes
MAX_SENTENCE = 160  # bytes
MAX_SENTENCES = 100  # of an entry
ENTRY_SIZE = 2500  # bytes of memory without the texts of the request, and without bodies
MARGIN = 16 * 1024  # bytes of a body that are searched for tokens beyond those that are shown
MAX_KEPT = MAX_BODY_TEXT + MARGIN  # bytes of a body

HOSTS = ("Host", "X-Forwarded-Host")  # fields whose value is a host
# Of the WSGI environment, beside what begins with HTTP_.
LINE = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING")
KEPT = {*LINE, "CONTENT_TYPE", "CONTENT_LENGTH"}


class Entry(NamedTuple):
    """A request and its response. `time` is that of the world, UTC; `ms` is milliseconds. `size`
    is the bytes of memory that the entry takes, about.

    Most entries are never read. So an entry has what was received and sent, of a long body only
    what is searched for tokens; its document masks that, and cuts it to its size. This saves 30 %
    of the processor time of a GET in the app.
    """

    redactor: Redactor
    tokens: Tokens  # those of its time, which stay masked as long as the entry is there
    size: int
    started: float  # by `time.perf_counter()`
    time: datetime
    ms: float
    status: int
    code: str | None
    reason: str  # why a request was rejected, or empty
    operation: str | None
    fault: str | None
    counted: tuple[tuple[str, str], ...]  # what the coverage counts, each with its kind
    environ: dict[str, str]  # of the WSGI environment, what is shown
    received: bytes
    sent: bytes
    sent_fields: Iterable[tuple[str, str]]

    def found(self, kind: str) -> list[str]:
        """What the coverage counts of this kind."""
        return [what for each, what in self.counted if each == kind]

    def document(self, number: int) -> dict[str, Any]:
        """The wire form."""
        redactor = self.redactor
        environ = self.environ
        fields = (
            (key.removeprefix("HTTP_").replace("_", "-").title(), value)
            for key, value in environ.items()
            if key not in LINE
        )
        return {
            "number": number,
            "time": timestamp(self.time),
            "ms": round(self.ms, 3),
            **redactor.request_line(
                environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", "")
            ),
            "headers": mask_fields(fields, redactor),
            "body": mask_body(self.received, redactor),
            "status": self.status,
            "code": self.code,
            "reason": cut(printable(redactor.url(self.reason)), MAX_REASON) or None,
            "operation": self.operation,
            "fault": self.fault,
            "unpromised": self.found("unpromised"),
            "violations": self.found("violations"),
            "grease": self.found("grease"),
            "response": {
                "status": self.status,
                "headers": mask_fields(self.sent_fields, redactor),
                "body": mask_body(self.sent, redactor),
            },
        }

    def has(self, words: Collection[str]) -> bool:
        """Whether all these words, which are case-folded, are in the entry: in the status or its
        class (`4xx`), the method, the path with the query, the code, or a name or an id of a body.
        """
        shown = self.document(0)
        target = shown["path"]
        if shown["query"]:
            target += "?" + shown["query"]
        searched = [str(self.status), f"{self.status // 100}xx", self.code or ""]
        searched += [shown["method"], target]
        for body in (shown["body"], shown["response"]["body"]):
            searched += labels_in(object_in(body))
        text = "\n".join(searched).casefold()
        return all(word in text for word in words)


def labels_in(record: dict[str, Any]) -> Iterator[str]:
    """The names and the ids in a body, whatever its members are called, without those of a list."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from labels_in(value)
        elif name.lower().endswith(("name", "id")):
            yield str(value)


def request_name(world: str, number: int) -> str:
    """Where the journal has a request: `job-5 #27`, or `#27` in the main world."""
    return f"{world} #{number}".lstrip()


def mask_body(kept: bytes, redactor: Redactor) -> str:
    """The text of a body with tokens masked; without zeros, so that one in UTF-16 is found, too.

    The end of what is kept of a long body may cut a token in two, so none of the margin is shown.
    """

    def mask(body: bytes) -> str:
        return redactor.text(body.decode(errors="replace").replace("\0", ""))

    shown = mask(kept)
    if len(kept) == MAX_KEPT:
        margin = mask(kept[MAX_BODY_TEXT:])
        shown = shown[: len(shown) - len(margin)]
    return cut(shown, MAX_BODY_TEXT)


def mask_fields(fields: Iterable[tuple[str, str]], redactor: Redactor) -> dict[str, str]:
    """Header fields with secrets masked."""
    found = {}
    for name, value in fields:
        masked = redactor.host(value) if name in HOSTS else redactor.url(value)
        found[redactor.text(name)] = redactor.secret(name, masked)
    return found


def describe(
    request: Request,
    response: Response,
    context: Mapping[str, Any],
    outcome: Outcome,
    clock: WorldClock,
    redactor: Redactor,
) -> Entry:
    """The entry of a request, whose `flask.g` is `context`, and of its response."""
    environ = request.environ
    problem = context.get("problem")
    shown = {key: value for key, value in environ.items() if key[:5] == "HTTP_" or key in KEPT}
    shown["PATH_INFO"] = shown_path(environ)
    body = b""
    if "CONTENT_LENGTH" in environ:
        with suppress(ClientDisconnected, OSError):
            body = request.get_data()
    received = body[:MAX_KEPT]
    pieces: Any = response.response
    sent = b"" if request.method == "HEAD" else b"".join(pieces)[:MAX_KEPT]
    reason = reasons(problem)[0] if problem and response.status_code in REJECTED else ""
    counted = tuple(count(request, context, outcome, body, redactor))
    time, is_frozen = clock.reading()
    texts = "".join([*shown.values(), reason, *[what for _, what in counted]])
    return Entry(
        redactor,
        redactor.tokens,
        ENTRY_SIZE + len(texts) + len(received) + len(sent),
        environ[STARTED],
        time,
        0 if is_frozen else (perf_counter() - environ[STARTED] + outcome.delay) * 1000,
        response.status_code,
        problem["code"] if problem else None,
        reason,
        outcome.operation.id if outcome.operation else None,
        outcome.fault.id if outcome.fault else None,
        counted,
        shown,
        received,
        sent,
        response.headers,
    )


def count(
    request: Request, context: Mapping[str, Any], outcome: Outcome, body: bytes, redactor: Redactor
) -> list[tuple[str, str]]:
    """What the coverage counts of a request, masked: responses, and findings, which are short."""
    environ = request.environ
    operation = outcome.operation
    status = outcome.status
    counted = [("grease", axis) for axis in outcome.axes]
    if operation:
        declared = str(status) if str(status) in operation.responses else "other"
        counted.append((operation.id, declared))
        if status in REJECTED and outcome.response is None:
            counted.append(("rejected", f"{operation.id} {status}"))
    visit = context.get("store")
    is_accepted = visit is not None  # by the bearer check
    status_read = visit.status_read if visit else None
    if status_read and environ["REQUEST_METHOD"] == "GET":
        counted.append(("deployment_statuses", redactor.text(status_read)))
    found: list[str] = []
    if operation and is_accepted:
        kind = "unpromised"
        if body or environ.get("QUERY_STRING"):
            found = find_unpromised(operation, request, context.get("document"), body)
    else:
        kind = "violations"
        header = None if is_accepted else environ.get("HTTP_AUTHORIZATION", "")
        target = f"{request.method} {shown_path(environ)}"
        found = find_violations(operation, header, target)
    for each in found[:MAX_SENTENCES]:
        sentence = printable(redactor.url(each))
        counted.append((kind, cut(sentence, MAX_SENTENCE)))
    return counted
