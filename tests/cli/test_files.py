"""The files that the program reads and writes: --seed, --states, --keep, --report, …"""

import io
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.files import write_in_place
from tests.conftest import ROOT, eventually, limited, needs
from tests.program import environment, not_started, program, run
from tests.wire import call

pytestmark = pytest.mark.process

SEED = '{"projects": [{"name": "of the seed"}]}'
DEEP = '{"projects": [{"name": "a", "deep": %s}]}'
INVALID: list[tuple[str, str, list[str]]] = [
    ("--seed", '{"projects":\n [}', ["line 2, column 3: Expecting value"]),
    ("--seed", '{"x\\nerror: \\u001b": 1}', ["/x\\nerror: \\u001b: is not a known member"]),
    ("--seed", DEEP % (32 * "[" + 32 * "]"), [f"/projects/0/deep{31 * '/0'}: More levels"]),
    ("--keep", "{", ["line 1, column 2: "]),
    ("--states", '{"a": {"projects": [{}]}, "b": 1}', ["/a/projects/0/name: is req", "/b: must"]),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def test_an_invalid_file_is_one_line_for_each_error_and_stays_as_it_is(file: Path) -> None:
    for option, content, reasons in INVALID:
        file.write_text(content)
        lines = not_started(option, str(file)).splitlines()
        for line, reason in zip(lines, reasons, strict=True):
            assert line.startswith(f"error: {file}: {reason}")
        assert file.read_text() == content


def test_a_state_may_have_as_many_levels_as_a_project(file: Path) -> None:
    file.write_text(f'{{"ready": {DEEP % (31 * "[" + 31 * "]")}}}')
    assert run("--states", str(file)).status == 0


UNUSABLE = [
    ("--seed", "", "FOLDER is a folder: give the name of a file"),
    ("--seed", "no", "there is no file FOLDER/no"),
    ("--log", "", "FOLDER is a folder: give the name of a file"),
    ("--report", "no/x", "FOLDER/no/x: there is no folder FOLDER/no"),
    ("--keep", "no/x", "FOLDER/no/x: there is no folder FOLDER/no"),
]


def test_a_file_that_cannot_be_used_is_an_error_at_the_start(tmp_path: Path) -> None:
    for option, name, reason in UNUSABLE:
        error = not_started(option, str(tmp_path / name))
        assert f"'{option}': {reason.replace('FOLDER', str(tmp_path))}.\n" in error
        assert error.count("\n") == 1
    assert [*tmp_path.iterdir()] == []


def test_a_report_is_written_where_a_link_leads_and_a_new_file_is_for_its_owner_alone(
    file: Path,
) -> None:
    folder = file.with_name("folder")
    folder.mkdir()
    report, link, log = folder / "real.json", file.with_name("link"), file.with_name("log")
    link.symlink_to("folder/real.json")
    options = ("--report", str(link), "--log", str(log), "--fail-on", "idle", "--allow", "x")
    for mode in (0o600, 0o640):  # that of a file which is there stays
        done = run(*options, during=lambda url: report.read_text())
        assert (done.status, done.result) == (1, "")  # that of another run is gone
        assert json.loads(report.read_text())["exit_status"] == 1
        assert report.stat().st_mode & 0o777 == log.stat().st_mode & 0o777 == mode
        report.chmod(0o640)
        log.chmod(0o640)
    assert "finding: idle: createProject: " in done.stderr
    assert "warning: --allow 'x' matches no finding" in done.stderr
    assert [*folder.iterdir()] == [report]
    assert {*file.parent.iterdir()} == {folder, link, log}


def test_a_report_can_be_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    run("--report", "/dev/stdout", "--quiet")
    assert json.loads(capfd.readouterr().out)["exit_status"] == 0


def test_a_file_that_can_no_longer_be_written_is_named_and_leaves_a_failure_as_it_is(
    file: Path,
) -> None:
    for option, ends, status in (("--report", 0, 2), ("--report", 7, 7), ("--keep", 0, 2)):
        done = run(option, str(file), "--", "sh", "-c", f"rm '{file}'; mkdir '{file}'; exit {ends}")
        assert done.status == status
        assert f"error: {file}: Is a directory.\n" in done.stderr
        assert [*file.parent.iterdir()] == [file]
        file.rmdir()


# --keep


def create(url: str, name: str, token: str = "dev-token") -> Any:
    body = json.dumps({"name": name, "extra": [1.50]}).encode()
    return call(url, "/v1/projects", body=body, token=token).json


def test_the_records_of_the_main_world_go_on(file: Path) -> None:
    seed = file.with_name("seed.json")
    seed.write_text(SEED)
    options = ("--seed", str(seed), "--keep", str(file), "--token", "a", "--token", "b")
    paths: list[str] = []

    def read(url: str) -> bytes:
        return call(url, "/v1/projects", token="b").data

    def work(url: str) -> bytes:
        created = create(url, "of the main world", "b")
        paths.append(f"/v1/deployments/{created['latest_deployment_id']}")
        create(url, "of a named world", "b.job")
        call(url, "/_stub/clock", body=b'{"advance": 70}', token="b")
        return read(url)

    # The first 60 seconds it is queued, the next ones building.
    done = run(*options, "--pace", "60", "--freeze", "2026-01-05T09:00:00Z", during=work)
    assert "starting with the records in" not in done.stderr
    listed = [each["name"] for each in json.loads(done.result)["projects"]]
    assert listed == ["of the seed", "of the main world"]
    kept = file.read_text("utf-8")
    assert file.stat().st_mode & 0o777 == 0o600

    def read_again(url: str) -> list[Any]:
        return [read(url), call(url, paths[0], token="b").json["status"]]

    next_day = run(*options, "--freeze", "2026-01-05T09:00:00Z", during=read_again)
    assert f"starting with the records in {file}\n" in next_day.stderr
    assert next_day.result == [done.result, "building"]
    assert json.loads(file.read_text("utf-8"))["projects"] == json.loads(kept)["projects"]
    assert {*file.parent.iterdir()} == {seed, file}


def test_it_is_written_beside_a_command_also_if_that_fails(file: Path) -> None:
    assert run("--empty", "--keep", str(file), "--", "sh", "-c", "exit 3").status == 3
    assert json.loads(file.read_text("utf-8")) == {"projects": [], "deployments": []}


def test_a_full_disk_leaves_the_previous_file_and_is_an_error_at_the_start(file: Path) -> None:
    file.write_text(SEED)
    with limited(resource.RLIMIT_FSIZE, 0):
        done = run("--keep", str(file))
    assert (done.status, done.stderr) == (2, f"error: {file}: File too large.\n")
    assert [each.read_text() for each in file.parent.iterdir()] == [SEED]


def names_in(file: Path) -> list[str]:
    return [each["name"] for each in json.loads(file.read_text("utf-8"))["projects"]]


def test_a_change_is_kept_by_a_program_that_is_killed(file: Path) -> None:
    with program("--empty", "--keep", str(file)) as (running, url):
        assert names_in(file) == []  # from the start
        for name in ("first", "second"):
            create(url, name)
            eventually(lambda name=name: name in names_in(file))  # type: ignore[misc]
        running.kill()
    assert names_in(file) == ["first", "second"]
    assert [*file.parent.iterdir()] == [file]


def test_what_fails_to_be_kept_is_said_once_and_tried_again(file: Path) -> None:
    file.write_text("{}")
    warning = f"warning: {file}: Is a directory: will retry\n"

    def work(url: str) -> None:
        file.unlink()
        file.mkdir()
        create(url, "first")
        eventually(lambda: warning in said.getvalue())
        file.rmdir()
        eventually(lambda: file.exists() and names_in(file) == ["first"])

    said = io.StringIO()
    done = run("--keep", str(file), during=work, stderr=said)
    assert done.status == 0
    assert said.getvalue().count(warning) == 1


# In a folder where a file is mounted by itself, as by `docker run -v`.
MOUNTED = """
mount --bind "$0" "$0" && exec "$@"
"""


def test_a_file_that_is_mounted_by_itself_is_written_in_place(file: Path) -> None:
    needs("unshare", "root")
    seed = file.with_name("seed.json")
    seed.write_text(SEED)
    file.touch()  # it has to be there to be mounted
    words = ["unshare", "--mount", "sh", "-ec", MOUNTED, str(file), sys.executable, "app.py"]
    for options in (["--seed", str(seed)], ["--empty"]):
        command = [*words, *options, "--keep", str(file), "--quiet", "--", "true"]
        done = subprocess.run(command, cwd=ROOT, env=environment(), check=False)
        assert done.returncode == 0
        assert names_in(file) == ["of the seed"]
    assert {*file.parent.iterdir()} == {seed, file}


def test_a_full_disk_leaves_the_previous_content_of_a_file_that_is_written_in_place(
    file: Path,
) -> None:
    file.write_text(SEED)
    half = len(SEED) + 10
    with limited(resource.RLIMIT_FSIZE, half), pytest.raises(OSError, match="File too large"):
        write_in_place(file, b"x" * 2 * half)
    assert file.read_text() == SEED
    write_in_place(file, b"shorter")
    assert file.read_text() == "shorter"
