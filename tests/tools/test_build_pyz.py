"""The distribution and the one file, each built as a user builds it and run without this folder."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ROOT, TOKEN
from tests.program import CLIENT, run
from tools.build_pyz import build

# One worker builds the file.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("pyz")]

AROUND = ("--quiet", "--", sys.executable, "-S", "-c", CLIENT)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file, in a folder with an odd name."""
    target = tmp_path_factory.mktemp("of 'mine'") / "stub.pyz"
    build(target)
    return target


@pytest.fixture
def start(pyz: Path, tmp_path: Path) -> Run:
    """Runs the file; -S: else the packages of this Python could stand in for those in it."""

    def start(
        *args: str, python: str = sys.executable, **env: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [python, "-I", "-S", str(pyz), *args],
            env={"XDG_CACHE_HOME": str(tmp_path / "cache"), **env},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr
        return done

    return start


def folder_of(tmp_path: Path) -> Path:
    """The folder of the content; there is no other."""
    [found] = (tmp_path / "cache" / "deployment-stub").iterdir()
    return found


def pythons() -> list[str]:
    """The interpreters from 3.11 that are on PATH or in pyenv, and run."""
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    found += map(str, Path.home().glob(".pyenv/versions/3.1*/bin/python"))
    each = [sys.executable, *filter(None, found)]
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    return [
        path for path in each if not subprocess.call([path, "-c", code], stderr=subprocess.DEVNULL)
    ]


def test_each_python_serves_all_from_the_cache_with_nothing_installed(start: Run) -> None:
    for python in pythons():
        done = start(*AROUND, python=python)
        assert (done.returncode, done.stdout) == (7, "website billing search\n"), done.stderr


def test_first_starts_at_once_unpack_one_private_folder(start: Run, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        assert {each.stdout for each in threads.map(start, ["--version"] * 3)} == {
            run("--version").stdout
        }
    folder = folder_of(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert re.fullmatch("[0-9a-f]{64}", folder.name)
    assert (folder / "deployment_stub" / "cli" / "__pycache__").is_dir()
    assert not (folder / "deployment_stub" / "redis_store" / "__pycache__").exists()


def test_another_file_in_the_folder_is_replaced(start: Run, tmp_path: Path) -> None:
    assert start("--version").returncode == 0
    file = folder_of(tmp_path) / "deployment_stub" / "app.py"
    right = file.read_bytes()
    for wrong in (right.replace(b"a", b"b"), None):  # the first has the same size
        file.write_bytes(wrong) if wrong else shutil.rmtree(file.parent)
        assert start("--version").returncode == 0
        assert file.read_bytes() == right
    file.write_text("raise OSError", "utf-8")
    folder_of(tmp_path).chmod(0o777)  # another user could write to it: it is left as it is
    assert start("--version").returncode == 0
    assert file.read_text("utf-8") == "raise OSError"


def test_it_runs_in_the_file_where_it_may_not_unpack(start: Run, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "deployment-stub"
    cache.parent.mkdir()
    cache.touch()
    for env in ({}, {"XDG_CACHE_HOME": "relative", "HOME": "/dev/null"}):
        assert start(*AROUND, **env).returncode == 7
    cache.unlink()
    cache.mkdir()
    cache.chmod(0o777)  # another user could write to it
    assert start("--version").returncode == 0
    assert not list(cache.iterdir())


def test_it_has_the_documents_and_the_command_that_verifies(
    start: Run, live_url: str, tmp_path: Path
) -> None:
    assert start("docs", "ci").stdout == (ROOT / "docs" / "ci.md").read_text("utf-8")
    save = ("--save", str(tmp_path / "service.json"))
    done = start("verify", live_url, "--write", "--pause", "0", *save, VERIFY_TOKEN=TOKEN)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_distribution_installs_one_package_and_one_command(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*install, str(ROOT)], check=True)
    names = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert names == {"bin", "deployment_stub"}
    others = tmp_path / "others"
    for name in ("app", "cli", "store", "web"):
        (others / name).mkdir(parents=True)
        (others / name / "__init__.py").write_text("theirs = True", "utf-8")
    env = {**os.environ, "PYTHONPATH": f"{others}{os.pathsep}{tmp_path}"}
    script = [str(tmp_path / "bin" / "deployment-stub")]
    for words in (script, [sys.executable, "-m", "deployment_stub"]):
        command = [*words, *AROUND]
        done = subprocess.run(command, env=env, cwd=others, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (7, "website billing search\n"), done.stderr
    theirs = "import app, cli, store, web; assert app.theirs and cli.theirs"
    subprocess.run([sys.executable, "-c", theirs], env=env, cwd=others, check=True)


def test_the_distribution_needs_what_the_requirements_say() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for name, pattern in (("", r"\ndependencies = (.*?\])"), ("-redis", r"\nredis = (.*?\])")):
        lines = (ROOT / f"requirements{name}.txt").read_text("utf-8").splitlines()
        found = re.search(pattern, text)
        assert found
        assert ast.literal_eval(found[1]) == [each for each in lines if "pytest" not in each]
