"""The files that the program reads and writes: --seed, --states, --report and --log."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from cli.log import LogFile
from cli.reports import ReportFile
from tests.conftest import ROOT
from tests.contract import assert_problem
from tests.program import CLIENT, WITHOUT_FILES, finished, not_started, run
from tests.wire import call

pytestmark = pytest.mark.process

DEEP = b'{"projects": [{"name": "a", "deep": %s}]}'
INVALID: list[tuple[str, bytes, list[str]]] = [
    ("--seed", b'{"projects":\n [}', ["line 2, column 3: Expecting value"]),
    ("--seed", b'{"x\\nerror: \\u001b": 1}', ["/x\\nerror: \\u001b: is not a known member"]),
    ("--seed", b'{"projects": [{}, 1]}', ["/projects/0/name: is requ", "/projects/1: must be a"]),
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


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    profile = (ROOT / "tests" / "services" / "vercel.json").read_text("utf-8")
    for option, document in (("--seed", "{}"), ("--states", "{}"), ("--like", profile)):
        path.write_text(document, "utf-8-sig")
        assert run(option, str(path)).stderr.startswith("try: ")


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


def test_a_file_that_cannot_be_read_or_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    assert not_started("--seed", str(tmp_path)) == f"error: {tmp_path}: Is a directory\n"
    assert "x: No such file or directory" in not_started("--token-file", str(tmp_path / "x"))
    assert not_started("--report", str(link)) == f"error: {link}: not a file of its own.\n"
    assert not_started("--log", str(tmp_path)) == f"error: {tmp_path}: Is a directory.\n"
    for option in ("--seed", "--log"):
        error = not_started(option, str(fifo))  # and no wait for a writer or a reader
        assert f"error: {fifo}: neither a regular file nor a pipe of a shell" in error
    for option in ("--report", "--log"):
        path = tmp_path / "no" / "x"
        assert not_started(option, str(path)) == f"error: {path}: No such file or directory.\n"
    assert link.is_fifo()


def test_no_option_writes_the_file_of_another(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("{}")
    link.symlink_to(file)
    for one, other in (
        ("--seed", "--keep"),
        ("--keep", "--report"),
        ("--states", "--log"),
        ("--like", "--report"),
    ):
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


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--report", "not a file of its own"),
        ("--log", "the output of this program"),
    ],
)
def test_a_file_is_not_the_output_of_the_program(tmp_path: Path, option: str, reason: str) -> None:
    output = tmp_path / "output"
    words = [sys.executable, str(ROOT / "app.py"), "--port", "0", option, "/dev/stdout"]
    with output.open("w") as file:
        file.write("earlier")
        file.flush()
        done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"error: /dev/stdout: {reason}.\n")
    assert output.read_text() == "earlier"


def test_programs_that_start_at_once_can_have_one_report(tmp_path: Path) -> None:
    # Of 400 in four threads, one failed each time when a missing file was an error.
    with ThreadPoolExecutor(4) as pool:
        assert len([*pool.map(ReportFile, [tmp_path / "report.json"] * 400)]) == 400


@pytest.mark.parametrize("option", ["--report", "--keep"])
def test_a_file_that_can_no_longer_be_written_is_an_error_at_the_end(
    tmp_path: Path, option: str
) -> None:
    report = tmp_path / "report.json"
    done = run(option, str(report), during=lambda url: report.mkdir())
    assert done.status == 2
    assert f"error: {report}: Is a directory.\n" in done.stderr
    assert [*tmp_path.iterdir()] == [report]


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("exit 0", 2)])
def test_a_report_that_cannot_be_written_is_named_and_leaves_a_failure_as_it_is(
    tmp_path: Path, command: str, status: int
) -> None:
    report = tmp_path / "report.json"
    words = ("app.py", "--report", str(report), "--", "sh", "-c", command)
    done = finished("-c", WITHOUT_FILES, *words)
    assert (done.status, [*tmp_path.iterdir()]) == (status, [])
    assert f"\nerror: {report}: File too large.\n" in done.stderr


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_with_requests_keeps_the_mode_of_the_one_that_it_replaces(
    tmp_path: Path, mode: int
) -> None:
    for name in ("report.json", "log"):
        file = tmp_path / "folder" / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
        file.chmod(mode)
        (tmp_path / name).symlink_to(file)
    run("--report", str(tmp_path / "report.json"), "--log", str(tmp_path / "log"))
    for name in ("report.json", "log"):
        file = tmp_path / "folder" / name
        assert (tmp_path / name).is_symlink()
        assert file.stat().st_mode & 0o777 == mode


def test_a_new_file_with_requests_is_for_its_owner_alone(tmp_path: Path) -> None:
    report, log = tmp_path / "report.json", tmp_path / "log"
    run("--report", str(report), "--log", str(log))
    assert report.stat().st_mode & 0o777 == log.stat().st_mode & 0o777 == 0o600
    log.rename(tmp_path / "moved")
    with closing(LogFile(log)) as file:
        log.unlink()
        file.add("a line\n")
    assert log.stat().st_mode & 0o777 == 0o600


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
