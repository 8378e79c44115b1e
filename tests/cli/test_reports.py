"""Reports that CI servers show: JUnit XML, and the lines and the summary of GitHub Actions."""

import io
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from cli.github import RunnerStream, add_to_summary, annotate
from cli.reports import Case, Failure, junit_xml
from tests.cli.conftest import script
from tests.program import run
from tests.verify.conftest import TOKEN, Service, verify
from tests.verify.differences import on, on_deployment, put, without
from tests.wire import call

pytestmark = pytest.mark.process

HOSTILE = "\x00\x1b[1m ]]> <b> & \" ' \ud800 \ufffe \U0001f680 \n é"
READ = "??[1m ]]> <b> & \" ' ? ? \U0001f680 \n é"
OLDER = "##[stop-commands]q"
WRONG_CALL = f"/v1/projects?::error::{quote(OLDER)}%25=1"


def cases_in(path: Path) -> dict[str, Any]:
    """The test cases of a report, by their names; its counts have to be right."""
    root = ElementTree.parse(path).getroot()
    (suite,) = root
    cases = {str(each.get("name")): each for each in suite}
    failed = [each for each in cases.values() if each.find("failure") is not None]
    skipped = [each for each in cases.values() if each.find("skipped") is not None]
    counts = tuple(suite.get(name) for name in ("tests", "failures", "skipped", "errors"))
    assert counts == (str(len(suite)), str(len(failed)), str(len(skipped)), "0")
    return cases


def test_any_text_can_be_in_a_report(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    failures = [Failure(HOSTILE, HOSTILE), Failure("second")]
    file.write_text(junit_xml("s", [Case(HOSTILE, failures), Case("b", (), HOSTILE)]), "utf-8")
    cases = cases_in(file)
    failure = cases[READ].find("failure")
    assert failure.get("message") == f"{READ} (and 1 more)"
    assert failure.text == f"{READ}\n{READ}\n\nsecond"
    assert cases["b"].find("skipped").get("message") == READ


def test_the_report_has_a_test_case_for_each_kind_of_finding(tmp_path: Path) -> None:
    file = tmp_path / "report.XML"
    options = ("--fail-on", "unpromised,idle", "--report", str(file), "--token", "s3cret-token")
    path = f"{WRONG_CALL}&s3cret-token"
    run(*options, during=lambda url: call(url, path, token="s3cret-token"))
    cases = cases_in(file)
    assert [*cases] == ["violations", "unpromised", "rejected", "idle", "unused-faults"]
    failure = cases["unpromised"].find("failure")
    assert "listProjects: query parameter ::error::##" in failure.get("message")
    assert failure.get("message").endswith("(and 1 more)")
    assert '"path": "/v1/projects"' in failure.text
    assert cases["rejected"].find("skipped").get("message") == "--fail-on does not name it"
    assert "s3cret" not in file.read_text("utf-8")


def test_a_command_that_fails_and_a_probe_without_requests_are_failures(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    run("--report", str(file), "--", "sh", "-c", "exit 3")
    message = cases_in(file)["command"].find("failure").get("message")
    assert message == "the command has ended with status 3"
    client = script("name == 'plain' and call('/v1/projects')")
    run("--probe", "members", "--report", str(file), "--", *client)
    cases = cases_in(file)
    assert cases["command"].find("failure") is None
    assert cases["probe"].find("failure").get("message") == "no request in members"


def test_github_shows_each_finding_and_the_table(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", "utf-8")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    options = ("--fail-on", "unpromised", "--allow", "50%\n* ```")

    def ask(url: str) -> None:
        call(url, WRONG_CALL)

    done = run(*options, during=ask, env=env)
    lines = done.stderr.splitlines()
    (finding,) = [each for each in lines if each.startswith("finding: ")]
    escaped = finding.removeprefix("finding: ").replace("%", "%25")
    assert lines[-3:] == [
        f"::error title=deployment-stub::{escaped}",
        "::warning title=deployment-stub::--allow '50%25' matches no finding",
        "::warning title=deployment-stub::--allow '* ```' matches no finding",
    ]
    assert "## [stop-commands]q" in done.stderr
    assert "##[" not in done.stderr
    text = summary.read_text("utf-8")
    assert text.startswith("before\n### deployment-stub\n\n```text\ncoverage: 1 of 26 responses")
    assert finding.replace("## [", "##[") in text  # which no runner reads
    env["GITHUB_STEP_SUMMARY"] = str(tmp_path)
    assert "warning: GITHUB_STEP_SUMMARY: Is a directory\n" in run(during=ask, env=env).stderr
    assert "\n::" not in run(*options, during=ask).stderr


def test_a_summary_is_of_github_alone_and_no_text_ends_its_fence(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    add_to_summary({"GITHUB_STEP_SUMMARY": str(file)}, "verify", "elsewhere")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(file)}
    add_to_summary(github, "verify", "")
    add_to_summary(github, "verify", "a\n````\nb\n")
    assert file.read_text("utf-8") == "### verify\n\n`````text\na\n````\nb\n`````\n\n"


TEXTS = [
    ("a :: b ::c:: # ##", "a :: b ::c:: # ##"),
    ("::add-mask::x", ": :add-mask::x"),
    ("\u2003::a::\n\x0b::b::\r::c::\r\n\n:::d::", "\u2003: :a::\n\x0b: :b::\r: :c::\r\n\n: ::d::"),
    ("a ##[group]b ###[c]", "a ## [group]b ### [c]"),
]


def test_no_text_is_a_command_to_the_runner_of_github() -> None:
    for text, masked in TEXTS:
        written = io.StringIO()
        print(text, file=RunnerStream(written))
        assert written.getvalue() == f"{masked}\n"
    written = io.StringIO()
    annotate(RunnerStream(written), "error", ["a\r\nb 5% %0A ##[stop-commands]x"])
    line = "::error title=deployment-stub::a%0D%0Ab 5%25 %250A ## [stop-commands]x\n"
    assert written.getvalue() == line


def test_verify_has_a_test_case_for_each_part_and_each_other_finding(tmp_path: Path) -> None:
    file, summary = tmp_path / "v.xml", tmp_path / "s.md"
    env = {"VERIFY_TOKEN": TOKEN, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    leak = on("list", headers={"X-Sent": TOKEN})
    service = Service(on_deployment(without("status")), on_deployment(put(**{OLDER: OLDER})), leak)
    done = verify(service, "--report", str(file), env=env)
    cases = cases_in(file)
    failed = [name for name, each in cases.items() if each.find("failure") is not None]
    assert "leaks" in failed
    first, *_ = [cases[name].find("failure") for name in failed if name.startswith("#/")]
    assert first.get("message").startswith("broken: #/")
    assert "> GET /v1/deployments/" in first.text
    assert TOKEN not in file.read_text("utf-8")
    assert any(each.find("skipped") is not None for each in cases.values())
    findings = [each for each in done.stdout.splitlines() if each.startswith("finding: ")]
    errors = [each for each in done.stdout.splitlines() if each.startswith("::error ")]
    assert len(findings) == len(errors) == len(failed)
    assert findings[0].removeprefix("finding: ") in summary.read_text("utf-8")
    assert "## [stop-commands]q" in done.stdout
    assert "##[" not in done.stdout + done.stderr
