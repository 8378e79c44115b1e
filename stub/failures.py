"""The failures of `--probe failures`: each operation meets one once in a run, and what followed.

Times are seconds of the monotonic clock: neither the clock of a world nor a reset changes anything.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flask import Request, Response

from records import Deployment, Project, ProjectList
from store import Store
from web.problems import Problem
from web.routing import raw_target

from .faults import Fault

FAILURES = ("unavailable", "lost-response", "cut-body", "stalled")
UNAVAILABLE, LOST, CUT, STALLED = FAILURES
RETRY_AFTER = 1  # seconds
PAUSE = 0.05  # seconds between two looks whether the client has closed
NOT_MET = {"met": False, "again_after": [], "closed_after": None, "waited": False}


@dataclass(eq=False)
class Attempt:
    """A request, the key of those that repeat it, and what the client did then, for the report."""

    operation: str
    method: str
    key: int
    arrived: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # when the server got its response, or the client had closed
    reaction: dict[str, Any] = field(default_factory=lambda: NOT_MET | {"met": True})


@dataclass(eq=False)
class Failures:
    """Counts the requests of a run, and lets each operation meet the failure `name` once.

    It is met by the first request that would have a 2xx response, of an operation that had one in
    the `plain` run. The plain run has no failure. `stall` is in seconds.
    """

    name: str = ""
    plain: "Failures | None" = None
    stall: float = 20.0
    met: dict[str, Attempt] = field(default_factory=dict)  # by operation
    attempts: list[Attempt] = field(default_factory=list)
    reactions: dict[str, dict[str, Any]] = field(default_factory=dict)  # by operation

    def arrive(self, request: Request, operation: str, world: str) -> Attempt:
        """Count a request with a valid token."""
        key = hash((request.method, raw_target(request.environ), world, request.get_data()))
        attempt = Attempt(operation, request.method, key)
        self.attempts.append(attempt)
        return attempt

    def claim(self, attempt: Attempt) -> None:
        """Note that a request would succeed. Raises a 503 if it meets an outage."""
        if self.plain is None or attempt.operation in self.plain.met:
            is_first = self.met.setdefault(attempt.operation, attempt) is attempt
            if is_first and self.name == UNAVAILABLE:
                detail = "This outage is of `--probe`: send this again."
                headers = {"Retry-After": str(RETRY_AFTER)}
                raise Problem(503, "injected_fault", detail, headers=headers)

    def meet(self, attempt: Attempt, response: Response) -> Fault | None:
        """What the failure does to a response, if the request meets it."""
        if self.plain is None or self.met.get(attempt.operation) is not attempt:
            return None
        cut = {LOST: 0, CUT: len(response.get_data()) // 2}.get(self.name)
        return Fault(self.name, cut=cut)

    def carry_out(self, attempt: Attempt, environ: dict[str, Any]) -> None:
        """Stall, or send nothing, where that is the failure; note the end."""
        is_open = self.name != LOST
        if self.name == STALLED:
            end = attempt.arrived + self.stall
            while (is_open := environ["server.is_open"]()) and time.monotonic() < end:
                time.sleep(PAUSE)
            closed_after = None if is_open else round(time.monotonic() - attempt.arrived, 2)
            attempt.reaction |= {"waited": is_open, "closed_after": closed_after}
        environ["server.is_dropped"] = not is_open
        attempt.ended = time.monotonic()

    def settle(self, operations: Iterable[str]) -> None:
        """Note the reactions; times are in seconds. A request that met the failure is repeated by
        the first later ones with its key, as many as there are more than in the plain run.
        """
        self.reactions = dict.fromkeys(operations, NOT_MET)
        plain = [each.key for each in self.plain.attempts] if self.plain else []
        for operation, attempt in self.met.items():
            here = [each.arrived for each in self.attempts if each.key == attempt.key]
            later = [each - attempt.ended for each in here if each > attempt.arrived]
            again = later[: max(0, len(here) - plain.count(attempt.key))]
            attempt.reaction["again_after"] = [round(max(0.0, each), 2) for each in again]
            self.reactions[operation] = attempt.reaction


class Watched:
    """The store of a request, which meets a failure before a call that would succeed."""

    def __init__(self, store: Store, failures: Failures, attempt: Attempt) -> None:
        self._store, self._claim, self.now = store, partial(failures.claim, attempt), store.now

    def list_projects(self) -> ProjectList:
        self._claim()
        return self._store.list_projects()

    def create_project(self, name: str, sent: str) -> Project:
        if name not in {each.name for each in self._store.list_projects()}:
            self._claim()
        return self._store.create_project(name, sent)

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        if deployment := self._store.get_deployment(deployment_id):
            self._claim()
        return deployment
