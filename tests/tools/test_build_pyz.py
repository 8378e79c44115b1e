"""`tools/build_pyz.py`: the program in one file, for any Python and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from tests.conftest import ROOT
from tests.program import run
from tools.build_pyz import main, make_archive

# One worker builds the file.
pytestmark = [pytest.mark.process, pytest.mark.xdist_group("pyz")]

OLDEST = (3, 10)
# The command of a run: asks for all that the program serves from its files.
CLIENT = """
import json, os, sys
from urllib.request import Request, urlopen

def get(path):
    headers = {"Authorization": "Bearer " + os.environ["STUB_TOKEN"]}
    return urlopen(Request(os.environ["STUB_URL"] + path, headers=headers)).read()

print(*[project["name"] for project in json.loads(get("/v1/projects"))["projects"]])
assert json.loads(get("/openapi.json"))["openapi"]
assert json.loads(get("/_stub/openapi.json"))["openapi"]
assert json.loads(get("/_stub/coverage"))["met"] == 1
for path in ("/", "/_stub/console/console.js?preact", "/_stub/console/console.css"):
    assert len(get(path)) > 500
sys.exit(7)
"""


def version_of(python: str) -> tuple[int, ...] | None:
    """The version of an interpreter, or None if it cannot be run."""
    code = "import sys; print(*sys.version_info[:3])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return None if done.returncode else tuple(map(int, done.stdout.split()))


@pytest.fixture(scope="module")
def pythons() -> dict[tuple[int, ...], str]:
    """One interpreter for each minor version that is on PATH or in pyenv, and our own."""
    found = [path for minor in range(8, 30) if (path := shutil.which(f"python3.{minor}"))]
    if shutil.which("pyenv"):
        root = Path(subprocess.check_output(["pyenv", "root"], text=True).strip())
        found += map(str, root.glob("versions/3.*/bin/python"))
    versions = {each: version for each in [*found, sys.executable] if (version := version_of(each))}
    return {version[:2]: each for each, version in versions.items()}


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as one file."""
    target = tmp_path_factory.mktemp("build") / "stub.pyz"
    tool = [sys.executable, str(ROOT / "tools" / "build_pyz.py"), str(target)]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    return target


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


def run_file(
    folder: Path, empty: Path, *args: str, python: str = sys.executable
) -> "subprocess.CompletedProcess[str]":
    """Run the file from an empty folder with an empty environment."""
    done = subprocess.run(
        command(folder, python, *args),
        cwd=empty,
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert list(empty.iterdir()) == []
    assert "Traceback" not in done.stderr
    return done


def test_the_file_has_the_program_and_its_packages_and_nothing_else(pyz: Path) -> None:
    with ZipFile(pyz) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {(entry.create_system, entry.compress_type) for entry in entries} == {(3, ZIP_STORED)}
    assert {entry.external_attr >> 16 for entry in entries if entry.is_dir()} == {0o40755}
    assert {entry.external_attr >> 16 for entry in entries if not entry.is_dir()} == {0o100644}
    assert {Path(name).suffix for name in names} & {".so", ".pyd", ".pyc", ".dll", ".exe"} == set()
    tops = {name.split("/")[0] for name in names}
    metadata = {name for name in tops if name.endswith(".dist-info")}
    distributions = {name.partition("-")[0] for name in metadata}
    needed = {"blinker", "click", "flask", "itsdangerous", "jinja2", "markupsafe", "waitress"}
    assert distributions == {*needed, "werkzeug"}
    assert all(f"{name}/METADATA" in names for name in metadata)
    ours = {path.name for path in ROOT.glob("*.py")} | {"openapi.json", "README.md", "docs"}
    ours |= {"web", "server", "stub", "cli", "redis_store"}
    assert tops == {"__main__.py", *ours, *metadata, *distributions}
    assert str(ROOT).encode() not in pyz.read_bytes()
    assert pyz.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert os.access(pyz, os.X_OK)


def test_the_same_packages_give_the_same_bytes(
    pyz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order, the times and the modes of the files, and what pip leaves beside them."""
    with ZipFile(pyz) as archive:
        theirs = [each for each in archive.namelist() if not (ROOT / each).exists()]
        theirs.remove("__main__.py")
        for name in reversed(theirs):
            file = Path(archive.extract(name, tmp_path))
            os.utime(file, (10**9, 10**9))
            file.chmod(0o700)
    metadata = next(tmp_path.glob("flask-*.dist-info"))
    for name in ("RECORD", "INSTALLER", "REQUESTED", "WHEEL", "direct_url.json"):
        (metadata / name).write_text("of one installation")
    for name in ("speedups.so", "speedups.pyd", "app.pyc", "speedups.c", "speedups.h", "app.pyi"):
        (tmp_path / "flask" / name).write_text("of one system")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "flask").write_text("#!/of/one/system")
    monkeypatch.chdir(tmp_path)
    assert make_archive(tmp_path) == pyz.read_bytes()


@pytest.mark.slow
def test_every_python_serves_all_with_nothing_installed(
    folder: Path, tmp_path: Path, pythons: dict[tuple[int, ...], str]
) -> None:
    for python in [pythons[version] for version in pythons if version >= OLDEST]:
        words = ["--quiet", "--grease", "--", python, "-I", "-c", CLIENT]
        done = run_file(folder, tmp_path, *words, python=python)
        assert (done.returncode, done.stdout) == (7, "website billing search\n"), done.stderr
        listening, random, *_ = done.stderr.splitlines()
        assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+", listening)
        assert random.startswith("responses vary on purpose: ")
        assert "\ncoverage: 1 of " in done.stderr


def test_it_serves_all_reads_a_seed_and_writes_a_report(
    folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    seed, report = other / "seed.json", other / "report.json"
    seed.write_text('{"projects": [{"name": "shop"}]}', "utf-8")
    words = ["--quiet", "--seed", str(seed), "--report", str(report)]
    done = run_file(folder, tmp_path, *words, "--", sys.executable, "-S", "-c", CLIENT)
    assert (done.returncode, done.stdout) == (7, "shop\n"), done.stderr
    assert json.loads(report.read_text("utf-8"))["exit_status"] == 7


def test_its_help_is_the_programs(folder: Path, tmp_path: Path) -> None:
    done, ours = run_file(folder, tmp_path, "--help"), run("--help").stdout
    usage = r"^Usage: .*? \[OPTIONS\]"
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(usage, "Usage: stub.pyz [OPTIONS]", ours)
    assert done.stdout.split() == shown.split()  # lines are as long as the terminal allows


def test_it_probes(folder: Path, tmp_path: Path) -> None:
    shell = f"'{sys.executable}' -S -c \"$0\" > /dev/null; true"  # the client exits with 7
    done = run_file(folder, tmp_path, "--probe", "members", "--", "sh", "-c", shell, CLIENT)
    assert "probe: members: passes in " in done.stderr
    assert done.returncode == 0


def test_it_has_the_documents(folder: Path, tmp_path: Path) -> None:
    done = run_file(folder, tmp_path, "docs", "ci")
    assert (done.returncode, done.stdout) == (0, (ROOT / "docs" / "ci.md").read_text("utf-8"))


def test_it_says_how_to_get_the_package_of_a_store(folder: Path, tmp_path: Path) -> None:
    done = run_file(folder, tmp_path, "--store", "redis://127.0.0.1")
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


def test_an_old_python_is_told_which_to_use(
    folder: Path, tmp_path: Path, pythons: dict[tuple[int, ...], str]
) -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 9)\n"
        "runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    pretended = [sys.executable, "-I", "-c", code, str(folder / "stub.pyz")]
    old = [pythons[version] for version in sorted(pythons) if version < OLDEST]
    for words in (pretended, *(command(folder, python) for python in old)):
        done = subprocess.run(
            words, cwd=tmp_path, env={}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(
            r"error: this is Python 3\.\d: run the file with 3\.10 or newer\n", done.stderr
        )


def test_a_build_that_fails_leaves_the_previous_file_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "stub.pyz"
    target.write_bytes(b"previous")
    pip = ["sh", "-c", "echo no index >&2; exit 1"]
    assert main([str(target)], pip) == 1
    assert capsys.readouterr() == ("", "error: pip installed nothing:\nno index\n")
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
