"""The files that the program reads and writes: --seed, --states, --report and --log."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli.reports import ReportFile
from tests.contract import assert_problem
from tests.program import CLIENT, finished, not_started, run
from tests.wire import call

pytestmark = pytest.mark.process

DEEP = b'{"projects": [{"name": "a", "deep": %s}]}'
INVALID: list[tuple[str, bytes, list[str]]] = [
    ("--seed", b'{"projects":\n [}', ["line 2, column 3: Expecting value"]),
    ("--seed", b'{"x\\nerror: \\u001b": 1}', ["/x\\nerror: \\u001b: is not a known member"]),
    ("--seed", DEEP % (32 * b"[" + 32 * b"]"), [f"/projects/0/deep{31 * '/0'}: More levels"]),
    ("--states", b"[]", ["the document: must be a JSON object"]),
    ("--states", b'{"a": {"projects": [{}]}, "b": 1}', ["/a/projects/0/name: is req", "/b: must"]),
]


@pytest.mark.parametrize(("option", "content", "reasons"), INVALID)
def test_an_invalid_file_is_one_line_for_each_error(
    tmp_path: Path, option: str, content: bytes, reasons: list[str]
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    lines = not_started(option, str(path)).splitlines()
    assert len(lines) == len(reasons)
    for line, reason in zip(lines, reasons, strict=True):
        assert line.startswith(f"error: {path}: {reason}")


def test_seed_and_states_are_read_and_their_size_is_bounded(tmp_path: Path) -> None:
    seed, states = tmp_path / "seed.json", tmp_path / "states.json"
    seed.write_text('{"projects": [{"name": "a"}]}', "utf-8")
    states.write_bytes(b'{"ready": %s}' % DEEP % (31 * b"[" + 31 * b"]"))

    def ask(url: str) -> None:
        created = call(url, "/v1/projects", body=b'{"name": "b"}')
        path = f"/v1/deployments/{created.json['latest_deployment_id']}"
        assert call(url, path).json["status"] == "succeeded"
        assert_problem(call(url, "/v1/projects", body=b'{"name": "c"}'), 507, "store_full")
        assert call(url, "/_stub/pact", body=b'{"state": "ready"}').status_code == 200

    options = ("--states", str(states), "--pace", "0", "--max-projects", "2")
    run("--seed", str(seed), *options, during=ask)


# In a folder with a named pipe and a link to it.
UNUSABLE = [
    ("--seed", "", "Is a directory"),
    ("--seed", "fifo", "neither a regular file nor a pipe of a shell"),  # and no wait for a writer
    ("--token-file", "no", "No such file or directory"),
    ("--log", "", "Is a directory"),
    ("--log", "fifo", "neither a regular file nor a pipe of a shell"),
    ("--log", "no/x", "No such file or directory"),
    ("--log", "/dev/stdout", "the output of this program"),
    ("--report", "link", "not a file of its own"),
    ("--report", "no/x", "No such file or directory"),
    ("--report", "/dev/stdout", "not a file of its own"),
    ("--keep", "", "not a file of its own"),
]


@pytest.mark.usefixtures("capfd")  # whose stdout is a file
@pytest.mark.parametrize(("option", "name", "reason"), UNUSABLE)
def test_a_file_that_cannot_be_used_is_an_error_at_the_start(
    tmp_path: Path, option: str, name: str, reason: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    path = tmp_path / name
    error = not_started(option, str(path))
    assert f"{path}: {reason}" in error
    assert error.count("\n") == 1
    assert (tmp_path / "link").is_fifo()


def test_no_option_writes_the_file_of_another(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("{}")
    link.symlink_to(file)
    for one, other in (("--seed", "--keep"), ("--states", "--log"), ("--like", "--report")):
        error = not_started(one, str(file), other, str(link))
        assert error.startswith("error: two options name the same file: ")
        assert file.read_text("utf-8") == "{}"


def test_a_report_is_made_anew_where_a_link_leads(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    report, link = folder / "real.json", tmp_path / "link"
    report.write_text("old")
    link.symlink_to("folder/real.json")
    options = ("--report", str(link), "--fail-on", "idle", "--allow", "x")
    done = run(*options, during=lambda url: report.exists())
    assert (done.status, done.result) == (1, False)
    assert json.loads(report.read_text())["exit_status"] == 1
    assert "finding: idle: createProject: " in done.stderr
    assert "warning: --allow 'x' matches no finding" in done.stderr
    assert [*folder.iterdir()] == [report]
    assert {*tmp_path.iterdir()} == {folder, link}


def test_programs_that_start_at_once_can_have_one_report(tmp_path: Path) -> None:
    # Of 400 in four threads, one failed each time when a missing file was an error.
    with ThreadPoolExecutor(4) as pool:
        assert len([*pool.map(ReportFile, [tmp_path / "report.json"] * 400)]) == 400


# The option, the status of the command, and that of the program.
UNWRITTEN = [
    ("--report", 0, 2),
    ("--report", 7, 7),
    ("--keep", 0, 2),
]


@pytest.mark.parametrize(("option", "ends", "status"), UNWRITTEN)
def test_a_file_that_can_no_longer_be_written_is_named_and_leaves_a_failure_as_it_is(
    tmp_path: Path, option: str, ends: int, status: int
) -> None:
    path = tmp_path / "file"
    done = run(option, str(path), "--", "sh", "-c", f"mkdir '{path}'; exit {ends}")
    assert done.status == status
    assert f"error: {path}: Is a directory.\n" in done.stderr
    assert [*tmp_path.iterdir()] == [path]


def test_a_new_file_with_requests_is_for_its_owner_alone_and_another_keeps_its_mode(
    tmp_path: Path,
) -> None:
    report, log = tmp_path / "report.json", tmp_path / "log"
    for mode in (0o600, 0o640):
        run("--report", str(report), "--log", str(log))
        assert report.stat().st_mode & 0o777 == log.stat().st_mode & 0o777 == mode
        report.chmod(0o640)
        log.chmod(0o640)


def test_no_file_is_read_or_written_in_the_encoding_of_the_locale(tmp_path: Path) -> None:
    seed, report, log = (tmp_path / name for name in ("seed.json", "report.json", "log"))
    seed.write_text('{"projects": [{"name": "caf\u00e9"}]}', "utf-8")
    options = ["--seed", str(seed), "--report", str(report), "--log", str(log)]
    env = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "utf-8",
    }
    words = ("-X", "warn_default_encoding", "app.py", *options)
    done = finished(*words, "--", sys.executable, "-c", CLIENT, env=env)
    assert (done.status, done.stdout) == (7, "caf\u00e9\n"), done.stderr
    assert json.loads(report.read_text("utf-8"))["exit_status"] == 7
