"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock
from typing import Any

from web.routing import OPERATIONS

from .contract import Contract
from .entry import REQUEST, Entry, request_name
from .grease.axes import AXES

MAX_KINDS = 1000
MAX_PRINTED = 20  # of a kind, at the end
OTHERS = "others"


@dataclass
class Seen:
    """How often something was seen, and the first such request, as the report shows it: its world,
    its number there, and members of its entry.
    """

    first: dict[str, Any]
    times: int = 0


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact."""

    def __init__(self, contract: Contract) -> None:
        self._lock = Lock()
        self.is_called = False  # whether a request was for /v1
        self._operations = {
            operation.id: dict.fromkeys([*operation.responses, "other"], 0)
            for operation in contract.operations
        }
        self._statuses = Counter(dict.fromkeys(contract.statuses, 0))
        self._grease = Counter(dict.fromkeys(AXES, 0))
        # What was seen, by the kind of finding; `rejected` has operations with a status.
        self._seen: dict[str, dict[str, Seen]] = {
            kind: {} for kind in ("violations", "unpromised", "rejected")
        }
        self._whole: deque[tuple[dict[str, Any], int]] = deque()  # first requests, and their bytes
        self.size = 0  # bytes that these keep

    def count(self, world: str, number: int, entry: Entry) -> None:
        with self._lock:
            self.is_called |= entry.line[1].startswith(OPERATIONS)
            if entry.operation:
                counts, status = self._operations[entry.operation], str(entry.plain_status)
                counts[status if status in counts else "other"] += 1
            if entry.deployment_status:
                self._statuses[bounded(entry.deployment_status, self._statuses)] += 1
            for axis in entry.grease:
                self._grease[axis] += 1
            first = None
            for kind, what in entry.found:
                seen = self._seen[kind]
                what = bounded(what, seen)
                if what not in seen:
                    first = first or self._keep(world, number, entry)
                    seen[what] = Seen(first)
                seen[what].times += 1

    def _keep(self, world: str, number: int, entry: Entry) -> dict[str, Any]:
        """The first request of a finding. Secrets are masked, and the body is cut."""
        first = {"world": world, "number": number, **entry.members(REQUEST)}
        self._whole.append((first, entry.size))
        self.size += entry.size
        return first

    def drop(self) -> int:
        """Forget the headers and the body of the oldest first request, if any; return its bytes."""
        with self._lock:
            if not self._whole:
                return 0
            first, size = self._whole.popleft()
            first.update(headers={}, body="")
            self.size -= size
            return size

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status occurred.

        With `worlds`, what was seen names the world of its first request.
        """
        members = ["world"] if worlds else []
        with self._lock:
            operations = {name: dict(counts) for name, counts in self._operations.items()}
            statuses, grease = dict(self._statuses), dict(self._grease)
            rows = {
                kind: [
                    {"what": what, "count": seen.times, "example": seen.first["number"]}
                    | {name: seen.first[name] for name in members}
                    for what, seen in self._seen[kind].items()
                ]
                for kind in ("unpromised", "violations")
            }
        declared = [
            count
            for counts in operations.values()
            for status, count in counts.items()
            if status != "other"
        ]
        return {
            "operations": operations,
            "deployment_statuses": statuses,
            "met": sum(map(bool, declared)),
            "of": len(declared),
            **rows,
            "grease": grease,
        }

    def seen(self) -> list[tuple[str, str, int, dict[str, Any] | None]]:
        """Of each finding that a request showed: kind, text, how often, and the first request."""
        with self._lock:
            return [
                (kind, what, seen.times, seen.first)
                for kind, found in self._seen.items()
                for what, seen in found.items()
            ]


def bounded(what: str, known: Collection[str]) -> str:
    """The text itself, or `OTHERS` where it would be one more than `MAX_KINDS`."""
    return what if what in known or len(known) < MAX_KINDS else OTHERS


def table(document: dict[str, Any]) -> str:
    """The coverage of a run as text; empty if there were no requests."""
    is_met = any(any(counts.values()) for counts in document["operations"].values())
    if not (is_met or document["violations"]):
        return ""
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
