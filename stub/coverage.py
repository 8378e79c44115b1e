"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from collections import Counter
from collections.abc import Iterable
from threading import Lock
from typing import Any

from .contract import Contract
from .grease import AXES
from .journal import Entry

MAX_KINDS = 1000
MAX_PRINTED = 20  # of a kind, at the end
OTHERS = "others"


class Tally:
    """How often each thing was seen, and the number of the request that showed it first."""

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}

    def add(self, whats: Iterable[str], number: int) -> None:
        for what in whats:
            if what not in self._seen and len(self._seen) >= MAX_KINDS:
                what = OTHERS
            self._seen.setdefault(what, [0, number])[0] += 1

    def document(self) -> list[dict[str, Any]]:
        return [
            {"what": what, "count": count, "example": example}
            for what, (count, example) in self._seen.items()
        ]


class Coverage:
    """The coverage of a world. All counts are exact."""

    def __init__(self, contract: Contract) -> None:
        self._lock = Lock()
        self._contract = contract
        # By operation, status of the response and status of the deployment in it.
        self._seen: Counter[tuple[str | None, int, str | None]] = Counter()
        self._grease = Counter(dict.fromkeys(AXES, 0))
        self._unpromised = Tally()
        self._violations = Tally()

    def count(self, number: int, entry: Entry, outcome: int, shown: str | None) -> None:
        """Count one request, which has this number in the journal.

        `outcome` is the status before grease, `shown` that of the deployment in the response.
        """
        with self._lock:
            seen = (entry.operation, outcome, shown)
            if len(self._seen) >= MAX_KINDS and seen not in self._seen:
                declared = (None, *self._contract.statuses)
                seen = (entry.operation, outcome, shown if shown in declared else OTHERS)
            self._seen[seen] += 1
            for axis in entry.grease:
                self._grease[axis] += 1
            if entry.unpromised:
                self._unpromised.add(entry.unpromised, number)
            if entry.violations:
                self._violations.add(entry.violations, number)

    def document(self) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status were seen."""
        outcomes = {
            operation.id: dict.fromkeys([*operation.promised, "other"], 0)
            for operation in self._contract.operations
        }
        statuses = Counter(dict.fromkeys(self._contract.statuses, 0))
        with self._lock:
            for (operation, outcome, shown), count in self._seen.items():
                if operation is not None:
                    counts = outcomes[operation]
                    counts[str(outcome) if str(outcome) in counts else "other"] += count
                if shown is not None:
                    statuses[shown] += count
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
                "unpromised": self._unpromised.document(),
                "violations": self._violations.document(),
                "grease": dict(self._grease),
            }

    def table(self) -> str:
        """The same for a terminal; empty if there were no requests."""
        if not self._seen:
            return ""
        document = self.document()
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
            lines += [
                f"{kind}: {row['what']} (x{row['count']}, first in request {row['example']})"
                for row in rows[:MAX_PRINTED]
            ]
            if len(rows) > MAX_PRINTED:
                lines.append(f"{kind}: {len(rows) - MAX_PRINTED} more in /_stub/coverage")
        return "\n".join(lines) + "\n"
