"""The one file, built as a user builds it, and run without what is installed here."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT, TOKEN
from tests.program import CLIENT
from tests.services import FOLDER
from tools.build_pyz import build

# One worker builds the file.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("pyz")]

PYTHONS = [sys.executable, *map(str, Path.home().glob(".pyenv/versions/3.1[2-9].*/bin/python"))]
AROUND = ("--quiet", "--", sys.executable, "-S", "-c", CLIENT)
Done = subprocess.CompletedProcess[str]
Start = Callable[..., Done]


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file, in a folder with an odd name."""
    target = tmp_path_factory.mktemp("of 'mine'") / "stub.pyz"
    build(target)
    return target


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "deployment-stub"


@pytest.fixture
def start(pyz: Path, cache: Path) -> Start:
    """Runs the file; -S: else the packages of this Python could stand in for those in it."""

    def start(*args: str, python: str = sys.executable, **env: str) -> Done:
        command = [python, "-I", "-S", str(pyz), *args]
        env = {"XDG_CACHE_HOME": str(cache.parent), **env}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)

    return start


def assert_serves(done: Done) -> None:
    assert (done.returncode, done.stdout) == (7, "website billing search\n"), done.stderr


def test_first_starts_at_once_of_each_python_serve_all_from_one_private_folder(
    start: Start, cache: Path
) -> None:
    with ThreadPoolExecutor() as threads:
        for done in threads.map(lambda python: start(*AROUND, python=python), PYTHONS):
            assert_serves(done)
    (folder,) = cache.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "deployment_stub" / "cli" / "__pycache__").is_dir()


def test_it_has_the_documents_profiles_and_the_command_that_verifies(
    start: Start, live_url: str
) -> None:
    assert start("docs", "ci").stdout == (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert_serves(start("--like", f"{FOLDER}/mild.json", *AROUND))
    done = start("verify", live_url, "--pause", "0", VERIFY_TOKEN=TOKEN)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_what_was_changed_in_its_folder_is_replaced(start: Start, cache: Path) -> None:
    assert start("--version").returncode == 0
    (file,) = cache.glob("*/deployment_stub/app.py")
    right = file.read_bytes()
    file.write_bytes(right.replace(b"a", b"b"))  # of the same size
    file.with_name("auth.py").unlink()
    assert_serves(start(*AROUND))
    assert file.read_bytes() == right


def test_where_it_may_not_unpack_or_another_user_may_write_it_runs_in_the_file(
    start: Start, cache: Path
) -> None:
    cache.parent.mkdir()
    cache.touch()
    for env in ({}, {"XDG_CACHE_HOME": "relative", "HOME": "/dev/null"}):
        assert_serves(start(*AROUND, **env))
    cache.unlink()
    cache.mkdir()
    cache.chmod(0o777)
    assert start("--version").returncode == 0
    assert [*cache.iterdir()] == []


def test_its_modules_and_those_of_others_with_their_names_are_apart(
    pyz: Path, tmp_path: Path
) -> None:
    with ZipFile(pyz) as archive:
        assert not {"app.py", "cli/main.py", "web/__init__.py"} & {*archive.namelist()}
    for name in ("app", "cli", "store", "web"):
        (tmp_path / f"{name}.py").write_text("raise OSError", "utf-8")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{pyz}"}
    command = [sys.executable, "-m", "deployment_stub", *AROUND]
    assert_serves(subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True))


def test_the_distribution_needs_what_the_requirements_say() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {"": project["dependencies"], "-redis": project["optional-dependencies"]["redis"]}
    for name, wanted in needed.items():
        lines = (ROOT / f"requirements{name}.txt").read_text("utf-8").splitlines()
        assert [each for each in lines if "pytest" not in each] == wanted
