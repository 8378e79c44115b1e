"""The coverage: the responses of the contract that requests met, and the findings of requests."""

from collections import defaultdict
from threading import Lock
from typing import Any

from profiles.openapi import Contract
from web.routing import PREFIX

from ..grease.axes import AXES
from . import findings
from .entry import REJECTED, Entry, Recorded

FOUND = ("violations", "unpromised", "rejected")
"""The kinds of findings that requests show."""


class Coverage:
    """The coverage of a world, or of a whole run. All counts are exact.

    The first request of a finding is shown whole for at most `most` findings. The first request of
    another finding has only its world and its number. `total`, the coverage of the run, counts the
    same requests.
    """

    def __init__(self, contract: Contract, most: int, total: "Coverage | None" = None) -> None:
        self._most = most
        self._total = total
        self._lock = Lock()
        self.is_called = False  # True after a request to /v1
        # The counts of responses: `_responses["getDeployment"]["404"]`.
        self._responses: dict[str, dict[str, int]] = {}
        for operation in contract.operations:
            statuses = [*operation.responses, "other"]
            self._responses[operation.id] = dict.fromkeys(statuses, 0)
        # The counts of a kind: `_counts["violations"]["no operation: GET /v2"]`.
        self._counts: dict[str, dict[str, int]] = {
            "violations": {},
            "unpromised": {},
            "rejected": {},
            "deployment_statuses": dict.fromkeys(contract.statuses, 0),
            "grease": dict.fromkeys(AXES, 0),
        }
        # The first request of every finding, and of every axis of grease.
        self._first: dict[tuple[str, str], findings.FirstRequest] = {}
        # The worlds in which an axis varied a response, in order.
        self._varied: defaultdict[str, dict[str, bool]] = defaultdict(dict)

    def count(self, recorded: Recorded) -> None:
        """Count a request, here and in the total."""
        counted = list_counted(recorded.entry)
        self._count(recorded, counted)
        if self._total:
            self._total._count(recorded, counted)

    def _count(self, recorded: Recorded, counted: list[tuple[str, str]]) -> None:
        entry = recorded.entry
        with self._lock:
            if not self.is_called:
                self.is_called = entry.exchange.path.startswith(PREFIX)
            if entry.operation:
                counts = self._responses[entry.operation.id]
                status = str(entry.applied.status)
                counts[status if status in counts else "other"] += 1
            for kind, what in counted:
                counts = self._counts[kind]
                if what not in counts:
                    what = entry.redactor.mask(what)  # A status of a seed may be a token.
                counts[what] = counts.get(what, 0) + 1
                if kind in FOUND or kind == "grease":
                    self._remember_first(kind, what, recorded)

    def _remember_first(self, kind: str, what: str, recorded: Recorded) -> None:
        """Remember the first request of a finding or an axis. The caller holds the lock."""
        if kind == "grease":
            self._varied[what][recorded.world] = True
        if (kind, what) not in self._first:
            has_room = len(self._first) < self._most
            self._first[kind, what] = recorded.shown if has_room else recorded.place

    def document(self, *, worlds: bool = False) -> dict[str, Any]:
        """Return the JSON of the coverage.

        `of` is the number of declared responses, and `met` the number of those that requests met.
        With `worlds`, a finding has the world of its first request.
        """
        with self._lock:
            operations = {name: dict(counts) for name, counts in self._responses.items()}
            statuses_read = dict(self._counts["deployment_statuses"])
            grease = dict(self._counts["grease"])
            unpromised = self._list("unpromised")
            violations = self._list("violations")
        declared = not_met = 0
        for statuses in operations.values():
            not_met += len(find_unmet(statuses))
            declared += len(statuses) - 1  # `other` is not declared.
        return {
            "operations": operations,
            "deployment_statuses": statuses_read,
            "met": declared - not_met,
            "of": declared,
            "unpromised": [export_finding(each, worlds=worlds) for each in unpromised],
            "violations": [export_finding(each, worlds=worlds) for each in violations],
            "grease": grease,
        }

    def list_findings(self) -> list[findings.Finding]:
        """List the findings of requests."""
        with self._lock:
            return [finding for kind in FOUND for finding in self._list(kind)]

    def _list(self, kind: str) -> list[findings.Finding]:
        """List the findings of a kind, oldest first. The caller holds the lock."""
        found = []
        for what, count in self._counts[kind].items():
            found.append(findings.make_finding(kind, what, count, self._first[kind, what]))
        return found

    def find_idle(self) -> list[findings.Finding]:
        """Return a finding for every operation that no request called."""
        called = self.list_called()
        idle = [name for name in self._responses if name not in called]
        return [findings.make_finding("idle", name) for name in idle]

    def list_called(self) -> list[str]:
        """List the called operations: `["listProjects"]`."""
        with self._lock:
            return [name for name, counts in self._responses.items() if any(counts.values())]

    def describe_axis(self, axis: str) -> tuple[int, findings.FirstRequest | None, list[str]]:
        """Return the number of responses that an axis varied, the first request, and the worlds."""
        with self._lock:
            worlds = [*self._varied[axis]]
            return self._counts["grease"][axis], self._first.get(("grease", axis)), worlds


def list_counted(entry: Entry) -> list[tuple[str, str]]:
    """List the kinds and texts that an entry counts for: `[("rejected", "createProject 422")]`."""
    status = entry.applied.status
    found = [("grease", axis) for axis in entry.applied.axes]
    if entry.operation and status in REJECTED and not entry.is_requested:
        found.append(("rejected", f"{entry.operation.id} {status}"))
    if entry.status_read:
        found.append(("deployment_statuses", entry.status_read))
    found += [("unpromised", each) for each in entry.unpromised]
    found += [("violations", each) for each in entry.violations]
    return found


def export_finding(finding: findings.Finding, *, worlds: bool) -> dict[str, Any]:
    """Return the JSON of a finding: `{"what": "…", "count": 2, "example": 27}`."""
    first = finding.first or {}
    row = {"what": finding.what, "count": finding.count, "example": first["number"]}
    if worlds:
        row["world"] = first["world"]
    return row


def find_unmet(counts: dict[str, int]) -> list[str]:
    """Return the declared statuses of an operation that no response had: `["404"]`."""
    return [status for status, count in counts.items() if not count and status != "other"]
