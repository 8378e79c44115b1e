"""The failures of `--probe failures`: each operation meets one once in a run, and what followed.

Times are seconds of the monotonic clock: neither the clock of a world nor a reset changes anything.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from flask import Request, Response

from web.routing import raw_target

from .faults import Fault
from .findings import Finding, FirstRequest, finding_of

FAILURES = ("unavailable", "lost-response", "cut-body", "stalled")
UNAVAILABLE, LOST, CUT, STALLED = FAILURES
RETRY_AFTER = 1  # seconds
CUT_AFTER = 10  # bytes, which is inside each body
MET = {"met": True, "again_after": [], "closed_after": None, "waited": False}
NOT_MET = {**MET, "met": False}


@dataclass(eq=False)
class Attempt:
    """A request, the key of those that repeat it, and what the client did then, for the report."""

    operation: str
    method: str
    key: int
    arrived: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # when the server got its response, or the client had closed
    is_success: bool = False
    first: FirstRequest | None = None  # itself, for a finding
    reaction: dict[str, Any] = field(default_factory=MET.copy)


@dataclass(eq=False)
class Failures:
    """Counts the requests of a run, and lets each operation meet the failure `name` once.

    The first request with a 2xx response meets it, if the operation had one in the `plain` run. An
    outage is decided before there is a response: it skips requests that only failed in the plain
    run. The plain run itself has no failure. `stall` is in seconds.
    """

    name: str = ""
    plain: "Failures | None" = None
    stall: float = 20.0
    met: dict[str, Attempt] = field(default_factory=dict)  # by operation
    attempts: list[Attempt] = field(default_factory=list)
    reactions: dict[str, dict[str, Any]] = field(default_factory=dict)  # by operation

    def __post_init__(self) -> None:
        faults = {
            UNAVAILABLE: Fault(UNAVAILABLE, status=503, retry_after=RETRY_AFTER),
            LOST: Fault(LOST, drop=True, performed=True),
            CUT: Fault(CUT, cut=CUT_AFTER),
            STALLED: Fault(STALLED, stall=self.stall),
        }
        self._fault = faults.get(self.name)
        # Of the plain run.
        self._keys = Counter[int]()
        self._succeeding: set[int] = set()
        self._operations: set[str] = set()
        for attempt in self.plain.attempts if self.plain else ():
            self._keys[attempt.key] += 1
            if attempt.is_success:
                self._succeeding.add(attempt.key)
                self._operations.add(attempt.operation)

    def arrive(self, request: Request, operation: str, world: str) -> Attempt:
        """Count a request with a valid token."""
        sent = (request.method, raw_target(request.environ), world, request.get_data())
        attempt = Attempt(operation, request.method, hash(sent))
        self.attempts.append(attempt)
        return attempt

    def take(self, attempt: Attempt) -> Fault | None:
        if attempt.operation not in self._operations:
            return None
        key = attempt.key
        only_failed = key in self._keys and key not in self._succeeding
        if self.name == UNAVAILABLE and only_failed:
            return None
        first = self.met.setdefault(attempt.operation, attempt)
        return self._fault if first is attempt else None

    def confirm(self, attempt: Attempt, response: Response, fault: Fault | None) -> Fault | None:
        """Note whether a request succeeds. Without a success it does not meet its fault, which is
        left for a later one; an outage stays.
        """
        attempt.is_success = response.status_code < 300
        if fault is None or fault is not self._fault:
            return fault
        if attempt.is_success or fault.status:
            return fault
        del self.met[attempt.operation]
        return None

    def end(self, attempt: Attempt, closed_after: float | None) -> None:
        """Note when a request ended, and after how many seconds the client had closed, if so."""
        attempt.ended = time.monotonic()
        met = self.met.get(attempt.operation)
        if met is attempt and self.name == STALLED:
            reaction = attempt.reaction
            reaction["waited"] = closed_after is None
            reaction["closed_after"] = closed_after

    def settle(self, operations: Iterable[str], *, is_broken: bool = False) -> None:
        """Note the reactions of the client; times are in seconds.

        A run that is broken may not have come to the later requests of the plain run.
        """
        self.reactions = dict.fromkeys(operations, NOT_MET)
        for operation, attempt in self.met.items():
            reaction = attempt.reaction
            reaction["again_after"] = self._repetitions(attempt, is_broken=is_broken)
            self.reactions[operation] = reaction

    def _repetitions(self, attempt: Attempt, *, is_broken: bool) -> list[float]:
        """The seconds after which each repetition of a request came.

        These are the first later requests with its key, as many as there are more than in the
        plain run; in a broken run, as many as there are more in a row.
        """
        key = attempt.key
        alike = [each for each in self.attempts if each.key == key]
        later = [each for each in alike if each.arrived > attempt.arrived]
        more = len(alike) - self._keys[key]
        if is_broken and self.plain:
            in_a_row = longest_rows(self.attempts)[key] - longest_rows(self.plain.attempts)[key]
            more = max(more, in_a_row)
        found = []
        for repeated in later[: max(0, more)]:
            seconds = max(0.0, repeated.arrived - attempt.ended)
            found.append(round(seconds, 2))
        return found

    def findings(self) -> Iterator[Finding]:
        """What the client did wrong."""
        for operation, attempt in self.met.items():
            what = f"{operation} after {self.name}"
            first = attempt.first
            again_after = attempt.reaction["again_after"]
            seconds = again_after[0] if again_after else None
            is_outage = self.name == UNAVAILABLE
            if seconds is not None and not is_outage and attempt.method == "POST":
                yield finding_of("repeats", what, 1, first, seconds=seconds)
            if seconds is not None and is_outage and seconds < RETRY_AFTER:
                yield finding_of("hurries", what, 1, first, seconds=seconds, least=RETRY_AFTER)
            if attempt.reaction["waited"]:
                yield finding_of("waits", what, 1, first, seconds=self.stall)


def longest_rows(attempts: Iterable[Attempt]) -> Counter[int]:
    """By key, the most requests that came one after the other."""
    longest = Counter[int]()
    for key, row in groupby(attempt.key for attempt in attempts):
        longest[key] = max(longest[key], len(list(row)))
    return longest
