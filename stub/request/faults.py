"""Faults: what waits for the next requests to `/v1`."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any
from urllib.parse import unquote

from flask import Request, Response

from traffic.masking import Redactor
from web.patterns import matches
from web.problems import FieldError, InvalidBody
from web.routing import read_raw_target

from .connection import ClientConnection
from .findings import Finding, FirstRequest, finding_of

WITHOUT_BODY = (204, 304)  # statuses (RFC 9110 §6.4.1)
PAUSE = 0.05  # seconds between two looks whether the client has closed


@dataclass(frozen=True, eq=False)
class Fault:
    """What happens to the next `times` requests that match (None: to all).

    `operation` is an id of the contract, `path` a shell pattern, whose `*` matches `/` too.
    `headers`, such as `{"Set-Cookie": ["a=1", "b=2"]}`, stand in place of those of the response,
    and `body` of the problem document. `delay` is in seconds, and ends when the client is gone.
    `cut` is the number of bytes of the body that are sent. `drop` sends none at all; the operation
    is performed if that is `performed`.
    """

    id: str
    operation: str | None = None
    method: str | None = None
    path: str | None = None
    body: str | None = None
    content_type: str | None = None
    status: int | None = None
    headers: dict[str, str | list[str]] | None = None
    delay: float | None = None
    cut: int | None = None
    drop: bool | None = None
    performed: bool | None = None
    times: int | None = 1

    def is_for(self, operation: str | None, request: Request) -> bool:
        if self.operation is not None and self.operation != operation:
            return False
        methods = {request.method, request.method.replace("HEAD", "GET")}
        if self.method is not None and self.method not in methods:
            return False
        if self.path is None:
            return True
        sent, _, _ = read_raw_target(request.environ).partition("?")
        shown = request.path  # by the journal
        spellings = (sent, unquote(shown), shown)
        return any(matches(self.path, each) for each in spellings)

    @property
    def has_own_body(self) -> bool:
        """Whether the response has a body that is no problem document, or none."""
        return self.body is not None or self.status in WITHOUT_BODY

    def own_response(self) -> Response:
        """The response of a fault with a body of its own, or with none."""
        content_type = self.content_type or "text/plain; charset=utf-8"
        response = Response(self.body, self.status, content_type=content_type)
        response.headers["Cache-Control"] = "no-store"
        if self.status in WITHOUT_BODY:
            del response.headers["Content-Type"]
        return response

    def change(self, response: Response, connection: ClientConnection) -> None:
        """Add its header fields, and cut the body short, or drop the response.

        The connection ends then. A dropped response has the status 0, unless the operation was
        performed.
        """
        response.headers.update(self.headers or {})
        if self.cut is not None:
            body = response.get_data()
            response.headers["Content-Length"] = str(len(body))
            response.response = [body[: self.cut]]
            connection.close()
        if self.drop:
            response.data = b""
            response.headers.clear()
            if not self.performed:
                response.status_code = 0
            connection.drop()

    def describe(self) -> str:
        """One line: `GET /v1/deployments/*: status 503, delay 2`. It may have tokens."""
        requests = self.operation or f"{self.method or 'any method'} {self.path or 'any path'}"
        effects = []
        if self.status is not None:
            effects.append(f"status {self.status}")
        if self.headers:
            effects.append(f"headers {' '.join(self.headers)}")
        for name in ("delay", "cut"):
            value = getattr(self, name)
            if value is not None:
                effects.append(f"{name} {value}")
        if self.drop:
            effects.append("drop")
        return f"{requests}: {', '.join(effects)}"

    def document(self, met: int) -> dict[str, Any]:
        """The wire form of a fault that so many requests have met."""
        times = self.times
        document = {name: value for name, value in asdict(self).items() if value is not None}
        document["times"] = times
        document["remaining"] = None if times is None else times - met
        return document


def wait(seconds: float, connection: ClientConnection, sleep: Callable[[float], None]) -> None:
    """Wait so many seconds, or until the client is gone."""
    if connection.is_open is None:
        sleep(seconds)
        return
    started = time.monotonic()
    waited = 0.0
    while waited < seconds and connection.is_open():
        pause = min(PAUSE, seconds - waited)
        sleep(pause)
        # Each `sleep` is late, but one of a test takes no time.
        waited = max(waited + pause, time.monotonic() - started)


class Faults:
    """The faults of a world, in the order of their creation."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self.waiting: dict[Fault, int] = {}  # with the number of requests that have met each
        self._removed_unused = Counter[str]()  # by what they are described as
        self._numbers = itertools.count(1)

    def add(self, document: dict[str, Any]) -> dict[str, Any]:
        """Add the fault of a valid document, and return its wire form."""
        members = dict(document)
        for name, value in document.items():
            if isinstance(value, float) and value.is_integer():  # 503.0 is 503 in JSON
                members[name] = int(value)
        with self._lock:
            if len(self.waiting) >= self._most:
                raise InvalidBody([FieldError("", f"exceeds the maximum of {self._most:,} faults")])
            fault = Fault(f"flt_{next(self._numbers)}", **members)
            self.waiting[fault] = 0
        return fault.document(0)

    def take(self, operation: str | None, request: Request) -> Fault | None:
        """The first fault that matches. Removed when it has met all its requests."""
        if not self.waiting:
            return None
        with self._lock:
            for fault in self.waiting:
                if fault.is_for(operation, request):
                    self.waiting[fault] += 1
                    if self.waiting[fault] == fault.times:
                        del self.waiting[fault]
                    return fault
        return None

    def unused(self) -> Counter[str]:
        """How many faults of each description no request has met; removed faults come first."""
        with self._lock:
            waiting = [fault.describe() for fault, met in self.waiting.items() if not met]
            return self._removed_unused + Counter(waiting)

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.document(met) for fault, met in self.waiting.items()]

    def remove(self, fault_id: str | None = None) -> None:
        with self._lock:
            for fault in list(self.waiting):
                if fault_id in (None, fault.id):
                    met = self.waiting.pop(fault)
                    if not met:
                        self._removed_unused[fault.describe()] += 1


@dataclass(frozen=True)
class UnusedFault:
    """Faults of one description that no request has met, and the world of the first."""

    what: str
    count: int
    world: str


def unused_findings(unused: Iterable[UnusedFault], redactor: Redactor) -> list[Finding]:
    """The findings of faults that no request has met, each with the name of its world."""
    counts = Counter[str]()
    first: dict[str, FirstRequest] = {}
    for each in unused:
        what = redactor.mask(each.what)
        counts[what] += each.count
        first.setdefault(what, {"world": each.world, "number": None})
    return [finding_of("unused-faults", what, n, first[what]) for what, n in counts.items()]
