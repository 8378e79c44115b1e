"""The failures of `--probe failures`: each operation meets one once in a run, and what followed.

Times are seconds of the monotonic clock: neither the clock of a world nor a reset changes anything.
"""

import time
from collections.abc import Callable, Collection
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


@dataclass(eq=False)
class Attempt:
    """A request of an operation; those that repeat each other have one key.

    It has ended when its response was handed to the server, or when the client closed.
    """

    operation: str
    method: str
    key: int
    arrived: float = field(default_factory=time.monotonic)
    ended: float | None = None
    closed_after: float | None = None
    again_after: list[float] = field(default_factory=list)


class Failures:
    """Counts the requests of a run, and lets each of the `operations` meet the failure `name`.

    The plain run has no name. `stall` is in seconds.
    """

    def __init__(
        self, name: str = "", operations: Collection[str] = (), stall: float = 20.0
    ) -> None:
        self.name = name
        self.stall = stall
        self.met: dict[str, Attempt] = {}
        self.succeeded: set[str] = set()  # operations that had a 2xx response
        self._operations = operations
        self._attempts: list[Attempt] = []

    def arrive(self, request: Request, operation: str, world: str) -> Attempt:
        """Count a request with a valid token."""
        key = hash((request.method, raw_target(request.environ), world, request.get_data()))
        attempt = Attempt(operation, request.method, key)
        self._attempts.append(attempt)
        return attempt

    def store(self, store: Store, attempt: Attempt) -> Store:
        """The store of a request, which may be unavailable."""
        is_unavailable = partial(self.claim, attempt)
        return Outage(store, is_unavailable) if self.name == UNAVAILABLE else store

    def claim(self, attempt: Attempt) -> bool:
        """Whether a request that would succeed meets the failure: the first of its operation."""
        is_first = attempt.operation in self._operations
        return is_first and self.met.setdefault(attempt.operation, attempt) is attempt

    def meet(self, attempt: Attempt, response: Response) -> Fault | None:
        """What the failure does to a response, if the request meets it."""
        if response.status_code < 300:
            self.succeeded.add(attempt.operation)
            if self.name != UNAVAILABLE:
                self.claim(attempt)
        if self.met.get(attempt.operation) is not attempt:
            return None
        size = len(response.get_data())
        return Fault(self.name, cut={LOST: 0, CUT: size // 2}.get(self.name))

    def carry_out(
        self, attempt: Attempt, environ: dict[str, Any], sleep: Callable[[float], None]
    ) -> None:
        """Stall, or send nothing, where that is the failure; note the end."""
        if self.name == STALLED:
            while environ["server.is_open"]() and time.monotonic() < attempt.arrived + self.stall:
                sleep(PAUSE)
            if not environ["server.is_open"]():
                attempt.closed_after = round(time.monotonic() - attempt.arrived, 2)
        if self.name == LOST or attempt.closed_after is not None:
            environ["server.drop"]()
        attempt.ended = time.monotonic()

    def settle(self, plain: "Failures") -> None:
        """Find the repetitions of each request that met the failure: the first later ones with its
        key, as many as there are more than in the plain run.
        """
        for attempt in self.met.values():
            plainly, here = (
                [each.arrived for each in run._attempts if each.key == attempt.key]
                for run in (plain, self)
            )
            more = max(0, len(here) - len(plainly))
            later = [each for each in sorted(here) if each > attempt.arrived]
            end = attempt.ended or attempt.arrived
            attempt.again_after = [round(max(0.0, each - end), 2) for each in later[:more]]


class Outage:
    """A store of which each call that would succeed fails if `is_unavailable` says so."""

    def __init__(self, store: Store, is_unavailable: Callable[[], bool]) -> None:
        self._store = store
        self._is_unavailable = is_unavailable
        self.now = store.now

    def list_projects(self) -> ProjectList:
        self._fail()
        return self._store.list_projects()

    def create_project(self, name: str, sent: str) -> Project:
        if name not in {each.name for each in self._store.list_projects()}:
            self._fail()
        return self._store.create_project(name, sent)

    def get_deployment(self, deployment_id: str) -> Deployment | None:
        if deployment := self._store.get_deployment(deployment_id):
            self._fail()
        return deployment

    def _fail(self) -> None:
        if self._is_unavailable():
            detail = "This outage is of `--probe`: send this again."
            headers = {"Retry-After": str(RETRY_AFTER)}
            raise Problem(503, "injected_fault", detail, headers=headers)
