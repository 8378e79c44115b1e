"""The options and their variables, and the report."""

import json
from pathlib import Path

from tests.conftest import not_started, program
from tests.test_cli import stderr_at_the_end
from tests.wire import call


def test_an_unknown_variable_is_a_warning_with_the_nearest_name() -> None:
    env = {"STUB_PROT": "1", "STUB_MAXPROJECTS": "2", "STUB_PACE": "0", "STUB_TOKENS": "x"}
    with program(env=env) as (process, url):
        assert call(url, "/_stub/health").status_code == 200
        lines = stderr_at_the_end(process).splitlines()
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert warnings == [
        "warning: STUB_MAXPROJECTS sets no option: did you mean STUB_MAX_PROJECTS?",
        "warning: STUB_PROT sets no option: did you mean STUB_PORT?",
        "warning: STUB_TOKENS sets no option: did you mean STUB_TOKEN?",
    ]


def test_a_value_that_is_no_number_is_named_with_its_variable() -> None:
    assert not_started(env={"STUB_PORT": "abc"}).endswith(
        "'abc' is not a valid integer. It is from STUB_PORT.\n"
    )
    assert not_started("--pace", "x").endswith("'x' is not a valid number.\n")


def test_the_variable_of_allow_has_one_text_to_a_line() -> None:
    lines = "violations: *\nunpromised: listProjects: query parameter page\nmissed: x"
    options = ("--fail-on", "violations,unpromised")
    with program(*options, env={"STUB_ALLOW": lines}) as (process, url):
        call(url, "/v1/projects?page=1")
        call(url, "/v1/projects", token="")
        said = stderr_at_the_end(process)
    assert process.returncode == 0
    assert "--allow 'missed: x' matches no finding" in said
    with program(*options, env={"STUB_ALLOW": "violations: *"}) as (process, url):
        call(url, "/v1/projects?page=1")
        assert "finding: unpromised" in stderr_at_the_end(process)
    assert process.returncode == 1


def test_tokens_that_would_share_a_world_do_not_start_together() -> None:
    assert "--token: one token is another" in not_started("--token", "a", "--token", "a.b")


def test_the_report_of_another_run_is_removed_at_the_start(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    with program("--report", str(report), "--fail-on", "idle", "--allow", "x") as (process, _):
        assert not report.exists()
        process.terminate()
        _, stderr = process.communicate(timeout=10)
    assert process.returncode == 1
    assert json.loads(report.read_text())["exit_status"] == 1
    assert "finding: idle: createProject: " in stderr
    assert "warning: --allow 'x' matches no finding" in stderr
    assert [*tmp_path.iterdir()] == [report]


def test_a_report_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "report.json", Path("/dev/null")):
        assert str(path) in not_started("--report", str(path))
    assert "--report" in not_started("--no-stub", "--report", str(tmp_path / "r.json"))
    assert "'x' is unknown: there are violations" in not_started("--fail-on", "idle,x")
