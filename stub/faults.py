"""Outcomes on demand: faults that wait for requests to `/v1`, and the preference of one request."""

import itertools
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator
from fnmatch import translate
from glob import escape
from threading import Lock
from typing import Any, NamedTuple

from web.problems import FieldError
from web.routing import decode_segment
from web.validation import is_integer, is_number, is_string, unknown_members

METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Z-]{1,32}")
PATTERN = re.compile(r".{1,256}", re.DOTALL)
_ENCODED = re.compile("(?:%[0-9A-Fa-f]{2})+|%")
BODY = re.compile(r".{0,10000}", re.DOTALL)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
CONTENT_TYPE = re.compile(  # a media type (RFC 9110 §8.3.1) of at most 128 characters
    rf'(?=.{{1,128}}\Z){_TOKEN}/{_TOKEN}(?: *; *{_TOKEN}=(?:{_TOKEN}|"[ !#-\[\]-~]*"))*'
)
MAX_PATH = 1024  # characters that are matched; the time for a match grows with them
MAX_FAULTS = 1000
MAX_DELAY = 30  # seconds
RANGES = {"status": (400, 599), "retry_after": (0, 86_400), "cut": (0, 2**31), "times": (1, 2**53)}
TEXTS = ("operation", "method", "path", "body", "content_type")


class Fault(NamedTuple):
    """What happens to the next `times` requests that match (None: to all).

    `operation` is an id of the contract, `path` a shell pattern (see `path_pattern`). `body`
    stands in place of the problem document. `delay` is in seconds; `cut` is the number of bytes of
    the body that are sent.
    """

    id: str
    operation: str | None
    method: str | None
    path: str | None
    body: str | None
    content_type: str | None
    times: int | None
    status: int | None
    retry_after: int | None
    delay: float | None
    cut: int | None
    pattern: re.Pattern[str]  # of the path

    def matches(self, operation: str | None, method: str, path: str) -> bool:
        if self.operation not in (None, operation):
            return False
        is_method = self.method in (None, method) or (self.method, method) == ("GET", "HEAD")
        if not is_method:
            return False
        # A path of the journal may have the characters of a pattern.
        return path == self.path or self.pattern.match(path[:MAX_PATH]) is not None

    def describe(self, mask: Callable[[str], str]) -> str:
        """One line: `GET /v1/deployments/*: status 503, delay 2`; `mask` hides tokens."""
        path = mask(self.path) if self.path else "any path"
        matches = self.operation or f"{self.method or 'any method'} {path}"
        effects = {"status": self.status, "delay": self.delay, "cut": self.cut}
        given = [f"{name} {value}" for name, value in effects.items() if value is not None]
        return f"{matches}: {', '.join(given)}"

    def document(self, remaining: int | None) -> dict[str, Any]:
        """The wire form: the request for it, and how often it is still to come."""
        names = (*TEXTS, "status", "retry_after", "delay", "cut")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {"id": self.id, **given, "times": self.times, "remaining": remaining}


class Faults:
    """The faults of a world, in the order of their creation."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.waiting: dict[Fault, float] = {}  # with how often each is still to come
        self._used: set[Fault] = set()  # of the remaining ones
        self._removed_unused: deque[Fault] = deque(maxlen=MAX_FAULTS)
        self._numbers = itertools.count(1)

    def add(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """Add the fault of a valid document; None if there are too many."""
        document = {"times": 1, **document}
        numbers: dict[str, Any] = {
            name: None if document.get(name) is None else int(document[name]) for name in RANGES
        }
        with self._lock:
            if len(self.waiting) >= MAX_FAULTS:
                return None
            fault = Fault(
                f"flt_{next(self._numbers)}",
                **{name: document.get(name) for name in TEXTS},
                delay=document.get("delay"),
                pattern=path_pattern(document.get("path", "*")),
                **numbers,
            )
            self.waiting[fault] = math.inf if fault.times is None else fault.times
        return fault.document(fault.times)

    def take(self, operation: str | None, method: str, path: str) -> Fault | None:
        """The first fault that matches, counted down; at zero it is removed."""
        with self._lock:
            faults = list(self.waiting)
        for fault in faults:
            if not fault.matches(operation, method, path):  # takes long; outside the lock
                continue
            with self._lock:
                if fault in self.waiting:
                    self._used.add(fault)
                    self.waiting[fault] -= 1
                    if not self.waiting[fault]:
                        self._remove(fault)
                    return fault
        return None

    def unused(self) -> list[Fault]:
        """The faults that no request has met; removed faults come first."""
        with self._lock:
            waiting = [fault for fault in self.waiting if fault not in self._used]
            return [*self._removed_unused, *waiting]

    def _remove(self, fault: Fault) -> None:
        del self.waiting[fault]
        if fault not in self._used:
            self._removed_unused.append(fault)
        self._used.discard(fault)

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            waiting = list(self.waiting.items())
        return [
            fault.document(None if remaining == math.inf else int(remaining))
            for fault, remaining in waiting
        ]

    def remove(self, fault_id: str | None = None) -> None:
        """Remove one fault, or all."""
        with self._lock:
            for fault in list(self.waiting):
                if fault_id in (None, fault.id):
                    self._remove(fault)


def path_pattern(path: str) -> re.Pattern[str]:
    """A shell pattern of paths as `web.routing` decodes them; its `*` matches `/` too.

    It may be encoded, decoded or in part both, as a path is in an address, in a log and in the
    journal. An encoded character is no wildcard.
    """
    decoded = _ENCODED.sub(lambda match: escape(decode_segment(match[0])), path)
    return re.compile(translate(decoded))


def check_fault(document: dict[str, Any], operations: Collection[str]) -> Iterator[FieldError]:
    """The errors of a fault that a client sends; `operations` are the ids of the contract."""
    yield from unknown_members(document, (*TEXTS, "delay", *RANGES))
    if "operation" in document:
        if document["operation"] not in operations:
            yield FieldError("/operation", f"must be one of {', '.join(operations)}")
        if document.keys() & {"method", "path"}:
            yield FieldError("", "must have either an operation, or a method and a path")
    if not document.keys() & {"status", "delay", "cut"}:
        yield FieldError("", "must have a status, a delay or a cut")
    if "method" in document and not is_string(document["method"], METHOD):
        yield FieldError("/method", "must be a method in upper case")
    if "path" in document and not is_string(document["path"], PATTERN):
        yield FieldError("/path", "must be a pattern of 1 to 256 characters")
    if "body" in document:
        if not is_string(document["body"], BODY):
            yield FieldError("/body", "must be a string of at most 10,000 characters")
        if "status" not in document:
            yield FieldError("/body", "needs a status")
    if "content_type" in document:
        if not is_string(document["content_type"], CONTENT_TYPE):
            yield FieldError("/content_type", "must be a media type of at most 128 characters")
        if "body" not in document:
            yield FieldError("/content_type", "needs a body")
    if "delay" in document and not is_number(document["delay"], 0, MAX_DELAY):
        yield FieldError("/delay", f"must be a number of seconds from 0 to {MAX_DELAY}")
    for name, (least, most) in RANGES.items():
        if name not in document or (name == "times" and document[name] is None):
            continue
        if not is_integer(document[name], least, most):
            yield FieldError(f"/{name}", f"must be an integer from {least} to {most}")
