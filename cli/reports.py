"""Formats the report of a run: as JSON, or as JUnit XML for CI servers."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import stub

from .options import Settings

if TYPE_CHECKING:
    from .probe import Probe


class Failure(NamedTuple):
    """A finding as a line, and as details the request that showed it."""

    message: str
    details: str = ""

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.details}".strip()


class Case(NamedTuple):
    """A test case of a report. Without failures it passes, or is skipped for a reason."""

    name: str
    failures: Sequence[Failure] = ()
    skipped: str = ""

    @property
    def message(self) -> str:
        """The first failure, since CI servers show no more: `no request (and 2 more)`."""
        first, *more = self.failures
        return f"{first.message} (and {len(more)} more)" if more else first.message


def format_junit(suite: str, cases: Sequence[Case]) -> str:
    """Format test cases as JUnit XML for Jenkins and GitLab."""
    failed = [case for case in cases if case.failures]
    skipped = [case for case in cases if case.skipped]
    counts = {
        "name": suite,
        "tests": str(len(cases)),
        "failures": str(len(failed)),
        "errors": "0",
    }
    root = Element("testsuites", counts)
    element = SubElement(root, "testsuite", counts, skipped=str(len(skipped)))
    for case in cases:
        tested = SubElement(element, "testcase", name=replace_invalid(case.name), classname=suite)
        if case.failures:
            failure = SubElement(tested, "failure", message=replace_invalid(case.message))
            texts = [each.text for each in case.failures]
            failure.text = replace_invalid("\n\n".join(texts))
        elif case.skipped:
            SubElement(tested, "skipped", message=replace_invalid(case.skipped))
    indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, encoding='unicode')}\n"


def replace_invalid(text: str) -> str:
    """Replace characters that XML 1.0 cannot have, even escaped (§2.2), by `?`."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def is_xml(path: Path | None) -> bool:
    """Return whether a report is JUnit XML, such as `report.xml`, and not JSON."""
    return path is not None and path.suffix.lower() == ".xml"


def format_report(
    settings: Settings,
    verdict: stub.Verdict,
    probe: "Probe | None",
    command_status: int | None,
    status: int,
) -> str:
    """Format the report of a run. `status` is the exit status of the program."""
    if is_xml(settings.report):
        cases = list_cases(verdict, settings.fail_on, probe, command_status)
        return format_junit("deployment-stub", [*cases])
    document = verdict.document(status)
    if probe:
        from .probe_report import describe_probe

        document["probe"] = describe_probe(probe)
    return json.dumps(document, indent=2) + "\n"


def list_cases(
    verdict: stub.Verdict,
    fail_on: Collection[str],
    probe: "Probe | None",
    command_status: int | None,
) -> Iterator[Case]:
    """Make test cases for the kinds of findings, for the command, and for --probe."""
    found: dict[str, list[Failure]] = {kind: [] for kind in stub.CHOICES}
    for finding in verdict.findings:
        first = finding.first
        details = json.dumps(first, indent=2, ensure_ascii=False) if first else ""
        failures = found.setdefault(finding.kind, [])
        failures.append(Failure(finding.sentence, details))
    for kind, failures in found.items():
        is_judged = failures or kind in fail_on
        yield Case(kind, failures, "" if is_judged else "--fail-on does not name it")
    if command_status is not None:
        ended = Failure(f"the command has ended with status {command_status}")
        yield Case("command", [ended] if command_status else [])
    if probe:
        yield Case("probe", [Failure(f"no request in {name}") for name in probe.not_run])
