"""Faults: outcomes that wait for the next requests to `/v1`."""

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any
from urllib.parse import unquote

from flask import Request, Response

from web.problems import FieldError, InvalidBody
from web.routing import raw_target

from .rules import check_object, integer, matches, or_null, rule, seconds, text

MAX_FAULTS = 1000
MAX_DELAY = 30  # seconds
MEMBERS = {
    "method": text(r"[!#$%&'*+.^_`|~0-9A-Z-]{1,32}", "must be a method in upper case"),
    "path": text(".{1,256}", "must be a pattern of 1 to 256 characters"),
    "body": text(".{0,10000}", "must be a string of at most 10,000 characters"),
    "content_type": text(
        r"(?=.{1,128}\Z)[!-~]+/[!-~][ -~]*", "must be a media type of at most 128 characters"
    ),
    "delay": seconds(MAX_DELAY),
    "status": integer(400, 599),
    "retry_after": integer(0, 86_400),
    "cut": integer(0, 2**31),
    "times": or_null(integer(1, 2**53)),
}


@dataclass(frozen=True, eq=False)
class Fault:
    """What happens to the next `times` requests that match (None: to all).

    `operation` is an id of the contract, `path` a shell pattern, whose `*` matches `/` too. `body`
    stands in place of the problem document. `delay` is in seconds; `cut` is the number of bytes of
    the body that are sent.
    """

    id: str
    operation: str | None = None
    method: str | None = None
    path: str | None = None
    body: str | None = None
    content_type: str | None = None
    status: int | None = None
    retry_after: int | None = None
    delay: float | None = None
    cut: int | None = None
    times: int | None = 1

    def is_for(self, operation: str | None, request: Request) -> bool:
        method, path = request.method, request.path
        is_method = self.method in (None, method) or (self.method, method) == ("GET", "HEAD")
        if self.operation not in (None, operation) or not is_method:
            return False
        sent = raw_target(request.environ).partition("?")[0]
        spellings = (sent, unquote(path), path)  # the last one is the journal's
        return self.path is None or any(matches(self.path, each) for each in spellings)

    def change(self, response: Response, close: Callable[[], None] | None) -> None:
        """Add Retry-After, and cut the body short; `close` ends the connection after it."""
        if self.retry_after is not None:
            response.headers["Retry-After"] = str(self.retry_after)
        if self.cut is not None:
            body = response.get_data()
            response.headers["Content-Length"] = str(len(body))
            response.response = [body[: self.cut]]
            if close:
                close()

    def describe(self, mask: Callable[[str], str]) -> str:
        """One line: `GET /v1/deployments/*: status 503, delay 2`; `mask` hides tokens."""
        path = mask(self.path) if self.path else "any path"
        matches = self.operation or f"{self.method or 'any method'} {path}"
        effects = {"status": self.status, "delay": self.delay, "cut": self.cut}
        given = [f"{name} {value}" for name, value in effects.items() if value is not None]
        return f"{matches}: {', '.join(given)}"

    def document(self, met: int) -> dict[str, Any]:
        """The wire form of a fault that so many requests have met."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        remaining = None if self.times is None else self.times - met
        return {**given, "times": self.times, "remaining": remaining}


class Faults:
    """The faults of a world, in the order of their creation."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.waiting: dict[Fault, int] = {}  # with the number of requests that have met each
        self._removed_unused: deque[Fault] = deque(maxlen=MAX_FAULTS)
        self._numbers = itertools.count(1)

    def add(self, document: dict[str, Any]) -> dict[str, Any]:
        """Add the fault of a valid document, and return its wire form."""
        integers = {  # JSON may have 503.0 for 503
            name: int(value)
            for name, value in document.items()
            if isinstance(value, float) and value.is_integer()
        }
        with self._lock:
            if len(self.waiting) >= MAX_FAULTS:
                too_many = f"exceeds the maximum of {MAX_FAULTS:,} faults"
                raise InvalidBody([FieldError("", too_many)])
            fault = Fault(f"flt_{next(self._numbers)}", **document | integers)
            self.waiting[fault] = 0
        return fault.document(0)

    def take(self, operation: str | None, request: Request) -> Fault | None:
        """The first fault that matches. Removed when it has met all its requests."""
        with self._lock:
            for fault in self.waiting:
                if fault.is_for(operation, request):
                    self.waiting[fault] += 1
                    if self.waiting[fault] == fault.times:
                        del self.waiting[fault]
                    return fault
        return None

    def unused(self) -> list[Fault]:
        """The faults that no request has met; removed faults come first."""
        with self._lock:
            waiting = [fault for fault, met in self.waiting.items() if not met]
            return [*self._removed_unused, *waiting]

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.document(met) for fault, met in self.waiting.items()]

    def remove(self, fault_id: str | None = None) -> None:
        """Remove one fault, or all."""
        with self._lock:
            for fault in list(self.waiting):
                if fault_id in (None, fault.id) and not self.waiting.pop(fault):
                    self._removed_unused.append(fault)


def check_fault(document: dict[str, Any], operations: Collection[str]) -> Iterator[FieldError]:
    """The errors of a fault that a client sends; `operations` are the ids of the contract."""
    names = rule(lambda value: value in operations, f"must be one of {', '.join(operations)}")
    yield from check_object(document, {"operation": names, **MEMBERS})
    given = document.keys()
    if "operation" in given and given & {"method", "path"}:
        yield FieldError("", "must have either an operation, or a method and a path")
    if not given & {"status", "delay", "cut"}:
        yield FieldError("", "must have a status, a delay or a cut")
    for name, needed in (("body", "status"), ("content_type", "body")):
        if name in given and needed not in given:
            yield FieldError(f"/{name}", f"needs a {needed}")
