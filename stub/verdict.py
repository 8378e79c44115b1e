"""The verdict of a run: its coverage, and what in it a team wants to fail on."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from web.access_log import REJECTED
from web.redaction import Redactor

from .coverage import Coverage, table
from .entry import request_name
from .faults import Fault
from .worlds import RejectedRequest

# Each kind of finding, and what to do about it.
KINDS = {
    "violations": "send what the interface fixes; the service may reject this",
    "unpromised": "do without it; no document promises it",
    "rejected": "correct the request; the contract does not allow it",
    "missed": "test it: send such a request, or force an error with `Prefer: code=`",
    "idle": "call the operation",
    "unused-faults": "send the request that the fault is for, or do not add the fault",
}


def parse_kinds(values: Iterable[str], known: Collection[str] = KINDS) -> list[str]:
    """The kinds in these values, separated by commas; `ValueError` for one that is not known."""
    kinds = [kind.strip() for value in values for kind in value.split(",")]
    for kind in kinds:
        if kind not in known:
            raise ValueError(f"{kind!r} is unknown: there are {', '.join(known)}")
    return kinds


@dataclass(frozen=True)
class Finding:
    """Something to fail on, how often it was seen, and the request that showed it first."""

    kind: str
    what: str
    count: int
    advice: str
    first: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.what}"

    def line(self) -> str:
        notes = [f"x{self.count}"] if self.count > 1 else []
        if self.first:
            world, number, reason = (self.first[name] for name in ("world", "number", "reason"))
            name = request_name(world, number) if number else ""
            notes.append(f"first: {': '.join(filter(None, (name, reason)))}")
        shown = f" ({', '.join(notes)})" if notes else ""
        return f"finding: {self.text}{shown}: {self.advice}\n"


class Verdict:
    """The verdict of a run, or of a world.

    `rejections` are the server's own. `fail_on` are the kinds of findings. `allowed` are texts, or
    shell patterns, of findings to ignore. `more` are findings that the requests alone do not show.
    `dropped` is how many entries the journals dropped.
    """

    def __init__(
        self,
        coverage: Coverage,
        unused_faults: Collection[Fault],
        rejections: Collection[tuple[int, RejectedRequest]],
        redactor: Redactor,
        fail_on: Collection[str],
        allowed: Collection[str],
        more: Collection[Finding] = (),
        dropped: int = 0,
    ) -> None:
        self._is_called = coverage.is_called
        self._document = coverage.document(worlds=True)
        self.varied: dict[str, int] = self._document["grease"]  # responses, by axis
        self._unused_faults = Counter(each.describe(redactor.text) for each in unused_faults)
        self._rejections = rejections
        self._dropped = dropped
        found = [
            Finding(kind, what, count, KINDS[kind], first)
            for kind, what, count, first in self._seen(coverage, redactor)
            if kind in fail_on
        ]
        found += more
        self.findings = [
            each for each in found if not any(matches(pattern, each.text) for pattern in allowed)
        ]
        self.of_requests = [each for each in self.findings if each not in more]
        self.unused_patterns = [
            pattern for pattern in allowed if not any(matches(pattern, each.text) for each in found)
        ]

    def table(self) -> str:
        """The coverage as text."""
        return table(self._document)

    def gate(self) -> dict[str, Any]:
        """What a job needs of the verdict of its world."""
        findings = [asdict(finding) for finding in self.findings]
        return {
            "passed": not findings,
            "findings": findings,
            "unused_patterns": self.unused_patterns,
            "is_called": self._is_called,
        }

    def document(self, exit_status: int) -> dict[str, Any]:
        """The report."""
        return {
            **self._document,
            "rejected_by_the_server": [
                {"status": rejection.status, "code": rejection.code, "count": count}
                for count, rejection in self._rejections
            ],
            "unused_faults": [
                {"what": what, "count": count} for what, count in self._unused_faults.items()
            ],
            "dropped": self._dropped,
            "findings": [asdict(finding) for finding in self.findings],
            "exit_status": exit_status,
        }

    def _seen(
        self, coverage: Coverage, redactor: Redactor
    ) -> Iterator[tuple[str, str, int, dict[str, Any] | None]]:
        """All that may be found: kind, what, how often, and the first such request."""
        yield from coverage.seen()
        for count, rejection in self._rejections:
            if rejection.status in REJECTED:
                what = f"before the app {rejection.status} {rejection.code}"
                yield "rejected", what, count, rejection.document(redactor)
        operations = self._document["operations"].items()
        for operation, counts in operations:
            for status, count in counts.items():
                if not count and status != "other":
                    yield "missed", f"{operation} {status}", 0, None
        for operation, counts in operations:
            if not any(counts.values()):
                yield "idle", operation, 0, None
        for what, count in self._unused_faults.items():
            yield "unused-faults", what, count, None


def matches(pattern: str, text: str) -> bool:
    """Whether a text of --allow is this one, or a shell pattern that matches it."""
    return pattern == text or fnmatchcase(text, pattern)
