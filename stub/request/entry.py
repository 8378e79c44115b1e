"""An entry of the journal: a request and its response. Its JSON has no secrets."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from profiles.openapi import Operation
from records import timestamp
from traffic import masking
from traffic.exchange import Exchange
from traffic.shown import mask_body, show_request, show_response

from . import findings
from .faults import Fault

STARTED = "stub.started"
"""The key in the WSGI environment of the time at which a request began (`time.perf_counter()`)."""
REJECTED = (400, 415, 422)
"""The statuses of a request that the contract does not allow."""

MAX_KEPT = 20 * 1024  # bytes of a body in an entry
MAX_REASON = 300  # bytes of a reason in a log or a journal


class Applied(NamedTuple):
    """The changes of a response, after the view.

    - `status` is counted by the coverage: before grease varies it. It is 0 if the operation was
      skipped.
    - `fault` is the fault of the `Outcome`, or a planned fault.
    - `axes` are the axes of grease that varied the response: `("members", "times")`.
    - `delay` is in seconds.
    """

    status: int
    fault: Fault | None = None
    axes: tuple[str, ...] = ()
    delay: float = 0.0

    @property
    def notes(self) -> Iterator[str]:
        """The notes in the log: `fault flt_1`, `dropped`, `grease members,times`."""
        if self.fault:
            yield f"fault {self.fault.id}"
            if self.fault.drop:
                yield "dropped"
        if self.axes:
            yield f"grease {','.join(self.axes)}"


class Entry(NamedTuple):
    """A recorded request, with the changes of its response and with its findings.

    - `exchange` is the request and the response. It is not masked, and a long body is cut.
    - `redactor` masks the entry when it is read, since most entries are never read.
    - `started` is a time of `time.perf_counter()`.
    - `is_requested` is true if a fault or `Prefer` made the response.
    - `code` is the code of a problem, for example `"name_taken"`.
    - `reason` is the reason of a rejection.
    - `status_read` is the status of the deployment that was read, for example `"queued"`.
    - `unpromised` and `violations` are findings. They are masked.
    """

    exchange: Exchange
    applied: Applied
    operation: Operation | None
    redactor: masking.Redactor
    started: float
    is_requested: bool = False
    code: str | None = None
    reason: str = ""
    status_read: str | None = None
    unpromised: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()

    @property
    def operation_id(self) -> str | None:
        return self.operation.id if self.operation else None

    def document(self, number: int) -> dict[str, Any]:
        """Return the JSON of the entry with this number, without secrets."""
        redactor = self.redactor
        exchange = self.exchange
        fault = self.applied.fault
        reason = masking.make_printable(redactor.mask(self.reason))
        return {
            "number": number,
            "time": timestamp(exchange.time),
            "ms": round(exchange.ms, 3),
            **show_request(exchange, redactor),
            "status": exchange.status,
            "code": self.code,
            "reason": masking.cut_text(reason, MAX_REASON) or None,
            "operation": self.operation_id,
            "fault": fault.id if fault else None,
            "unpromised": [*self.unpromised],
            "violations": [*self.violations],
            "grease": [*self.applied.axes],
            "response": show_response(exchange, redactor),
        }


class PlacedEntry(NamedTuple):
    """An entry with its place: the masked name of the world, and the number in the journal."""

    world: str
    number: int
    entry: Entry


class Recorded(PlacedEntry):
    """A recorded request. The subclass of a NamedTuple has room for a cache."""

    @property
    def name(self) -> str:
        return findings.name_request(self.world, self.number)

    @property
    def place(self) -> findings.FirstRequest:
        """The world and the number: `{"world": "job-42", "number": 3}`."""
        return {"world": self.world, "number": self.number}

    @cached_property
    def shown(self) -> findings.FirstRequest:
        """The request as a finding shows it: `{"world": "job-42", "number": 3, …}`."""
        document = self.entry.document(self.number)
        names = ("number", "method", "path", "query", "headers", "body", "status", "code", "reason")
        return {"world": self.world, **{name: document[name] for name in names}}


def shorten_body(body: bytes, redactor: masking.Redactor) -> bytes:
    """Shorten a body of more than `MAX_KEPT` bytes. It must not end in a part of a token.

    A body without a place to cut, for example a file in base64, is masked at once.
    """
    start = masking.cut_between_words(body, 4096)
    return start if len(start) <= MAX_KEPT else mask_body(start, redactor).encode()
