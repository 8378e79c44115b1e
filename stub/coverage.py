"""The coverage: the outcomes of the contract that were met, and what nobody promised."""

from threading import Lock
from typing import Any

from web.routing import OPERATIONS

from .contract import Contract
from .entry import Entry
from .grease.axes import AXES

MAX_KINDS = 1000
OTHERS = "others"
FINDINGS = ("violations", "unpromised", "rejected")  # kinds; `rejected` are operations and statuses
WITH_FIRST = (*FINDINGS, "grease")  # kinds whose first request is kept
# What is kept of the first request of a finding. Secrets are masked, and the body is cut.
REQUEST = ("number", "method", "path", "query", "headers", "body", "status", "code", "reason")


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact."""

    def __init__(self, contract: Contract) -> None:
        self._lock = Lock()
        self.is_called = False  # whether a request was for /v1
        self._operations = [each.id for each in contract.operations]
        # By kind, which may be an operation, how often each was met.
        self._counts: dict[str, dict[str, int]] = {
            "deployment_statuses": dict.fromkeys(contract.statuses, 0),
            "grease": dict.fromkeys(AXES, 0),
            **{
                each.id: dict.fromkeys([*each.responses, "other"], 0)
                for each in contract.operations
            },
            **{kind: {} for kind in FINDINGS},
        }
        # Of each finding, as the report shows it: a world, the number there, members of the entry.
        # Also of each axis of grease, and all worlds in which that varied a response.
        self._first: dict[tuple[str, str], dict[str, Any]] = {}
        self._varied: dict[str, dict[str, None]] = {}

    def count(self, world: str, number: int, entry: Entry) -> None:
        with self._lock:
            self.is_called |= entry.environ["PATH_INFO"].startswith(OPERATIONS)
            for kind, what in entry.counted:
                counts = self._counts[kind]
                if what not in counts:
                    what = what if len(counts) < MAX_KINDS else OTHERS
                if kind in WITH_FIRST and not counts.get(what):
                    self._first[kind, what] = first_of(world, number, entry)
                if kind == "grease":
                    self._varied.setdefault(what, {})[world] = None
                counts[what] = counts.get(what, 0) + 1

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status occurred.

        With `worlds`, what was seen names the world of its first request.
        """
        with self._lock:
            counts = {kind: dict(each) for kind, each in self._counts.items()}
            first = dict(self._first)
        operations = {name: counts[name] for name in self._operations}
        of = sum(map(len, operations.values())) - len(operations)  # without `other`
        rows = {
            kind: [
                {"what": what, "count": count, "example": first[kind, what]["number"]}
                | ({"world": first[kind, what]["world"]} if worlds else {})
                for what, count in counts[kind].items()
            ]
            for kind in ("unpromised", "violations")
        }
        return {
            "operations": operations,
            "deployment_statuses": counts["deployment_statuses"],
            "met": of - sum(len(missed(each)) for each in operations.values()),
            "of": of,
            **rows,
            "grease": counts["grease"],
        }

    def called(self) -> list[str]:
        """The operations that were called."""
        with self._lock:
            return [each for each in self._operations if any(self._counts[each].values())]

    def varied(self, axis: str) -> tuple[dict[str, Any] | None, list[str]]:
        """The first request whose response an axis varied, and the worlds of all of these."""
        with self._lock:
            return self._first.get(("grease", axis)), [*self._varied.get(axis, ())]

    def seen(self) -> list[tuple[str, str, int, dict[str, Any] | None]]:
        """Of each finding that a request showed: kind, text, how often, and the first request."""
        with self._lock:
            return [
                (kind, what, count, self._first[kind, what])
                for kind in FINDINGS
                for what, count in self._counts[kind].items()
            ]


def first_of(world: str, number: int, entry: Entry) -> dict[str, Any]:
    """The request that showed a finding first, as the report has it."""
    shown = entry.document(number)
    return {"world": world} | {name: shown[name] for name in REQUEST}


def missed(counts: dict[str, int]) -> list[str]:
    """The declared statuses of an operation that no response had."""
    return [status for status, count in counts.items() if not count and status != "other"]
