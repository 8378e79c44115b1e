"""The coverage: the responses of the contract that were met, and what nobody promised."""

from collections import defaultdict
from threading import Lock
from typing import Any

from profiles.openapi import Contract
from web.routing import PREFIX

from ..grease.axes import AXES
from .entry import REJECTED, Entry, Recorded
from .findings import Finding, FirstRequest, finding_of

FINDINGS = ("violations", "unpromised", "rejected")  # kinds; `rejected` are operations and statuses
WITH_FIRST = (*FINDINGS, "grease")  # kinds whose first request is kept


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact.

    What it counts, `total` counts as well: the coverage of the run. `most` is how many findings
    show their first request whole; the rest show its world and number.
    """

    def __init__(self, contract: Contract, most: int, total: "Coverage | None" = None) -> None:
        self._total = total
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
        self._first: dict[tuple[str, str], FirstRequest] = {}
        self._most = most
        self._varied: defaultdict[str, dict[str, bool]] = defaultdict(dict)

    def count(self, recorded: Recorded) -> None:
        """Count a request of a world, here and in the total."""
        counted = list_counted(recorded.entry)
        self._count(recorded, counted)
        if self._total:
            self._total._count(recorded, counted)

    def _count(self, recorded: Recorded, counted: list[tuple[str, str]]) -> None:
        entry = recorded.entry
        first: FirstRequest | None = None
        with self._lock:
            if not self.is_called:
                self.is_called = entry.exchange.path.startswith(PREFIX)
            for kind, what in counted:
                counts = self._counts[kind]
                if what not in counts:
                    what = entry.redactor.mask(what)
                counts[what] = counts.get(what, 0) + 1
                if kind in WITH_FIRST and (kind, what) not in self._first:
                    if len(self._first) < self._most:
                        first = first or recorded.first()
                    self._first[kind, what] = first or recorded.place()
                if kind == "grease":
                    self._varied[what][recorded.world] = True

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """The wire form; `met` of `of` pairs of operation and declared status occurred.

        With `worlds`, what was seen names the world of its first request.
        """
        with self._lock:
            counts = {kind: dict(each) for kind, each in self._counts.items()}
            unpromised = self._seen("unpromised")
            violations = self._seen("violations")
        operations = {name: counts[name] for name in self._operations}
        declared = not_met = 0
        for statuses in operations.values():
            not_met += len(find_unmet(statuses))
            declared += len(statuses) - 1  # without `other`
        return {
            "operations": operations,
            "deployment_statuses": counts["deployment_statuses"],
            "met": declared - not_met,
            "of": declared,
            "unpromised": [row_of(each, worlds=worlds) for each in unpromised],
            "violations": [row_of(each, worlds=worlds) for each in violations],
            "grease": counts["grease"],
        }

    def findings(self) -> list[Finding]:
        """What requests showed."""
        with self._lock:
            return [finding for kind in FINDINGS for finding in self._seen(kind)]

    def _seen(self, kind: str) -> list[Finding]:
        """The findings of a kind, by when each was met first. The caller holds the lock."""
        found = []
        counts = self._counts[kind]
        for what, count in counts.items():
            found.append(finding_of(kind, what, count, self._first[kind, what]))
        return found

    def find_idle(self) -> list[Finding]:
        """Return a finding for each operation that no request called."""
        called = self.called()
        return [finding_of("idle", name) for name in self._operations if name not in called]

    def called(self) -> list[str]:
        with self._lock:
            return [name for name in self._operations if any(self._counts[name].values())]

    def varied(self, axis: str) -> tuple[int, FirstRequest | None, list[str]]:
        """How many responses an axis varied, the first request of them, and the worlds of all."""
        with self._lock:
            worlds = [*self._varied[axis]]
            return self._counts["grease"][axis], self._first.get(("grease", axis)), worlds


def list_counted(entry: Entry) -> list[tuple[str, str]]:
    """List what an entry counts for, each with its kind: `[("createProject", "201")]`."""
    applied = entry.applied
    operation = entry.operation
    found = [("grease", axis) for axis in applied.axes]
    if operation:
        status = str(applied.status)
        found.append((operation.id, status if status in operation.responses else "other"))
        if applied.status in REJECTED and not entry.is_requested:
            found.append(("rejected", f"{operation.id} {status}"))
    if entry.status_read:
        found.append(("deployment_statuses", entry.status_read))
    found += [("unpromised", each) for each in entry.unpromised]
    found += [("violations", each) for each in entry.violations]
    return found


def row_of(finding: Finding, *, worlds: bool) -> dict[str, Any]:
    """The wire form of a finding in a coverage."""
    first = finding.first or {}
    row = {"what": finding.what, "count": finding.count, "example": first["number"]}
    if worlds:
        row["world"] = first["world"]
    return row


def find_unmet(counts: dict[str, int]) -> list[str]:
    """Return the declared statuses of an operation that no response had, such as `["404"]`."""
    return [status for status, count in counts.items() if not count and status != "other"]
