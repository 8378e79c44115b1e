"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from collections import Counter, deque
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


class Seen(NamedTuple):
    """How often something was seen, and the first such request: its world, its number there, and
    its entry.
    """

    times: int
    world: str
    number: int
    entry: Entry

    def request(self) -> dict[str, Any]:
        """The request as the report shows it: secrets are masked, long parts are cut."""
        shown = self.entry.members(SHOWN)
        return {"world": self.world, "number": self.number, **shown}


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
        # What was seen, by the kind of finding; `rejected` has operations with a status.
        self._seen: dict[str, dict[str, Seen]] = {
            kind: {} for kind in ("violations", "unpromised", "rejected")
        }
        self._whole: deque[tuple[str, str]] = deque()  # kind and text, with the whole first entry
        self.size = 0  # bytes that these entries keep

    def count(
        self, world: str, number: int, entry: Entry, outcome: Counted, *, is_forced: bool
    ) -> None:
        """Count a request; `is_forced` is whether `Prefer` or a fault requested its response."""
        is_rejected = entry.operation and entry.status in REJECTED and not is_forced
        found = (
            ("violations", entry.violations),
            ("unpromised", entry.unpromised),
            ("rejected", (f"{entry.operation} {entry.status}",) if is_rejected else ()),
        )
        operation, status, deployment_status = outcome
        with self._lock:
            is_surplus = outcome not in self._outcomes and len(self._outcomes) >= MAX_KINDS
            if is_surplus and deployment_status not in (None, *self._contract.statuses):
                outcome = operation, status, OTHERS
            self._outcomes[outcome] += 1
            self.is_called |= entry.line[1].startswith(OPERATIONS)
            for axis in entry.grease:
                self._grease[axis] += 1
            for kind, sentences in found:
                seen = self._seen[kind]
                for what in sentences:
                    if what not in seen and len(seen) >= MAX_KINDS:
                        what = OTHERS
                    if what not in seen:
                        self._whole.append((kind, what))
                        self.size += entry.size
                    first = seen.get(what) or Seen(0, world, number, entry)
                    seen[what] = first._replace(times=first.times + 1)

    def drop(self) -> int:
        """Forget the headers and the bodies of the oldest first entry; return its bytes."""
        with self._lock:
            if not self._whole:
                return 0
            kind, what = self._whole.popleft()
            seen = self._seen[kind][what]
            bare = seen.entry.bare()
            self._seen[kind][what] = seen._replace(entry=bare)
            self.size -= seen.entry.size
            return seen.entry.size

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
                **{kind: rows(self._seen[kind], worlds) for kind in ("unpromised", "violations")},
                "grease": dict(self._grease),
            }

    def seen(self) -> list[tuple[str, str, Seen]]:
        """The kind and the text of each finding that a request showed."""
        with self._lock:
            return [(kind, *each) for kind, found in self._seen.items() for each in found.items()]

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
            found = document[kind]
            for row in found[:MAX_PRINTED]:
                first = request_name(row["world"], row["example"])
                lines.append(f"{kind}: {row['what']} (x{row['count']}, first: {first})")
            if len(found) > MAX_PRINTED:
                lines.append(f"{kind}: {len(found) - MAX_PRINTED} more")
        return "\n".join(lines) + "\n"


def rows(found: dict[str, Seen], worlds: bool) -> list[dict[str, Any]]:
    return [
        {"what": what, "count": seen.times, "example": seen.number}
        | ({"world": seen.world} if worlds else {})
        for what, seen in found.items()
    ]
