"""The failures of `--probe failures`: their faults, and how a client reacted to them.

Times are seconds of `time.perf_counter()`. A reset and the clock of a world do not change them.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from flask import Response, g, request

from traffic.exchange import find_field

from .request import findings
from .request.entry import Recorded
from .request.faults import Fault
from .request.outcome import identify

WRONG_BODY, STALLED = "wrong-body", "stalled"
STALL = 20.0  # seconds
PAGE = "<!DOCTYPE html>\n<title>Sign in</title>\n<p>Sign in to continue.\n"
FAULTS = {
    "unavailable": Fault("unavailable", status=503, headers={"Retry-After": "1"}),
    "lost-response": Fault("lost-response", drop=True, performed=True),
    "cut-body": Fault("cut-body", cut=10),  # Every body is longer.
    WRONG_BODY: Fault(WRONG_BODY, status=200, body=PAGE, content_type="text/html"),
    STALLED: Fault(STALLED, delay=STALL),
}
"""The faults by the names of the failures."""


class Attempt(NamedTuple):
    """A request of a run, as far as a probe needs it.

    Equal requests have the same `sent`. `key` is the `Idempotency-Key`. The request has `ended`
    when its response was sent, or when the client was gone. `fault` is the name of the failure that
    the request met, for example `"cut-body"`. Then `first` shows the request in a finding.
    """

    operation: str
    method: str
    sent: int
    key: str | None
    arrived: float
    ended: float
    is_success: bool
    fault: str | None = None
    first: findings.FirstRequest | None = None


def read_attempt(recorded: Recorded, sent: int, ended: float) -> Attempt | None:
    """Read the attempt from a journal entry. Return None if it called no operation."""
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
        first=recorded.shown if fault and fault.id in FAULTS else None,
    )


class RunJournal:
    """The attempts of a run, in all of its worlds."""

    def __init__(self, log: Callable[[Response], Response]) -> None:
        self.attempts: list[Attempt] = []
        self._log = log

    def add(self, response: Response) -> Response:
        """Add the attempt of the current request, and log the response: a request's last step."""
        visit = g.get("store")
        recorded: Recorded | None = visit.recorded if visit else None
        if recorded:
            sent = identify(request, recorded.world)
            attempt = read_attempt(recorded, sent, time.perf_counter())
            if attempt:
                self.attempts.append(attempt)
        return self._log(response)


class Failures:
    """The failure of a run. Every operation that succeeded in the plain run meets it once.

    `unavailable` and `wrong-body` replace a response. They spare a request that never succeeded in
    the plain run. The remaining failures change the first successful response.
    """

    def __init__(self, name: str, plain: Collection[Attempt]) -> None:
        self._fault = FAULTS[name]
        succeeded = [attempt for attempt in plain if attempt.is_success]
        self._failing = {each.sent for each in plain} - {each.sent for each in succeeded}
        self.waiting = {each.operation for each in succeeded}

    def replace(self, operation: str, sent: int) -> Fault | None:
        """Return the fault that replaces the response to a request, or None."""
        if self._fault.status is None or sent in self._failing:
            return None
        return self._take(operation)

    def spoil(self, operation: str) -> Fault | None:
        """Return the fault that changes a successful response, or None."""
        return self._take(operation) if self._fault.status is None else None

    def _take(self, operation: str) -> Fault | None:
        try:
            self.waiting.remove(operation)  # A single step, since requests come at the same time.
        except KeyError:
            return None
        return self._fault


class Reaction(NamedTuple):
    """The reaction of a client to a failure. Without an `attempt`, no request met the failure.

    The client sent the request again `again_after` some seconds: `[0.5, 1.0]`. It closed the
    connection of a stalled request after some seconds, or `waited` to the end. It `accepted` a
    wrong body.
    """

    attempt: Attempt | None = None
    again_after: Sequence[float] = ()
    same_key: bool = False
    closed_after: float | None = None
    waited: bool = False
    accepted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the JSON of the reaction in the report: `{"met": true, "again_after": [], …}`."""
        members = self._asdict()
        return {"met": members.pop("attempt") is not None, **members}


def read_reactions(
    name: str, plain: Collection[Attempt], attempts: Collection[Attempt], *, is_broken: bool
) -> dict[str, Reaction]:
    """Read the reactions of a client to a failure like `cut-body`, by operation.

    A broken run may have ended before the later requests of the plain run.
    """
    before = sorted(plain, key=attrgetter("arrived"))
    ordered = sorted(attempts, key=attrgetter("arrived"))
    reactions = {}
    for place, attempt in enumerate(ordered):
        if attempt.fault != name:
            continue
        again = find_repetitions(place, before, ordered, is_broken=is_broken)
        keys = {each.key for each in (attempt, *again)}
        following = [each.sent for each in ordered[place + 1 : place + 2]]
        is_polling = following == [attempt.sent]
        seconds = attempt.ended - attempt.arrived
        is_closed = name == STALLED and seconds < STALL
        reactions[attempt.operation] = Reaction(
            attempt,
            [round(max(0.0, each.arrived - attempt.ended), 2) for each in again],
            same_key=bool(again) and len(keys) == 1 and None not in keys,
            closed_after=round(seconds, 2) if is_closed else None,
            waited=name == STALLED and not is_closed,
            accepted=name == WRONG_BODY and not (again or is_polling or is_broken),
        )
    return reactions


def find_repetitions(
    place: int, plain: Sequence[Attempt], attempts: Sequence[Attempt], *, is_broken: bool
) -> list[Attempt]:
    """Find the repetitions of the attempt at a place.

    If a request was sent 2 times in the plain run and 3 times in this run, there is 1 repetition:
    the next equal request. In a broken run, the longest rows of equal requests are compared, too.
    """
    sent = attempts[place].sent
    more = count_equal(attempts, sent) - count_equal(plain, sent)
    if is_broken:
        more = max(more, find_longest_rows(attempts)[sent] - find_longest_rows(plain)[sent])
    later = [each for each in attempts[place + 1 :] if each.sent == sent]
    return later[: max(0, more)]


def count_equal(attempts: Sequence[Attempt], sent: int) -> int:
    return sum(each.sent == sent for each in attempts)


def find_longest_rows(attempts: Sequence[Attempt]) -> Counter[int]:
    """Return the length of the longest row of equal requests, by the `sent` of the requests."""
    longest = Counter[int]()
    for sent, row in groupby(attempt.sent for attempt in attempts):
        longest[sent] = max(longest[sent], len(list(row)))
    return longest


def find_wrong_reactions(
    name: str, reactions: Mapping[str, Reaction]
) -> Iterator[findings.Finding]:
    """Find the wrong reactions to a failure, as `repeats: createProject after lost-response`."""
    is_performed = FAULTS[name].status is None
    for operation, reaction in reactions.items():
        attempt = reaction.attempt
        assert attempt
        what = f"{operation} after {name}"
        is_duplicate = attempt.method == "POST" and not reaction.same_key
        if is_performed and reaction.again_after and is_duplicate:
            seconds = reaction.again_after[0]
            yield findings.make_finding("repeats", what, 1, attempt.first, seconds=seconds)
        if reaction.accepted:
            yield findings.make_finding("accepts", what, 1, attempt.first)
