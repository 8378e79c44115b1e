"""The verdict of a run or of a world: the findings that fail it."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from web.patterns import matches

from ..request.coverage import find_unmet
from ..request.findings import KINDS, Finding
from ..world.world import Shared, World
from ..world.worlds import Worlds


def choose_findings(
    found: Iterable[Finding], fail_on: Collection[str], allowed: Collection[str]
) -> tuple[list[Finding], list[str]]:
    """Choose the findings of the kinds `fail_on`, except the allowed findings.

    `allowed` are texts or shell patterns: `"idle: *"`. Return also the patterns that match nothing.
    """
    chosen = []
    used: set[str] = set()
    for finding in found:
        if KINDS[finding.kind].is_chosen and finding.kind not in fail_on:
            continue
        patterns = [pattern for pattern in allowed if matches(pattern, finding.text)]
        if not patterns:
            chosen.append(finding)
        used.update(patterns)
    return chosen, [each for each in allowed if each not in used]


def judge_world(
    world: World, shared: Shared, fail_on: Collection[str], allowed: Collection[str]
) -> dict[str, Any]:
    """Return the JSON of the verdict of a world: `{"passed": true, "findings": [], …}`."""
    coverage = world.coverage
    redactor = shared.redactor
    unused = world.list_unused_faults()
    found = [*coverage.list_findings(), *coverage.find_idle(), *unused]
    findings, unused_patterns = choose_findings(found, fail_on, allowed)
    return {
        "passed": not findings,
        "findings": [asdict(finding) for finding in findings],
        "unused_patterns": [redactor.mask(each) for each in unused_patterns],
        "is_called": coverage.is_called,
    }


class Verdict:
    """The verdict of a run: of the requests to all worlds, and of `more` findings."""

    def __init__(
        self,
        worlds: Worlds,
        fail_on: Collection[str] = (),
        allowed: Collection[str] = (),
        more: Iterable[Finding] = (),
    ) -> None:
        shared = worlds.shared
        coverage = shared.coverage
        unused = worlds.list_unused_faults()
        self._seen = coverage.list_findings()
        found = [*self._seen, *coverage.find_idle(), *unused, *more]
        self.findings, unused_patterns = choose_findings(found, fail_on, allowed)
        self.unused_patterns = [shared.redactor.mask(each) for each in unused_patterns]
        self.is_called = coverage.is_called
        self._document = {
            **coverage.document(worlds=True),
            "unused_faults": [{"what": each.what, "count": each.count} for each in unused],
        }

    def format_table(self) -> str:
        """Format the coverage as text; it is empty if there were no requests.

        A line is `listProjects  200 x3; not met: 401 503`.
        """
        document = self._document
        operations = document["operations"]
        called = [name for name, counts in operations.items() if any(counts.values())]
        if not called and not document["violations"]:
            return ""
        lines = [f"coverage: {document['met']} of {document['of']} responses met"]
        width = max(map(len, operations))
        for name, counts in operations.items():
            met = [f"{status} x{count}" for status, count in counts.items() if count]
            shown = ", ".join(met) or "nothing"
            not_met = " ".join(find_unmet(counts))
            lines.append(f"  {name:{width}}  {shown}; not met: {not_met}")
        for kind in ("unpromised", "violations"):
            lines += self._format_findings(kind)
        return "\n".join(lines) + "\n"

    def _format_findings(self, kind: str, most: int = 20) -> list[str]:
        """Format the findings of a kind, and the number of those beyond the first `most`."""
        found = [each for each in self._seen if each.kind == kind]
        lines = [f"{each.text} (x{each.count}, first: {each.first_name})" for each in found[:most]]
        if len(found) > most:
            lines.append(f"{kind}: {len(found) - most} more")
        return lines

    def document(self, exit_status: int) -> dict[str, Any]:
        """Return the JSON of the verdict in the report."""
        findings = [asdict(finding) for finding in self.findings]
        return {**self._document, "findings": findings, "exit_status": exit_status}
