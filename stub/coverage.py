"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from collections import Counter
from threading import Lock
from typing import Any, NamedTuple

from .contract import Contract
from .grease.axes import AXES
from .journal import Entry

MAX_KINDS = 1000
MAX_PRINTED = 20  # of a kind, at the end
OTHERS = "others"


class Tally:
    """How often each thing was seen, and which request of which world showed it first."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int, str]] = {}

    def add(self, what: str, count: int, example: int, world: str) -> None:
        if what not in self._seen and len(self._seen) >= MAX_KINDS:
            what = OTHERS
        before, example, world = self._seen.get(what, (0, example, world))
        self._seen[what] = before + count, example, world

    def add_all(self, other: "Tally") -> None:
        for what, seen in other._seen.items():
            self.add(what, *seen)

    def document(self, *, worlds: bool) -> list[dict[str, Any]]:
        return [
            {"what": what, "count": count, "example": example}
            | ({"world": world} if worlds else {})
            for what, (count, example, world) in self._seen.items()
        ]


class Count(NamedTuple):
    """What is counted of a request: its operation, the status of the response without grease, that
    of the deployment in it, and whether the response was requested with `Prefer` or a fault.
    """

    operation: str | None
    status: int
    shown: str | None
    is_forced: bool


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact."""

    def __init__(self, contract: Contract, world: str = "") -> None:
        self._lock = Lock()
        self._contract = contract
        self._world = world
        self._outcomes: Counter[Count] = Counter()
        self._grease = Counter(dict.fromkeys(AXES, 0))
        self._unpromised = Tally()
        self._violations = Tally()
        self._successor: Coverage | None = None

    def count(self, number: int, entry: Entry, outcome: Count, world: str | None = None) -> None:
        """Count a request, which has this number in the journal of its world."""
        world = self._world if world is None else world
        with self._lock:
            if self._successor is None:
                self._count(outcome, 1)
                for axis in entry.grease:
                    self._grease[axis] += 1
                for what in entry.unpromised:
                    self._unpromised.add(what, 1, number, world)
                for what in entry.violations:
                    self._violations.add(what, 1, number, world)
                return
        self._successor.count(number, entry, outcome, world)

    def _count(self, outcome: Count, count: int) -> None:
        is_full = len(self._outcomes) >= MAX_KINDS and outcome not in self._outcomes
        if is_full and outcome.shown not in (None, *self._contract.statuses):
            outcome = outcome._replace(shown=OTHERS)
        self._outcomes[outcome] += count

    def add_to(self, run: "Coverage", *, for_good: bool = False) -> None:
        """Add all counts to those of a run; with `for_good`, later ones go there, too."""
        with self._lock, run._lock:
            for outcome, count in self._outcomes.items():
                run._count(outcome, count)
            run._grease.update(self._grease)
            run._unpromised.add_all(self._unpromised)
            run._violations.add_all(self._violations)
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
            for outcome, count in self._outcomes.items():
                if outcome.operation is not None:
                    counts = outcomes[outcome.operation]
                    status = str(outcome.status)
                    counts[status if status in counts else "other"] += count
                if outcome.shown is not None:
                    statuses[outcome.shown] += count
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

    def unforced(self) -> Counter[tuple[str, int]]:
        """How often each operation had each status that nobody requested."""
        counts: Counter[tuple[str, int]] = Counter()
        with self._lock:
            for outcome, count in self._outcomes.items():
                if outcome.operation is not None and not outcome.is_forced:
                    counts[outcome.operation, outcome.status] += count
        return counts

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
                world = f" of world {row['world']}" if row["world"] else ""
                first = f"first in request {row['example']}{world}"
                lines.append(f"{kind}: {row['what']} (x{row['count']}, {first})")
            if len(rows) > MAX_PRINTED:
                lines.append(f"{kind}: {len(rows) - MAX_PRINTED} more")
        return "\n".join(lines) + "\n"
