"""Faults: errors, delays and cuts that wait for requests to `/v1`."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from flask import Request, Response
from flask.typing import ResponseReturnValue

from profiles.openapi import Operation
from web import problems
from web.patterns import matches

WITHOUT_BODY = (204, 304)  # statuses (RFC 9110 §6.4.1)


@dataclass(frozen=True, eq=False)
class Fault:
    """A fault for the next `times` matching requests, or for all if `times` is None.

    - `operation` is an id of the contract. `path` is a shell pattern. Its `*` also matches `/`.
    - `headers` replace header fields of the response: `{"Set-Cookie": ["a=1", "b=2"]}`.
    - `body` replaces the problem document.
    - `delay` is in seconds, and ends when the client is gone.
    - `cut` is the number of bytes of the body that are sent.
    - `drop` sends nothing. The operation is performed only if `performed` is true.
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
        """Return whether a request matches. The pattern of a path may be percent-encoded."""
        if self.operation is not None and self.operation != operation:
            return False
        # A fault for GET is also for HEAD.
        methods = ("HEAD", "GET") if request.method == "HEAD" else (request.method,)
        if self.method is not None and self.method not in methods:
            return False
        # Of an encoded path, `request.path` still has `%2F` and `%25`.
        return self.path is None or matches(unquote(self.path), unquote(request.path))

    @property
    def skips_operation(self) -> bool:
        """Whether the response is dropped, and the operation is not performed."""
        return bool(self.drop and not self.performed)

    @property
    def has_own_body(self) -> bool:
        """Whether the response has no problem document, but another body or no body."""
        return self.body is not None or self.status in WITHOUT_BODY

    def make_response(self) -> Response:
        """Make the response of a fault with its own body, or without a body."""
        content_type = self.content_type or "text/plain; charset=utf-8"
        response = Response(self.body, self.status, content_type=content_type)
        response.headers["Cache-Control"] = "no-store"
        if self.status in WITHOUT_BODY:
            del response.headers["Content-Type"]
        return response

    def change(self, response: Response, environ: Mapping[str, Any]) -> None:
        """Add the header fields, and cut or drop the response; then the connection ends.

        If the operation is skipped, the response has the status 0. The server of this project has
        functions for the connection in the WSGI environment.
        """
        response.headers.update(self.headers or {})
        if self.cut is not None:
            body = response.get_data()
            response.headers["Content-Length"] = str(len(body))
            response.response = [body[: self.cut]]
            environ.get("server.close", do_nothing)()
        if self.drop:
            response.data = b""
            response.headers.clear()
            if self.skips_operation:
                response.status_code = 0
            environ.get("server.drop", do_nothing)()

    def describe(self) -> str:
        """Describe the fault in a line: `GET /v1/deployments/*: status 503, delay 2`.

        The line may have tokens: mask it.
        """
        requests = self.operation or f"{self.method or 'any method'} {self.path or 'any path'}"
        effects = []
        if self.status is not None:
            effects.append(f"status {self.status}")
        if self.headers:
            effects.append(f"headers {' '.join(self.headers)}")
        if self.delay is not None:
            effects.append(f"delay {self.delay}")
        if self.cut is not None:
            effects.append(f"cut {self.cut}")
        if self.drop:
            effects.append("drop")
        return f"{requests}: {', '.join(effects)}"

    def document(self, met: int) -> dict[str, Any]:
        """Return the JSON of a fault that `met` requests: `{"id": "flt_1", "remaining": 2, …}`."""
        document = {name: value for name, value in asdict(self).items() if value is not None}
        document["times"] = self.times
        document["remaining"] = None if self.times is None else self.times - met
        return document


def do_nothing() -> None:
    pass


def wait(
    seconds: float,
    environ: Mapping[str, Any],
    sleep: Callable[[float], None],
    longest_pause: float = 0.05,
) -> None:
    """Wait some seconds, or until the client is gone, if the server can tell."""
    is_open = environ.get("server.is_open")
    if is_open is None:
        sleep(seconds)
        return
    waited = 0.0
    while waited < seconds and is_open():
        pause = min(longest_pause, seconds - waited)
        started = time.monotonic()
        sleep(pause)
        # A real pause is longer than requested. The pause of a test takes no time.
        waited += max(pause, time.monotonic() - started)


class Outcome(NamedTuple):
    """The outcome of a request to an operation, before the view.

    The `fault` changes the response. A `response` replaces the response of the view: it is that of
    a fault with a status, or of `Prefer`.
    """

    operation: Operation | None
    fault: Fault | None = None
    response: ResponseReturnValue | None = None


class PlannedFaults(Protocol):
    """The faults of a run of `--probe failures`. An operation meets its fault once."""

    def replace(self, operation: str, sent: int) -> Fault | None:
        """Return the fault that replaces the response to a request, or None."""

    def spoil(self, operation: str) -> Fault | None:
        """Return the fault that changes a successful response, or None."""


class Faults:
    """The faults of a world, in the order of their creation."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self.waiting: dict[Fault, int] = {}  # value: number of requests that met the fault
        self._removed_unused = Counter[str]()  # key: description
        self._numbers = itertools.count(1)

    def add(self, document: dict[str, Any]) -> dict[str, Any]:
        """Add the fault of a valid document, and return its JSON."""
        members = dict(document)
        for name, value in document.items():
            if isinstance(value, float) and value.is_integer():  # In JSON, 503.0 is 503.
                members[name] = int(value)
        with self._lock:
            if len(self.waiting) >= self._most:
                raise problems.InvalidBody(
                    [problems.FieldError("", f"exceeds the maximum of {self._most:,} faults")]
                )
            fault = Fault(f"flt_{next(self._numbers)}", **members)
            self.waiting[fault] = 0
        return fault.document(0)

    def take(self, operation: str | None, request: Request) -> Fault | None:
        """Return the first matching fault. The last of its requests removes it."""
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

    def count_unused(self) -> Counter[str]:
        """Count the faults that no request met, by description. Removed faults come first."""
        with self._lock:
            waiting = [fault.describe() for fault, met in self.waiting.items() if not met]
            return self._removed_unused + Counter(waiting)

    def documents(self) -> list[dict[str, Any]]:
        """Return the JSON of the waiting faults."""
        with self._lock:
            return [fault.document(met) for fault, met in self.waiting.items()]

    def remove(self, fault_id: str | None = None) -> None:
        """Remove the fault with this id, for example `flt_1`, or all faults."""
        with self._lock:
            for fault in list(self.waiting):
                if fault_id in (None, fault.id):
                    met = self.waiting.pop(fault)
                    if not met:
                        self._removed_unused[fault.describe()] += 1
