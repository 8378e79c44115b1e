"""Reports that CI servers show: JUnit XML, and the annotations of GitHub Actions."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cli.reports import Case, Failure, format_junit
from cli.stderr import annotate
from tests.cli.conftest import script
from tests.program import run
from tests.verify.conftest import TOKEN, Response, Service, verify
from tests.verify.differences import ALL_ERRORS, on, on_deployment, on_projects, put, without
from tests.wire import call
from verify.seen.service_log import ServiceExchange

pytestmark = pytest.mark.process

HOSTILE = "\x00\x1b[1m ]]> <b> & \" ' \ud800 \ufffe \U0001f680 \n é"
READ = "??[1m ]]> <b> & \" ' ? ? \U0001f680 \n é"
WRONG_CALL = "/v1/projects?::error::%25=1"
GITHUB = {"VERIFY_TOKEN": TOKEN, "GITHUB_ACTIONS": "true"}
OURS = ("::error title=deployment-stub::", "::warning title=deployment-stub::")


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
    file.write_text(format_junit("s", [Case(HOSTILE, failures), Case("b", (), HOSTILE)]), "utf-8")
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
    assert "listProjects: query parameter ::error::%" in failure.get("message")
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


def test_github_shows_each_finding_in_one_line(tmp_path: Path) -> None:
    options = ("--fail-on", "unpromised", "--allow", "50%\n* ```")

    def ask(url: str) -> None:
        call(url, WRONG_CALL)

    lines = run(*options, during=ask, env={"GITHUB_ACTIONS": "true"}).stderr.splitlines()
    (finding,) = [each for each in lines if each.startswith("finding: ")]
    escaped = finding.removeprefix("finding: ").replace("%", "%25")
    assert [each for each in lines if each.lstrip().startswith("::")] == [
        f"::error title=deployment-stub::{escaped}",
        "::warning title=deployment-stub::--allow '50%25' matches no finding",
        "::warning title=deployment-stub::--allow '* ```' matches no finding",
    ]
    assert "\n::" not in run(*options, during=ask).stderr


def test_a_line_break_of_an_annotation_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    annotate({"GITHUB_ACTIONS": "true"}, "error", ["a\r\nb 5% %0A"])
    line = "::error title=deployment-stub::a%0D%0Ab 5%25 %250A\n"
    assert capsys.readouterr().err == line


def test_verify_has_a_test_case_for_each_part_and_each_other_finding(tmp_path: Path) -> None:
    file = tmp_path / "v.xml"
    leak = on("list", headers={"X-Sent": TOKEN})
    service = Service(on_deployment(without("status")), leak)
    done = verify(service, "--report", str(file), env=GITHUB)
    cases = cases_in(file)
    failed = [name for name, each in cases.items() if each.find("failure") is not None]
    assert "leaks" in failed
    first, *_ = [cases[name].find("failure") for name in failed if name.startswith("#/")]
    assert first.get("message").startswith("broken: #/")
    assert "> GET /v1/deployments/" in first.text
    assert TOKEN not in file.read_text("utf-8")
    assert any(each.find("skipped") is not None for each in cases.values())
    findings = [each for each in done.stdout.splitlines() if each.startswith("finding: ")]
    errors = [each for each in done.stderr.splitlines() if each.startswith("::error ")]
    assert len(findings) == len(errors) == len(failed)


COMMAND = "::error::of the service"


def command(response: Response, request: ServiceExchange, number: int) -> None:
    """The service sends what the runner of GitHub takes for a command, wherever it can."""
    response.headers |= {"::warning::x": COMMAND, "Content-Type": f"{COMMAND}/json"}
    if response.case == "created":
        response.body |= {"id": COMMAND, "name": COMMAND, COMMAND: [COMMAND], "status": COMMAND}
    else:
        response.raw = f"{COMMAND}\r{COMMAND}\n{COMMAND}".encode()


def test_no_text_of_a_service_is_at_the_start_of_a_line() -> None:
    errors = [on(each, status=418) for each in ALL_ERRORS]
    for changes in ([command], [on_projects(put(**{COMMAND: COMMAND, "id": COMMAND})), *errors]):
        for options in ([], ["--write"]):
            done = verify(Service(*changes), *options, env=GITHUB)
            lines = re.split("[\r\n]", done.stdout + done.stderr)
            commands = [each for each in lines if each.lstrip().startswith("::")]
            assert [each for each in commands if not each.startswith(OURS)] == []
