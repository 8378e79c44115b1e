"""`tools/build_pyz.py`: the program in one file, for any Python and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from zipfile import ZipFile

import pytest

from tests.conftest import BEARER, ROOT, build_pyz, ready_url

OLDEST = (3, 10)


def version_of(python: str) -> tuple[int, ...] | None:
    """The version of an interpreter, or None if it cannot be run."""
    code = "import sys; print(*sys.version_info[:3])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return None if done.returncode else tuple(map(int, done.stdout.split()))


def installed_pythons() -> dict[tuple[int, ...], str]:
    """One interpreter for each minor version that is on PATH or in pyenv, and our own."""
    found = [path for minor in range(8, 30) if (path := shutil.which(f"python3.{minor}"))]
    if shutil.which("pyenv"):
        root = Path(subprocess.check_output(["pyenv", "root"], text=True).strip())
        found += map(str, root.glob("versions/3.*/bin/python"))
    versions = {each: version for each in [*found, sys.executable] if (version := version_of(each))}
    return {version[:2]: each for each, version in versions.items()}


PYTHONS = installed_pythons()
NEW = [PYTHONS[version] for version in sorted(PYTHONS) if version >= OLDEST]
OLD = [PYTHONS[version] for version in sorted(PYTHONS) if version < OLDEST]


@pytest.fixture(scope="module")
def folder(pyz: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the file alone, which cannot be written to unless by root."""
    folder = tmp_path_factory.mktemp("read-only")
    shutil.copy(pyz, folder / "stub.pyz")
    (folder / "stub.pyz").chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    assert [path.name for path in folder.iterdir()] == ["stub.pyz"]  # no __pycache__


def command(folder: Path, python: str, *args: str) -> list[str]:
    """-S: without it the packages of this Python could stand in for those in the file."""
    return [python, "-I", "-S", str(folder / "stub.pyz"), *args]


def run(
    folder: Path, empty: Path, *args: str, python: str = sys.executable
) -> "subprocess.CompletedProcess[str]":
    """Run the file from an empty folder with an empty environment."""
    done = subprocess.run(
        command(folder, python, *args),
        cwd=empty,
        env={},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert list(empty.iterdir()) == []
    return done


@contextmanager
def served(folder: Path, empty: Path, *args: str, python: str = sys.executable) -> Iterator[str]:
    with subprocess.Popen(
        command(folder, python, "--port", "0", "--quiet", *args),
        cwd=empty,
        env={},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield ready_url(process)
        finally:
            process.terminate()
            _, stderr = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in stderr


def call(url: str) -> Any:
    with urlopen(Request(url, headers=BEARER)) as response:
        return json.load(response)


def test_two_builds_give_the_same_bytes(pyz: Path, tmp_path: Path) -> None:
    assert build_pyz(tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()


def test_the_file_has_the_program_and_its_packages_and_nothing_else(pyz: Path) -> None:
    with ZipFile(pyz) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {Path(name).suffix for name in names} & {".so", ".pyd", ".pyc", ".dll", ".exe"} == set()
    tops = {name.split("/")[0] for name in names}
    metadata = {name for name in tops if name.endswith(".dist-info")}
    distributions = {name.partition("-")[0] for name in metadata}
    needed = {"blinker", "click", "flask", "itsdangerous", "jinja2", "markupsafe", "waitress"}
    assert distributions == {*needed, "werkzeug"}
    assert all(f"{name}/METADATA" in names for name in metadata)
    ours = {path.name for path in ROOT.glob("*.py")} | {"openapi.json", "server", "stub"}
    assert tops == {"__main__.py", *ours, *metadata, *distributions}
    assert str(ROOT).encode() not in pyz.read_bytes()


@pytest.mark.parametrize("python", NEW)
def test_every_python_runs_it_with_nothing_installed(
    python: str, folder: Path, tmp_path: Path
) -> None:
    code = "import os, urllib.request as r; r.urlopen(os.environ['STUB_URL'] + '/_stub/health')"
    words = ["--", python, "-I", "-c", f"{code}; raise SystemExit(7)"]
    done = run(folder, tmp_path, "--quiet", *words, python=python)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+\n", done.stderr)


@pytest.mark.parametrize("python", [NEW[0], NEW[-1]])
def test_it_serves_what_the_program_serves(python: str, folder: Path, tmp_path: Path) -> None:
    with served(folder, tmp_path, "--grease", python=python) as url:
        assert len(call(f"{url}/v1/projects")["projects"]) == 3
        assert call(f"{url}/openapi.json")["openapi"]
        assert call(f"{url}/_stub/openapi.json")["openapi"]
        assert call(f"{url}/_stub/coverage")["met"] == 1
        for path in ("/", "/_stub/console/console.js", "/_stub/console/console.css"):
            with urlopen(f"{url}{path}") as response:
                assert len(response.read()) > 1000


def test_it_reads_a_seed_and_writes_a_report(
    folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "seed.json").write_text('{"projects": [{"name": "shop"}]}', "utf-8")
    report = other / "report.json"
    with served(
        folder, tmp_path, "--seed", str(other / "seed.json"), "--report", str(report)
    ) as url:
        (project,) = call(f"{url}/v1/projects")["projects"]
        assert project["name"] == "shop"
    assert json.loads(report.read_text("utf-8"))["exit_status"] == 0


def test_its_help_and_version_are_the_programs(folder: Path, tmp_path: Path) -> None:
    for option in ("--help", "--version"):
        done = run(folder, tmp_path, option)
        theirs = subprocess.check_output(
            [sys.executable, "-I", ROOT / "app.py", option], env={}, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == theirs.replace("app.py", "stub.pyz")


def test_it_says_how_to_get_the_package_of_a_store(folder: Path, tmp_path: Path) -> None:
    done = run(folder, tmp_path, "--store", "redis://127.0.0.1")
    assert (done.returncode, done.stdout) == (2, "")
    command = f"{sys.executable} -m pip install redis"
    assert done.stderr == f"error: --store: redis is not installed: run `{command}`.\n"


def test_the_packages_in_it_know_their_versions(pyz: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from importlib.metadata import distributions\n"
        "print(*{each.name.lower(): each.version for each in distributions(path=sys.path[:1])})"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-c", code, str(pyz)], text=True)
    assert {"flask", "waitress", "markupsafe"} <= set(shown.split())


def test_an_old_python_is_told_which_to_use(folder: Path, tmp_path: Path) -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 9)\n"
        "runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    pretended = [sys.executable, "-I", "-c", code, str(folder / "stub.pyz")]
    for words in (pretended, *(command(folder, python) for python in OLD)):
        done = subprocess.run(
            words, cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(
            r"error: this is Python 3\.\d: run the file with 3\.10 or newer\n", done.stderr
        )


def test_a_build_that_fails_leaves_the_previous_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "stub.pyz"
    target.write_bytes(b"previous")
    tool = [sys.executable, str(ROOT / "tools" / "build_pyz.py")]
    no_index = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": os.devnull,
    }
    done = subprocess.run(
        [*tool, str(target)], env=no_index, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: pip installed nothing:\n")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["stub.pyz"]
    assert target.read_bytes() == b"previous"


def test_a_target_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target, error in (
        (tmp_path, f"{tmp_path} is a folder: name a file"),
        (tmp_path / "file" / "x", f"{tmp_path / 'file' / 'x'} cannot be written: File exists"),
    ):
        done = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "build_pyz.py"), str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, f"error: {error}\n")
