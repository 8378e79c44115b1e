"""The coverage and the findings at the end: --fail-on, --allow, --report."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.program import not_started, run
from tests.wire import call

pytestmark = pytest.mark.process


def test_the_variable_of_allow_has_one_text_to_a_line() -> None:
    def ask(url: str) -> None:
        call(url, "/v1/projects?page=1")
        call(url, "/v1/projects", token="")

    lines = "violations: *\nunpromised: listProjects: query parameter page\nmissed: x"
    options = ("--fail-on", "violations, unpromised")
    done = run(*options, env={"STUB_ALLOW": lines}, during=ask)
    assert done.status == 0
    assert "--allow 'missed: x' matches no finding" in done.stderr
    done = run(*options, env={"STUB_ALLOW": "violations: *"}, during=ask)
    assert done.status == 1
    assert "finding: unpromised" in done.stderr


def test_the_report_of_another_run_is_removed_at_the_start(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    options = ("--report", str(report), "--fail-on", "idle", "--allow", "x")
    done = run(*options, during=lambda url: report.exists())
    assert done.result is False
    assert done.status == 1
    assert json.loads(report.read_text())["exit_status"] == 1
    assert "finding: idle: createProject: " in done.stderr
    assert "warning: --allow 'x' matches no finding" in done.stderr
    assert [*tmp_path.iterdir()] == [report]
    assert report.stat().st_mode & 0o777 == 0o644


def test_a_report_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    link = tmp_path / "link"
    for target in (tmp_path, tmp_path / "no" / "report.json", os.devnull):
        link.symlink_to(target)
        for path in (target, link):
            assert not_started("--report", str(path)).startswith(f"error: --report: {path}: ")
        assert link.is_symlink()
        link.unlink()
    assert "It is from STUB_REPORT." in not_started(env={"STUB_REPORT": "-"})


@pytest.mark.parametrize("exists", [True, False])
def test_a_report_is_written_to_where_a_link_leads(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    report, second, first = folder / "real.json", tmp_path / "second", folder / "first"
    second.symlink_to("folder/real.json")
    first.symlink_to("../second")
    if exists:
        report.write_text("old")
    done = run("--report", str(first), during=lambda url: report.exists())
    assert (done.status, done.result) == (0, False)
    assert json.loads(report.read_text())["exit_status"] == 0
    assert first.is_symlink()
    assert second.is_symlink()
    assert {*folder.iterdir()} == {report, first}
    assert {*tmp_path.iterdir()} == {folder, second}


def test_a_report_that_can_no_longer_be_written_is_an_error_at_the_end(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run("--report", str(report), during=lambda url: report.mkdir())
    assert done.status == 1
    assert done.stderr.splitlines()[-1] == f"error: {report}: Is a directory"
    assert [*tmp_path.iterdir()] == [report]


def test_the_report_and_the_status_of_a_command_are_those_of_both(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ("--fail-on", "idle", "--report", str(report))
    for command, status in (("exit 0", 1), ("exit 7", 7)):
        done = run(*options, "--", "sh", "-c", command)
        assert done.status == status
        assert json.loads(report.read_text())["exit_status"] == status


def test_the_report_counts_what_the_server_rejects(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    def ask(url: str) -> Any:
        return call(url, "/v1/projects", method="s3cret").status_code

    done = run("--fail-on", "rejected", "--report", str(report), during=ask)
    assert (done.result, done.status) == (400, 1)
    rejected = [{"status": 400, "code": "malformed_request", "count": 1}]
    assert json.loads(report.read_text())["rejected_by_the_server"] == rejected
