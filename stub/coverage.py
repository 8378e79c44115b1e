"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

import time
from collections import Counter
from threading import Lock
from typing import Any, NamedTuple

from web.access_log import REJECTED
from web.routing import OPERATIONS

from .contract import Contract
from .entry import Entry, request_name
from .grease.axes import AXES

MAX_KINDS = 1000
MAX_PRINTED = 20  # of a kind, at the end
OTHERS = "others"
SHOWN = ("method", "path", "query", "headers", "body", "status", "code", "reason")


class First(NamedTuple):
    """The request that showed something first: when, its world, its number there, and its entry.

    `at` is of `time.perf_counter()`, which all worlds share.
    """

    at: float
    world: str
    number: int
    entry: Entry

    def document(self) -> dict[str, Any]:
        """The request as the report shows it: secrets are masked, long parts are cut."""
        return {"world": self.world, "number": self.number, **self.entry.members(SHOWN)}


Seen = tuple[int, First]
"""How often something was seen, and where first."""


class Tally:
    """What was seen, up to `MAX_KINDS` different things."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}

    def add(self, what: str, count: int, first: First) -> None:
        if what not in self.seen and len(self.seen) >= MAX_KINDS:
            what = OTHERS
        before, known = self.seen.get(what, (0, first))
        self.seen[what] = before + count, first if first.at < known.at else known

    def add_all(self, other: "Tally") -> None:
        for what, seen in other.seen.items():
            self.add(what, *seen)

    def document(self, *, worlds: bool) -> list[dict[str, Any]]:
        return [
            {"what": what, "count": count, "example": first.number}
            | ({"world": first.world} if worlds else {})
            for what, (count, first) in self.seen.items()
        ]


Counted = tuple[str | None, int, str | None]
"""What is counted of a request: its operation, the status of the response without grease, and that
of the deployment in it.
"""


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact."""

    def __init__(self, contract: Contract) -> None:
        self._lock = Lock()
        self._contract = contract
        self.is_called = False  # whether a request was for /v1
        self._outcomes: Counter[Counted] = Counter()
        self._grease = Counter(dict.fromkeys(AXES, 0))
        self._unpromised = Tally()
        self._violations = Tally()
        self._rejected = Tally()  # operation and status, where nobody requested the response
        self._successor: Coverage | None = None

    def count(
        self, world: str, number: int, entry: Entry, outcome: Counted, *, is_forced: bool
    ) -> None:
        """Count a request; `is_forced` is whether `Prefer` or a fault requested its response."""
        with self._lock:
            if self._successor is None:
                self._count(outcome, 1)
                self.is_called |= entry.line[1].startswith(OPERATIONS)
                for axis in entry.grease:
                    self._grease[axis] += 1
                is_rejected = entry.operation and entry.status in REJECTED and not is_forced
                if not (entry.unpromised or entry.violations or is_rejected):
                    return
                first = First(time.perf_counter(), world, number, entry)
                for what in entry.unpromised:
                    self._unpromised.add(what, 1, first)
                for what in entry.violations:
                    self._violations.add(what, 1, first)
                if is_rejected:
                    self._rejected.add(f"{entry.operation} {entry.status}", 1, first)
                return
        # A reset has replaced the world meanwhile.
        self._successor.count(world, number, entry, outcome, is_forced=is_forced)

    def _count(self, outcome: Counted, count: int) -> None:
        if outcome not in self._outcomes and len(self._outcomes) >= MAX_KINDS:
            operation, status, deployment_status = outcome
            if deployment_status not in (None, *self._contract.statuses):
                outcome = operation, status, OTHERS
        self._outcomes[outcome] += count

    def add_to(self, run: "Coverage", *, for_good: bool = False) -> None:
        """Add all counts to those of a run; with `for_good`, later ones go there, too."""
        with self._lock, run._lock:
            for outcome, count in self._outcomes.items():
                run._count(outcome, count)
            run._grease.update(self._grease)
            run._unpromised.add_all(self._unpromised)
            run._violations.add_all(self._violations)
            run._rejected.add_all(self._rejected)
            run.is_called |= self.is_called
            if for_good:
                self._successor = run

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status occurred.

        With `worlds`, what was seen names the world of its first request.
        """
        outcomes = {
            operation.id: dict.fromkeys([*operation.responses, "other"], 0)
            for operation in self._contract.operations
        }
        statuses = Counter(dict.fromkeys(self._contract.statuses, 0))
        with self._lock:
            for (operation, status, deployment_status), count in self._outcomes.items():
                if operation is not None:
                    counts = outcomes[operation]
                    counts[str(status) if str(status) in counts else "other"] += count
                if deployment_status is not None:
                    statuses[deployment_status] += count
            declared = [
                count
                for counts in outcomes.values()
                for status, count in counts.items()
                if status != "other"
            ]
            return {
                "operations": outcomes,
                "deployment_statuses": dict(statuses),
                "met": sum(map(bool, declared)),
                "of": len(declared),
                "unpromised": self._unpromised.document(worlds=worlds),
                "violations": self._violations.document(worlds=worlds),
                "grease": dict(self._grease),
            }

    def seen(self) -> dict[str, dict[str, Seen]]:
        """What each kind of finding has seen that a request showed."""
        with self._lock:
            return {
                "violations": dict(self._violations.seen),
                "unpromised": dict(self._unpromised.seen),
                "rejected": dict(self._rejected.seen),
            }

    def table(self) -> str:
        """The coverage as text; empty if there were no requests."""
        if not self._outcomes:
            return ""
        document = self.document(worlds=True)
        lines = [f"coverage: {document['met']} of {document['of']} outcomes met"]
        width = max(map(len, document["operations"]))
        for name, counts in document["operations"].items():
            met = [f"{status} x{count}" for status, count in counts.items() if count]
            missed = [status for status, count in counts.items() if not count and status != "other"]
            lines.append(
                f"  {name:{width}}  {', '.join(met) or 'nothing'}; not met: {' '.join(missed)}"
            )
        for kind in ("unpromised", "violations"):
            rows = document[kind]
            for row in rows[:MAX_PRINTED]:
                first = request_name(row["world"], row["example"])
                lines.append(f"{kind}: {row['what']} (x{row['count']}, first: {first})")
            if len(rows) > MAX_PRINTED:
                lines.append(f"{kind}: {len(rows) - MAX_PRINTED} more")
        return "\n".join(lines) + "\n"
