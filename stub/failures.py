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

FAILURES = ("unavailable", "lost-response", "cut-body", "wrong-body", "stalled")
UNAVAILABLE, LOST, CUT, WRONG_BODY, STALLED = FAILURES
RETRY_AFTER = 1  # seconds
CUT_AFTER = 10  # bytes, which is inside each body
PAGE = "<!DOCTYPE html>\n<title>Sign in</title>\n<p>Sign in to continue.\n"
MET = {
    "met": True,
    "again_after": [],
    "same_key": False,
    "closed_after": None,
    "waited": False,
    "accepted": False,
}
NOT_MET = {**MET, "met": False}


@dataclass(eq=False)
class Attempt:
    """A request, and what the client did then, for the report.

    `sent` is the same for those that repeat it; `key` is its Idempotency-Key.
    """

    operation: str
    method: str
    sent: int
    key: str | None = None
    arrived: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # when the server got its response, or the client had closed
    is_success: bool = False
    first: FirstRequest | None = None  # itself, for a finding
    reaction: dict[str, Any] = field(default_factory=MET.copy)


@dataclass(eq=False)
class Failures:
    """Counts the requests of a run, and lets each operation meet the failure `name` once.

    The first request with a 2xx response meets it, if the operation had one in the `plain` run. An
    outage and a wrong body are decided before there is a response: they skip requests that only
    failed in the plain run. The plain run itself has no failure. `stall` is in seconds.
    """

    name: str = ""
    plain: "Failures | None" = None
    stall: float = 20.0
    met: dict[str, Attempt] = field(default_factory=dict)  # by operation
    attempts: list[Attempt] = field(default_factory=list)
    reactions: dict[str, dict[str, Any]] = field(default_factory=dict)  # by operation

    def __post_init__(self) -> None:
        faults = {
            UNAVAILABLE: Fault(UNAVAILABLE, status=503, headers={"Retry-After": str(RETRY_AFTER)}),
            LOST: Fault(LOST, drop=True, performed=True),
            CUT: Fault(CUT, cut=CUT_AFTER),
            WRONG_BODY: Fault(WRONG_BODY, status=200, body=PAGE, content_type="text/html"),
            STALLED: Fault(STALLED, delay=self.stall),
        }
        self._fault = faults.get(self.name)
        # Of the plain run.
        self._sent = Counter[int]()
        self._succeeding: set[int] = set()
        self._operations: set[str] = set()
        for attempt in self.plain.attempts if self.plain else ():
            self._sent[attempt.sent] += 1
            if attempt.is_success:
                self._succeeding.add(attempt.sent)
                self._operations.add(attempt.operation)

    @property
    def is_performed(self) -> bool:
        """Whether an operation that meets the failure is performed."""
        return self.name in (LOST, CUT, STALLED)

    def arrive(self, request: Request, operation: str, world: str) -> Attempt:
        """Count a request with a valid token."""
        sent = (request.method, raw_target(request.environ), world, request.get_data())
        key = request.headers.get("Idempotency-Key") or None
        attempt = Attempt(operation, request.method, hash(sent), key)
        self.attempts.append(attempt)
        return attempt

    def take(self, attempt: Attempt) -> Fault | None:
        if attempt.operation not in self._operations:
            return None
        sent = attempt.sent
        only_failed = sent in self._sent and sent not in self._succeeding
        if only_failed and not self.is_performed:
            return None
        first = self.met.setdefault(attempt.operation, attempt)
        return self._fault if first is attempt else None

    def confirm(self, attempt: Attempt, response: Response, fault: Fault | None) -> Fault | None:
        """Note whether a request succeeds. Without a success it does not meet its fault, which is
        left for a later one; a requested response stays.
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
            again = self._repetitions(attempt, is_broken=is_broken)
            reaction = attempt.reaction
            reaction["again_after"] = [seconds_between(attempt, each) for each in again]
            keys = {each.key for each in (attempt, *again)}
            reaction["same_key"] = bool(again) and len(keys) == 1 and None not in keys
            is_taken = not again and not is_broken and not self._is_sent_next(attempt)
            reaction["accepted"] = self.name == WRONG_BODY and is_taken
            self.reactions[operation] = reaction

    def _repetitions(self, attempt: Attempt, *, is_broken: bool) -> list[Attempt]:
        """The repetitions of a request.

        These are the first later requests that sent the same, as many as there are more than in
        the plain run; in a broken run, as many as there are more in a row.
        """
        sent = attempt.sent
        alike = [each for each in self.attempts if each.sent == sent]
        later = [each for each in alike if each.arrived > attempt.arrived]
        more = len(alike) - self._sent[sent]
        if is_broken and self.plain:
            in_a_row = longest_rows(self.attempts)[sent] - longest_rows(self.plain.attempts)[sent]
            more = max(more, in_a_row)
        return later[: max(0, more)]

    def _is_sent_next(self, attempt: Attempt) -> bool:
        """Whether the next request sent the same, as one of a client that polls."""
        place = self.attempts.index(attempt)
        following = self.attempts[place + 1 : place + 2]
        return [each.sent for each in following] == [attempt.sent]

    def findings(self) -> Iterator[Finding]:
        """What the client did wrong."""
        for operation, attempt in self.met.items():
            what = f"{operation} after {self.name}"
            first = attempt.first
            reaction = attempt.reaction
            again_after = reaction["again_after"]
            seconds = again_after[0] if again_after else None
            is_duplicate = attempt.method == "POST" and not reaction["same_key"]
            if seconds is not None and self.is_performed and is_duplicate:
                yield finding_of("repeats", what, 1, first, seconds=seconds)
            if seconds is not None and self.name == UNAVAILABLE and seconds < RETRY_AFTER:
                yield finding_of("hurries", what, 1, first, seconds=seconds, least=RETRY_AFTER)
            if reaction["waited"]:
                yield finding_of("waits", what, 1, first, seconds=self.stall)
            if reaction["accepted"]:
                yield finding_of("accepts", what, 1, first)


def seconds_between(attempt: Attempt, repeated: Attempt) -> float:
    return round(max(0.0, repeated.arrived - attempt.ended), 2)


def longest_rows(attempts: Iterable[Attempt]) -> Counter[int]:
    """By what was sent, the most requests that came one after the other."""
    longest = Counter[int]()
    for sent, row in groupby(attempt.sent for attempt in attempts):
        longest[sent] = max(longest[sent], len(list(row)))
    return longest
