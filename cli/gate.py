"""The end of a run: prints the coverage and the findings, writes the report, gives the status."""

import json
import sys
from collections.abc import Mapping

import stub

from .command import COULD_NOT_RUN, NOT_FOUND
from .github import add_to_summary, annotate
from .reports import Case, Failure, ReportFile, junit_xml
from .serving import Serving
from .stderr import say


def conclude(run: Serving) -> int:
    """Judge a run that has ended; return the exit status: that of the command if it is not 0.

    With --quiet, a failure is preceded by the latest lines of the log. A report that cannot be
    written is a failure, too.
    """
    command = run.command
    probe = run.probe
    status = command.status if command else 0
    worlds: stub.Worlds = run.app.extensions["worlds"]
    settings = run.settings
    depends = list(probe.findings()) if probe else []
    verdict = stub.judge(worlds, settings.fail_on, settings.allow, depends)
    others = [finding for finding in verdict.findings if finding not in depends]
    if status or others:
        say(run.log.latest())
    if command and status not in (COULD_NOT_RUN, NOT_FOUND) and not verdict.is_called:
        hint = proxy_hint(command.environ)
        say(f"warning: no request to /v1: does the command use STUB_URL?{hint}\n")
    if probe:
        say("".join(probe.summary()))
    print_verdict(verdict, run.environ)
    if status == 0 and verdict.findings:
        status = 1
    if status == 0 and probe and probe.not_run:
        status = 2
    if run.report:
        is_written = write_report(run.report, run, verdict, status)
        if status == 0 and not is_written:
            status = 2
    return status


def print_verdict(verdict: stub.Verdict, environ: Mapping[str, str]) -> None:
    text = verdict.table()
    sentences = []
    for finding in verdict.findings:
        text += finding.line()
        sentences.append(finding.sentence)
    say(text)
    unused = [f"--allow {pattern!r} matches no finding" for pattern in verdict.unused_patterns]
    for warning in unused:
        say(f"warning: {warning}\n")
    annotate(sys.stderr, "error", sentences)
    annotate(sys.stderr, "warning", unused)
    add_to_summary(environ, "deployment-stub", text)


def write_report(file: ReportFile, run: Serving, verdict: stub.Verdict, status: int) -> bool:
    """Write the report of a run, and return whether that was possible."""
    if file.is_xml:
        cases = cases_of(run, verdict)
        text = junit_xml("deployment-stub", cases)
    else:
        document = verdict.document(status)
        if run.probe:
            document["probe"] = run.probe.document()
        text = json.dumps(document, indent=2) + "\n"
    return file.write(text)


def cases_of(run: Serving, verdict: stub.Verdict) -> list[Case]:
    """A test case for each kind of finding, for the command, and for the runs of --probe."""
    command = run.command
    probe = run.probe
    found: dict[str, list[Failure]] = {kind: [] for kind in stub.KINDS}
    for finding in verdict.findings:
        failures = found.setdefault(finding.kind, [])
        failures.append(failure_of(finding))
    cases = []
    for kind, failures in found.items():
        is_judged = failures or kind in run.settings.fail_on
        skipped = "" if is_judged else "--fail-on does not name it"
        cases.append(Case(kind, failures, skipped))
    if command:
        ended = Failure(f"the command has ended with status {command.status}")
        cases.append(Case("command", [ended] if command.status else []))
    if probe:
        not_run = [Failure(f"no request in {name}") for name in probe.not_run]
        cases.append(Case("probe", not_run))
    return cases


def failure_of(finding: stub.Finding) -> Failure:
    """A finding with the request that showed it first, if one did."""
    details = ""
    if finding.first:
        details = json.dumps(finding.first, indent=2, ensure_ascii=False)
    return Failure(finding.sentence, details)


def proxy_hint(environ: Mapping[str, str]) -> str:
    """What the variables of a proxy may do to the requests of a command."""
    bypassed = environ.get("NO_PROXY", "") + environ.get("no_proxy", "")
    if "127.0.0.1" in bypassed:
        return ""
    for name in ("http_proxy", "HTTP_PROXY"):
        if environ.get(name):
            return f" {name} is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost"
    return ""
