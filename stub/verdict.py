"""The verdict of a run: its coverage, and what in it a team wants to fail on."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from web.redaction import Redactor

from .coverage import Coverage
from .faults import Fault

# Each kind of finding, and what to do about it.
KINDS = {
    "violations": "send what the interface fixes; the service may reject this",
    "unpromised": "do without it; no document promises it",
    "rejected": "correct the request; the contract does not allow it",
    "missed": "test it: send such a request, or force an error with `Prefer: code=`",
    "idle": "call the operation",
    "unused-faults": "send the request that the fault is for, or do not add the fault",
}
REJECTED = (400, 415, 422)


@dataclass(frozen=True)
class Finding:
    """Something to fail on, and how often it was seen."""

    kind: str
    what: str
    count: int
    advice: str

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.what}"

    def line(self) -> str:
        times = f" (x{self.count})" if self.count > 1 else ""
        return f"finding: {self.text}{times}: {self.advice}\n"


class Verdict:
    """The verdict of a run.

    `rejections` are the server's own, by status and code. `fail_on` are the kinds of findings.
    `allowed` are texts, or shell patterns, of findings to ignore.
    """

    def __init__(
        self,
        coverage: Coverage,
        unused_faults: Collection[Fault],
        rejections: Counter[tuple[int, str]],
        redactor: Redactor,
        fail_on: Collection[str],
        allowed: Collection[str],
    ) -> None:
        self.table = coverage.table()
        self._coverage = coverage.document(worlds=True)
        self._unforced = coverage.unforced()
        self._unused_faults = Counter(each.describe(redactor.text) for each in unused_faults)
        self._rejections = rejections
        found = [
            Finding(kind, what, count, KINDS[kind])
            for kind, what, count in self._seen()
            if kind in fail_on
        ]
        matches = {
            pattern: [
                each for each in found if pattern == each.text or fnmatchcase(each.text, pattern)
            ]
            for pattern in allowed
        }
        ignored = [finding for each in matches.values() for finding in each]
        self.findings = [finding for finding in found if finding not in ignored]
        self.unused_patterns = [pattern for pattern in allowed if not matches[pattern]]

    def document(self, exit_status: int) -> dict[str, Any]:
        """The report."""
        return {
            **self._coverage,
            "rejected_by_the_server": [
                {"status": status, "code": code, "count": count}
                for (status, code), count in self._rejections.items()
            ],
            "unused_faults": [
                {"what": what, "count": count} for what, count in self._unused_faults.items()
            ],
            "findings": [asdict(finding) for finding in self.findings],
            "exit_status": exit_status,
        }

    def _seen(self) -> Iterator[tuple[str, str, int]]:
        for kind in ("violations", "unpromised"):
            for row in self._coverage[kind]:
                yield kind, row["what"], row["count"]
        for (status, code), count in self._rejections.items():
            if status in REJECTED:
                yield "rejected", f"before the app {status} {code}", count
        for (operation, status), count in self._unforced.items():
            if status in REJECTED:
                yield "rejected", f"{operation} {status}", count
        for operation, counts in self._coverage["operations"].items():
            for status, count in counts.items():
                if not count and status != "other":
                    yield "missed", f"{operation} {status}", 0
        for operation, counts in self._coverage["operations"].items():
            if not any(counts.values()):
                yield "idle", operation, 0
        for what, count in self._unused_faults.items():
            yield "unused-faults", what, count
