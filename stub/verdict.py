"""The verdict of a run: its coverage, and what in it a team wants to fail on."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .coverage import Coverage, missed
from .entry import REJECTED, request_name
from .faults import Fault
from .redaction import Redactor
from .timelines import matches
from .worlds import Worlds

MAX_PRINTED = 20  # of a kind, in the coverage as text
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


FirstRequest = dict[str, Any]  # as a report shows it


@dataclass(frozen=True)
class Finding:
    """Something to fail on, how often it was seen, and the request that showed it first.

    Of a fault that no request met, `first` has the world alone.
    """

    kind: str
    what: str
    count: int
    advice: str
    first: FirstRequest | None = None

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.what}"

    def line(self) -> str:
        return f"finding: {self.sentence}\n"

    @property
    def sentence(self) -> str:
        """The finding, how often it was seen, where first, and what to do."""
        notes = []
        if self.count > 1:
            notes.append(f"x{self.count}")
        first = self._name_first()
        if first:
            notes.append(f"first: {first}")
        shown = f" ({', '.join(notes)})" if notes else ""
        return f"{self.text}{shown}: {self.advice}"

    def _name_first(self) -> str:
        """The world and the number of the first request, and the reason for which it failed."""
        if self.first is None:
            return ""
        world = self.first["world"]
        number = self.first["number"]
        name = f"world {world}" if world else ""
        if number:
            name = request_name(world, number)
        reason = self.first.get("reason")
        return ": ".join(filter(None, (name, reason)))


def finding_of(kind: str, what: str, count: int = 0, first: FirstRequest | None = None) -> Finding:
    return Finding(kind, what, count, KINDS[kind], first)


def judge(
    worlds: Worlds,
    fail_on: Collection[str] = (),
    allowed: Collection[str] = (),
    more: Collection[Finding] = (),
) -> "Verdict":
    """The verdict of all requests so far, to all worlds.

    `more` are findings that the requests alone do not show.
    """
    common = worlds.common
    return Verdict(
        worlds.coverage(),
        worlds.unused_faults(),
        common.rejections.counted(),
        common.redactor,
        fail_on,
        allowed,
        more,
        worlds.dropped(),
    )


class Verdict:
    """The verdict of a run, or of a world.

    `unused_faults` are those that no request met, each with its world. `rejections` are the
    server's own: how many, and the first. `fail_on` are the kinds of findings.
    `allowed` are texts, or shell patterns, of findings to ignore. `more` are findings that the
    requests alone do not show. `dropped` is how many entries the journals dropped.
    """

    def __init__(
        self,
        coverage: Coverage,
        unused_faults: Collection[tuple[str, Fault]],
        rejections: Collection[tuple[int, FirstRequest]],
        redactor: Redactor,
        fail_on: Collection[str],
        allowed: Collection[str],
        more: Collection[Finding] = (),
        dropped: int = 0,
    ) -> None:
        unused = findings_of_faults(unused_faults, redactor)
        self.is_called = coverage.is_called
        self._document = {
            **coverage.document(worlds=True),
            "rejected_by_the_server": [
                {"status": first["status"], "code": first["code"], "count": count}
                for count, first in rejections
            ],
            "unused_faults": [{"what": each.what, "count": each.count} for each in unused],
            "dropped": dropped,
        }
        found = [finding_of(*each) for each in coverage.seen()]
        found += findings_of_rejections(rejections)
        found += findings_of_operations(self._document["operations"])
        found += unused
        found = [each for each in found if each.kind in fail_on]
        found += more
        self.findings: list[Finding] = []
        used: list[str] = []
        for finding in found:
            patterns = [pattern for pattern in allowed if matches(pattern, finding.text)]
            if not patterns:
                self.findings.append(finding)
            used += patterns
        self.unused_patterns = [redactor.text(each) for each in allowed if each not in used]

    def table(self) -> str:
        """The coverage as text; empty if there were no requests."""
        document = self._document
        operations = document["operations"]
        violations = document["violations"]
        called = [name for name, counts in operations.items() if any(counts.values())]
        if not called and not violations:
            return ""
        lines = [f"coverage: {document['met']} of {document['of']} outcomes met"]
        width = max(map(len, operations))
        for name, counts in operations.items():
            met = [f"{status} x{count}" for status, count in counts.items() if count]
            shown = ", ".join(met) or "nothing"
            not_met = " ".join(missed(counts))
            lines.append(f"  {name:{width}}  {shown}; not met: {not_met}")
        for kind in ("unpromised", "violations"):
            rows = document[kind]
            for row in rows[:MAX_PRINTED]:
                first = request_name(row["world"], row["example"])
                lines.append(f"{kind}: {row['what']} (x{row['count']}, first: {first})")
            if len(rows) > MAX_PRINTED:
                lines.append(f"{kind}: {len(rows) - MAX_PRINTED} more")
        return "\n".join(lines) + "\n"

    def gate(self) -> dict[str, Any]:
        return {
            "passed": not self.findings,
            "findings": [asdict(finding) for finding in self.findings],
            "unused_patterns": self.unused_patterns,
            "is_called": self.is_called,
        }

    def document(self, exit_status: int) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {**self._document, "findings": findings, "exit_status": exit_status}


def findings_of_faults(
    unused_faults: Collection[tuple[str, Fault]], redactor: Redactor
) -> list[Finding]:
    counts = Counter[str]()
    first: dict[str, FirstRequest] = {}
    for world, fault in unused_faults:
        what = redactor.text(fault.describe())
        counts[what] += 1
        first.setdefault(what, {"world": world, "number": None})
    return [finding_of("unused-faults", what, n, first[what]) for what, n in counts.items()]


def findings_of_rejections(rejections: Collection[tuple[int, FirstRequest]]) -> Iterator[Finding]:
    for count, first in rejections:
        if first["status"] in REJECTED:
            what = f"before the app {first['status']} {first['code']}"
            yield finding_of("rejected", what, count, first)


def findings_of_operations(operations: dict[str, dict[str, int]]) -> Iterator[Finding]:
    for name, counts in operations.items():
        for status in missed(counts):
            yield finding_of("missed", f"{name} {status}")
        if not any(counts.values()):
            yield finding_of("idle", name)
