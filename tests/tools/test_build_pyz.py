"""`tools/build_pyz.py`: the program in one file, for any Python and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from tests.conftest import ROOT, TOKEN
from tests.program import run
from tests.wire import port_of
from tools.build_pyz import OLDEST, find_pythons, main, make_archive

# One worker builds the file.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("pyz")]

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
for path in ("/", "/llms.txt", "/_stub/console/preact.js", "/_stub/console/console.css"):
    assert len(get(path)) > 500
sys.exit(7)
"""
# Runs the file, and prints what is compiled meanwhile.
COUNTING = """
import runpy, sys

def note(event, args):
    if event == "compile":
        print(args[1])

sys.argv.pop(0)
sys.addaudithook(note)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def pythons() -> dict[tuple[int, ...], str]:
    """One interpreter for each minor version that is on PATH or in pyenv, and our own."""
    return find_pythons()


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory, pythons: dict[tuple[int, ...], str]) -> Path:
    """The program as one file."""
    target = tmp_path_factory.mktemp("build") / "stub.pyz"
    tool = [sys.executable, str(ROOT / "tools" / "build_pyz.py"), str(target)]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=300, check=False)
    newer = ", ".join(f"{version[0]}.{version[1]}" for version in pythons if version >= OLDEST)
    assert (done.returncode, done.stdout) == (0, f"{target}\n")
    assert done.stderr == f"with bytecode for Python {newer}\n"
    return target


@pytest.fixture(scope="module")
def folder(pyz: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the file alone, which cannot be written to unless by root."""
    folder = tmp_path_factory.mktemp("read only, of 'mine'\\")
    shutil.copy(pyz, folder / "stub.pyz")
    (folder / "stub.pyz").chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    assert [path.name for path in folder.iterdir()] == ["stub.pyz"]  # no __pycache__


def without_bytecode(pyz: Path, target: Path) -> Path:
    """The file as built where this Python was not found."""
    with ZipFile(pyz) as archive, ZipFile(target, "w") as other:
        for entry in archive.infolist():
            if entry.filename != f"bytecode/{MAGIC_NUMBER.hex()}":
                other.writestr(entry, archive.read(entry))
    return target


def command(folder: Path, python: str, *args: str) -> list[str]:
    """-S: without it the packages of this Python could stand in for those in the file."""
    return [python, "-I", "-S", str(folder / "stub.pyz"), *args]


def run_file(
    folder: Path, empty: Path, *args: str, python: str = sys.executable, token: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the file from an empty folder, with the token alone in its environment."""
    done = subprocess.run(
        command(folder, python, *args),
        cwd=empty,
        env={"VERIFY_TOKEN": token} if token else {},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert list(empty.iterdir()) == []
    assert "Traceback" not in done.stderr
    return done


def test_the_file_has_the_program_and_its_packages_and_nothing_else(
    pyz: Path, pythons: dict[tuple[int, ...], str]
) -> None:
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
    ours = {path.name for path in ROOT.glob("*.py")} | {
        "openapi.json",
        "README.md",
        "llms.txt",
        "docs",
    }
    ours |= {"web", "server", "stub", "cli", "redis_store"}
    assert tops == {"__main__.py", "bytecode", *ours, *metadata, *distributions}
    compiled = [name for name in names if re.fullmatch(r"bytecode/[0-9a-f]{8}", name)]
    assert len(compiled) == sum(version >= OLDEST for version in pythons)
    assert str(ROOT).encode() not in pyz.read_bytes()
    assert pyz.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert os.access(pyz, os.X_OK)


@pytest.mark.slow
def test_the_same_packages_give_the_same_bytes(
    pyz: Path,
    pythons: dict[tuple[int, ...], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the order, the times and the modes of the files, what pip leaves beside them, and
    the environment.
    """
    with ZipFile(pyz) as archive:
        ours = "__main__.py", "bytecode/"
        names = [each for each in archive.namelist() if not each.startswith(ours)]
        theirs = [each for each in names if not (ROOT / each).exists()]
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
    for name, value in {"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "2", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)
    newer = [path for version, path in pythons.items() if version >= OLDEST]
    assert make_archive(tmp_path, newer) == pyz.read_bytes()


def compiled_by(python: str, file: Path) -> list[str]:
    """The modules of the file that a Python compiles at a start."""
    done = subprocess.run(
        [python, "-I", "-S", "-c", COUNTING, str(file), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in done.stdout.splitlines() if name.startswith(f"{file}{os.sep}")]


@pytest.mark.slow
def test_bytecode_is_for_the_python_that_runs_and_any_other_compiles_each_module_once(
    pyz: Path, pythons: dict[tuple[int, ...], str], tmp_path: Path
) -> None:
    for python in [path for version, path in pythons.items() if version >= OLDEST]:
        assert set(compiled_by(python, pyz)) == {str(pyz / "__main__.py")}
    other = without_bytecode(pyz, tmp_path / "stub.pyz")
    compiled = compiled_by(sys.executable, other)
    compiled = [name for name in compiled if not name.endswith("__main__.py")]
    assert len(compiled) == len(set(compiled)) > 100


def test_a_traceback_names_the_file_and_the_line(pyz: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.modules['difflib'] = None\n{COUNTING}"
    for file in (pyz, without_bytecode(pyz, tmp_path / "stub.pyz")):
        words = [sys.executable, "-I", "-S", "-c", code, str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        *_, (name, line) = re.findall(r'stub\.pyz/(.*)", line (\d+), in <module>', done.stderr)
        with ZipFile(file) as archive:
            assert b"import difflib" in archive.read(name).splitlines()[int(line) - 1]


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
    for name, path in (("ci", "ci.md"), ("stub_fixtures.py", "fixtures/stub_fixtures.py")):
        done = run_file(folder, tmp_path, "docs", name)
        assert (done.returncode, done.stdout) == (0, (ROOT / "docs" / path).read_text("utf-8"))


def test_it_checks_the_health_of_a_program(folder: Path, tmp_path: Path, live_url: str) -> None:
    for port, status in ((port_of(live_url), 0), (0, 1)):
        assert run_file(folder, tmp_path, "health", "--port", str(port)).returncode == status


def test_it_verifies_a_service(folder: Path, tmp_path: Path, live_url: str) -> None:
    done = run_file(folder, tmp_path, "verify", live_url, "--pause", "0", token=TOKEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert ", 0 differs, " in done.stdout


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
