"""The failures of `--probe failures`: their faults, and what a client did after each.

Times are seconds of `time.perf_counter()`: neither the clock of a world nor a reset changes them.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from flask import Request, Response, g, request

from traffic.exchange import find_field
from web.routing import read_target

from .entry import Recorded
from .faults import Fault
from .findings import Finding, FirstRequest, finding_of

UNAVAILABLE, LOST, CUT = "unavailable", "lost-response", "cut-body"
WRONG_BODY, STALLED = "wrong-body", "stalled"
STALL = 20.0  # seconds
PAGE = "<!DOCTYPE html>\n<title>Sign in</title>\n<p>Sign in to continue.\n"
FAULTS = {
    UNAVAILABLE: Fault(UNAVAILABLE, status=503, headers={"Retry-After": "1"}),
    LOST: Fault(LOST, drop=True, performed=True),
    CUT: Fault(CUT, cut=10),  # which is inside each body
    WRONG_BODY: Fault(WRONG_BODY, status=200, body=PAGE, content_type="text/html"),
    STALLED: Fault(STALLED, delay=STALL),
}
PERFORMED = (LOST, CUT, STALLED)  # failures of an operation that is performed
FAILURES = tuple(FAULTS)


class Attempt(NamedTuple):
    """A request of a run, read from its entry in the journal.

    `sent` is equal for requests that repeat each other, and `key` is the Idempotency-Key. The
    request has `ended` when its response was sent, or the client was gone.
    """

    operation: str
    method: str
    sent: int
    key: str | None
    arrived: float
    ended: float
    is_success: bool
    fault: str | None = None  # its id: the name of a failure
    first: FirstRequest | None = None  # as a finding shows the request, if it met a failure


def read_attempt(recorded: Recorded, sent: int, ended: float) -> Attempt | None:
    """Read the attempt at an operation from the entry of its request, if it was one."""
    entry = recorded.entry
    if entry.operation is None:
        return None
    fault = entry.applied.fault
    exchange = entry.exchange
    return Attempt(
        operation=entry.operation.id,
        method=exchange.method,
        sent=sent,
        key=find_field(exchange.request_fields, "Idempotency-Key") or None,
        arrived=entry.started,
        ended=ended,
        is_success=200 <= exchange.status < 300,
        fault=fault.id if fault else None,
        first=recorded.first() if fault and fault.id in FAULTS else None,
    )


class RunJournal:
    """The attempts of a run, of all its worlds. Its `add` is the last step of a request."""

    def __init__(self, log: Callable[[Response], Response]) -> None:
        self.attempts: list[Attempt] = []
        self._log = log

    def add(self, response: Response) -> Response:
        """Keep the attempt of the current request, if it was one, and log the response."""
        visit = g.get("store")
        recorded: Recorded | None = visit.recorded if visit else None
        if recorded:
            sent = identify(request, recorded.world)
            attempt = read_attempt(recorded, sent, time.perf_counter())
            if attempt:
                self.attempts.append(attempt)
        return self._log(response)


def identify(request: Request, world: str) -> int:
    """Return a number that is equal for requests that send the same to the same world."""
    return hash((request.method, read_target(request.environ), world, request.get_data()))


class Failures:
    """The faults of a run. Each operation that succeeded in the plain run meets its fault once.

    The fault of `unavailable` or `wrong-body` stands in place of a response. It spares requests
    that only failed in the plain run. The other faults change the first response that succeeds.
    """

    def __init__(self, name: str, plain: Collection[Attempt]) -> None:
        self._fault = FAULTS[name]
        succeeded = [attempt for attempt in plain if attempt.is_success]
        self._failing = {each.sent for each in plain} - {each.sent for each in succeeded}
        self.waiting = {each.operation for each in succeeded}  # that have not met it yet

    def replace(self, operation: str, sent: int) -> Fault | None:
        """Return the fault that stands in place of the response to a request, if one does."""
        if self._fault.status is None or sent in self._failing:
            return None
        return self._take(operation)

    def spoil(self, operation: str) -> Fault | None:
        """Return the fault that changes the response to a request that succeeded, if one does."""
        return self._take(operation) if self._fault.status is None else None

    def _take(self, operation: str) -> Fault | None:
        try:
            self.waiting.remove(operation)  # in one step, for requests at once
        except KeyError:
            return None
        return self._fault


class Reaction(NamedTuple):
    """What a client did after its `attempt` had met a failure; without one, it met none."""

    attempt: Attempt | None = None
    again_after: Sequence[float] = ()  # seconds
    same_key: bool = False
    closed_after: float | None = None  # seconds of a stall
    waited: bool = False  # to the end of a stall
    accepted: bool = False  # a wrong body

    def document(self) -> dict[str, Any]:
        """The wire form in the report."""
        members = self._asdict()
        return {"met": members.pop("attempt") is not None, **members}


def read_reactions(
    name: str, plain: Collection[Attempt], attempts: Collection[Attempt], *, is_broken: bool
) -> dict[str, Reaction]:
    """Read what a client did in the run of a failure, by operation.

    A run that is broken may not have come to the later requests of the plain run.
    """
    before = sorted(plain, key=attrgetter("arrived"))
    ordered = sorted(attempts, key=attrgetter("arrived"))
    reactions = {}
    for place, attempt in enumerate(ordered):
        if attempt.fault != name:
            continue
        again = find_repetitions(place, before, ordered, is_broken=is_broken)
        keys = {each.key for each in (attempt, *again)}
        follows = [each.sent for each in ordered[place + 1 : place + 2]]
        polls = follows == [attempt.sent]
        seconds = attempt.ended - attempt.arrived
        is_closed = name == STALLED and seconds < STALL
        reactions[attempt.operation] = Reaction(
            attempt,
            [round(max(0.0, each.arrived - attempt.ended), 2) for each in again],
            same_key=bool(again) and len(keys) == 1 and None not in keys,
            closed_after=round(seconds, 2) if is_closed else None,
            waited=name == STALLED and not is_closed,
            accepted=name == WRONG_BODY and not (again or polls or is_broken),
        )
    return reactions


def find_repetitions(
    place: int, plain: Sequence[Attempt], attempts: Sequence[Attempt], *, is_broken: bool
) -> list[Attempt]:
    """Find the repetitions of the attempt at this place.

    These are the first later attempts that sent the same, as many as there are more than in the
    plain run; in a broken run, as many as there are more in a row.
    """
    sent = attempts[place].sent
    more = count_alike(attempts, sent) - count_alike(plain, sent)
    if is_broken:
        more = max(more, longest_rows(attempts)[sent] - longest_rows(plain)[sent])
    later = [each for each in attempts[place + 1 :] if each.sent == sent]
    return later[: max(0, more)]


def count_alike(attempts: Sequence[Attempt], sent: int) -> int:
    return sum(each.sent == sent for each in attempts)


def longest_rows(attempts: Sequence[Attempt]) -> Counter[int]:
    """Count, by what was sent, the most attempts that came one after the other."""
    longest = Counter[int]()
    for sent, row in groupby(attempt.sent for attempt in attempts):
        longest[sent] = max(longest[sent], len(list(row)))
    return longest


def find_wrong_reactions(name: str, reactions: Mapping[str, Reaction]) -> Iterator[Finding]:
    """Find what a client did wrong after a failure."""
    for operation, reaction in reactions.items():
        attempt = reaction.attempt
        assert attempt
        what = f"{operation} after {name}"
        is_duplicate = attempt.method == "POST" and not reaction.same_key
        if name in PERFORMED and reaction.again_after and is_duplicate:
            seconds = reaction.again_after[0]
            yield finding_of("repeats", what, 1, attempt.first, seconds=seconds)
        if reaction.accepted:
            yield finding_of("accepts", what, 1, attempt.first)
