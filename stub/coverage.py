"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf
from threading import Lock
from typing import Any

from web.routing import OPERATIONS

from .contract import Contract
from .entry import Recorded
from .grease.axes import AXES
from .paths import shown_path
from .tokens import WorldName

MAX_KINDS = 1000  # of a tenant
OTHERS = "others"
FINDINGS = ("violations", "unpromised", "rejected")  # kinds; `rejected` are operations and statuses
WITH_FIRST = (*FINDINGS, "grease")  # kinds whose first request is kept


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact."""

    def __init__(self, contract: Contract) -> None:
        self._lock = Lock()
        self.is_called = False  # whether a request was for /v1
        self._operations = contract.operation_ids
        # By kind, which may be an operation, how often each was met.
        self._counts: dict[str, dict[str, int]] = {
            "violations": {},
            "unpromised": {},
            "rejected": {},
            "deployment_statuses": dict.fromkeys(contract.statuses, 0),
            "grease": dict.fromkeys(AXES, 0),
        }
        for operation in contract.operations:
            statuses = [*operation.responses, "other"]
            self._counts[operation.id] = dict.fromkeys(statuses, 0)
        # Of each finding, as the report shows it: a world, the number there, members of the entry.
        # Also of each axis of grease, and all worlds in which that varied a response.
        self._first: dict[tuple[str, str], dict[str, Any]] = {}
        self._since: dict[tuple[str, str], float] = {}  # when each of these began
        # How many more of a kind each tenant may be the first to show, and has shown.
        self._room = {kind: MAX_KINDS - len(each) for kind, each in self._counts.items()}
        self._used: Counter[tuple[str, str]] = Counter()
        self._varied: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def count(
        self, world: WorldName, recorded: Recorded, counted: Sequence[tuple[str, str]]
    ) -> None:
        """Count a request of a world, whose name is masked. Worlds are counted in any order."""
        entry = recorded.entry
        started = entry.started
        with self._lock:
            if not self.is_called:
                self.is_called = shown_path(entry.environ).startswith(OPERATIONS)
            for kind, what in counted:
                counts = self._counts[kind]
                if what not in counts:
                    what = self._new(kind, entry.redactor.text(what), world)
                counts[what] += 1
                if kind in WITH_FIRST and started < self._since.get((kind, what), inf):
                    self._since[kind, what] = started
                    self._first[kind, what] = recorded.first()
                if kind == "grease":
                    self._varied[what].setdefault(recorded.world, started)

    def _new(self, kind: str, what: str, world: WorldName) -> str:
        """What a text is counted as that is new: it has a count of its own if the tenant of a world
        may be the first to show one more of a kind.
        """
        counts = self._counts[kind]
        if what not in counts:
            shown = (kind, world.tenant)
            self._used[shown] += 1
            if self._used[shown] > self._room[kind]:
                what = OTHERS
        counts.setdefault(what, 0)
        return what

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status occurred.

        With `worlds`, what was seen names the world of its first request.
        """
        with self._lock:
            counts = {kind: dict(each) for kind, each in self._counts.items()}
            unpromised = self._rows("unpromised", worlds=worlds)
            violations = self._rows("violations", worlds=worlds)
        operations = {name: counts[name] for name in self._operations}
        declared = not_met = 0
        for statuses in operations.values():
            not_seen = missed(statuses)
            not_met += len(not_seen)
            declared += len(statuses) - 1  # without `other`
        return {
            "operations": operations,
            "deployment_statuses": counts["deployment_statuses"],
            "met": declared - not_met,
            "of": declared,
            "unpromised": unpromised,
            "violations": violations,
            "grease": counts["grease"],
        }

    def _rows(self, kind: str, *, worlds: bool) -> list[dict[str, Any]]:
        rows = []
        for what, count in self._in_order(kind):
            first = self._first[kind, what]
            row = {"what": what, "count": count, "example": first["number"]}
            if worlds:
                row["world"] = first["world"]
            rows.append(row)
        return rows

    def _in_order(self, kind: str) -> list[tuple[str, int]]:
        """What was counted of a kind of finding, by when it was met first."""
        return sorted(self._counts[kind].items(), key=lambda each: self._since[kind, each[0]])

    def called(self) -> list[str]:
        with self._lock:
            return [name for name in self._operations if any(self._counts[name].values())]

    def varied(self, axis: str) -> tuple[dict[str, Any] | None, list[str]]:
        """The first request whose response an axis varied, and the worlds of all; none of a name
        that is no axis.
        """
        with self._lock:
            worlds = self._varied.get(axis, {})
            return self._first.get(("grease", axis)), sorted(worlds, key=lambda each: worlds[each])

    def seen(self) -> list[tuple[str, str, int, dict[str, Any]]]:
        """Of each finding that a request showed: kind, text, how often, and the first request."""
        found = []
        with self._lock:
            for kind in FINDINGS:
                for what, count in self._in_order(kind):
                    first = self._first[kind, what]
                    found.append((kind, what, count, first))
        return found


def missed(counts: dict[str, int]) -> list[str]:
    """The declared statuses of an operation that no response had."""
    return [status for status, count in counts.items() if not count and status != "other"]
