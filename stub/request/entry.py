"""An entry of the journal: a request and its response. Readers get it with secrets masked."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

from profiles.openapi import Operation
from records import timestamp
from traffic.exchange import Exchange
from traffic.masking import Redactor, cut_between_words, cut_text, make_printable
from traffic.shown import mask_body, show_request, show_response

from .faults import Fault
from .findings import FirstRequest, request_name

STARTED = "stub.started"  # in the environ: when a request began, by `time.perf_counter()`
REJECTED = (400, 415, 422)
"""The statuses for a request that the contract does not allow."""

MAX_KEPT = 20 * 1024  # bytes of a body that an entry keeps
MAX_REASON = 300  # bytes that are shown

# What is shown of the first request of a finding.
REQUEST = ("number", "method", "path", "query", "headers", "body", "status", "code", "reason")


class Applied(NamedTuple):
    """What was done to a response on purpose.

    `status` is without grease, 0 of a response that was dropped before anything was performed;
    `delay` is in seconds.
    """

    status: int
    fault: Fault | None = None
    axes: tuple[str, ...] = ()
    delay: float = 0.0

    @property
    def notes(self) -> Iterator[str]:
        """As the log shows it."""
        if self.fault:
            yield f"fault {self.fault.id}"
            if self.fault.drop:
                yield "dropped"
        if self.axes:
            yield f"grease {','.join(self.axes)}"


class Entry(NamedTuple):
    """A request that the stub recorded: the exchange, and what the stub did and noticed.

    The exchange is as it was sent; of a long body it has what is searched for tokens. Whoever reads
    an entry masks and describes it: most are never read.
    """

    exchange: Exchange
    applied: Applied
    operation: Operation | None
    redactor: Redactor
    started: float  # by `time.perf_counter()`
    is_requested: bool = False  # whether a fault or `Prefer` made the response
    code: str | None = None  # of the problem, if the response is one
    reason: str = ""  # why the request was rejected
    status_read: str | None = None  # of a deployment
    unpromised: tuple[str, ...] = ()  # masked, as the next
    violations: tuple[str, ...] = ()

    @property
    def operation_id(self) -> str | None:
        return self.operation.id if self.operation else None

    def document(self, number: int) -> dict[str, Any]:
        """The wire form."""
        redactor = self.redactor
        exchange = self.exchange
        fault = self.applied.fault
        return {
            "number": number,
            "time": timestamp(exchange.time),
            "ms": round(exchange.ms, 3),
            **show_request(exchange, redactor),
            "status": exchange.status,
            "code": self.code,
            "reason": cut_text(make_printable(redactor.mask(self.reason)), MAX_REASON) or None,
            "operation": self.operation_id,
            "fault": fault.id if fault else None,
            "unpromised": [*self.unpromised],
            "violations": [*self.violations],
            "grease": [*self.applied.axes],
            "response": show_response(exchange, redactor),
        }


class Recorded(NamedTuple):
    """An entry, and where it stands: the name of the world, masked, and the number there."""

    world: str
    number: int
    entry: Entry

    @property
    def name(self) -> str:
        return request_name(self.world, self.number)

    def document(self) -> dict[str, Any]:
        return self.entry.document(self.number)

    def place(self) -> FirstRequest:
        """Return the world and the number: `{"world": "job-42", "number": 3}`."""
        return {"world": self.world, "number": self.number}

    def first(self) -> FirstRequest:
        """As the first request of a finding is shown."""
        shown = self.document()
        members = {name: shown[name] for name in REQUEST}
        return {"world": self.world, **members}


def mask_sentences(sentences: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    """Return these sentences, masked and shortened."""
    return tuple(shorten(make_printable(redactor.mask(each))) for each in sentences)


def shorten(sentence: str, max_bytes: int = 160) -> str:
    """Cut a long sentence. A digest tells it from others that begin alike: `…3f2a9c01`."""
    data = sentence.encode()
    if len(data) <= max_bytes:
        return sentence
    return f"{cut_text(sentence, max_bytes)}…{crc32(data):08x}"


def shorten_body(body: bytes, redactor: Redactor) -> bytes:
    """Shorten a body of more than `MAX_KEPT` bytes, so that it does not end in a part of a token.

    A body that is one long word, such as a file in base64, is masked at once.
    """
    start = cut_between_words(body, 4096)
    return start if len(start) <= MAX_KEPT else mask_body(start, redactor).encode()
