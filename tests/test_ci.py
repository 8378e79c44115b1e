"""`.ci/run` installs what is missing and counts every test; tools and apt-get are stand-ins."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program import environment

pytestmark = pytest.mark.process

PACKAGES = {
    "python3": "python3-venv",
    "curl": "curl",
    "node": "nodejs",
    "npm": "npm",
    "chromium": "chromium",
    "java": "default-jre-headless",
    "go": "golang-go",
    "redis-server": "redis-server",
    "nginx": "nginx",
    "javac": "default-jdk-headless",
    "openssl": "openssl",
    "certutil": "libnss3-tools",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
}
FOUND = {tool: ["1.2.3", "found"] for tool in (*PACKAGES, "junit5")}
IN_VENV = ("pip", "ruff", "mypy")
WORKS = "echo tool v1.2.3"
IS_NEW = "echo tool v4.5"
MISSING = "exit 127"  # as a shell says it; the real tool may be in /usr/sbin
UPDATE = "apt-get -q update"
PLAIN = "def test_plain(): pass\n"
SKIPPED = "def test_skipped(): pytest.skip('no node')\n"
GENERATED = (
    "@pytest.mark.generated\ndef test_generated(): os.system('echo cases: $CASES >> cases')\n"
)
SLOW = "@pytest.mark.slow\ndef test_slow(): pass\n"
WRONG = "@pytest.mark.slow\ndef test_wrong(): assert False\n"
BROKEN = "@pytest.mark.slow\ndef test_broken(no_such_fixture): pass\n"


def install(package: str) -> str:
    return f"apt-get -q install -y --no-install-recommends {package}"


class Machine:
    """A folder with `.ci/run` and the only commands that it finds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (".ci", "bin", "tests", "tmp", ".venv/bin", "jars"):
            (folder / name).mkdir(parents=True)
        (folder / "jars" / "junit-jupiter-api-1.2.3.jar").touch()
        shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
        for name in ("dirname", "env", "mktemp", "rm"):
            (folder / "bin" / name).symlink_to(str(shutil.which(name)))
        for name in PACKAGES:
            self.add(name, WORKS)
        self.add("nginx", f"{WORKS} >&2")
        self.add("id", "echo 0")
        self.apt_get("")
        for name in IN_VENV:
            self.add(name, "", ".venv/bin")

    def add(self, name: str, script: str, folder: str = "bin") -> None:
        """Add a stand-in, or replace it."""
        path = self.folder / folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)

    def apt_get(self, script: str) -> None:
        """An apt-get that notes how it is called, and then runs a script with the package in $5."""
        self.add("apt-get", f'cd "${{0%/*}}" && echo "apt-get $*" >> ../log\n{script}')

    def packages(self, tools: Mapping[str, str]) -> None:
        """An apt-get that knows some packages, each with the names of its tools."""
        cases = [
            f'{each}) for tool in {tools[each]}; do echo "{IS_NEW}" > $tool; done ;;'
            for each in tools
        ]
        self.apt_get("\n".join(['case "$5" in', *cases, "esac"]))

    @property
    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def run(self, *args: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(shutil.which("bash")), ".ci/run", *args],
            cwd=self.folder,
            env=environment({"PATH": f"{self.folder}/bin", "TMPDIR": "tmp", "JARS": "jars"}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert list((self.folder / "tmp").iterdir()) == []
        return done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def table(text: str) -> dict[str, list[str]]:
    """The rows below the head, by tool: version, and found or installed."""
    head, *rows = (line.split() for line in text.splitlines())
    assert head == ["tool", "version"]
    return {tool: rest for tool, *rest in rows}


def test_tools_that_are_there_are_shown_and_nothing_is_installed(machine: Machine) -> None:
    done = machine.run("--tools")
    assert (done.returncode, done.stderr) == (0, "")
    assert table(done.stdout) == FOUND
    assert machine.log == []


@pytest.mark.parametrize(("tool", "package"), PACKAGES.items())
def test_only_the_tool_that_is_missing_is_installed(
    tool: str, package: str, machine: Machine
) -> None:
    machine.add(tool, MISSING)
    machine.packages({package: tool})
    done = machine.run("--tools")
    assert done.returncode == 0, done.stderr
    assert table(done.stdout) == {**FOUND, tool: ["4.5", "installed"]}
    assert machine.log == [UPDATE, install(package)]


def test_a_python_that_makes_no_environments_is_not_enough(machine: Machine) -> None:
    """Debian's python3 has no ensurepip without python3-venv."""
    machine.add("python3", f'case "$*" in *ensurepip*) exit 1 ;; esac; {WORKS}')
    machine.packages({"python3-venv": "python3"})
    assert machine.run("--tools").returncode == 0
    assert machine.log == [UPDATE, install("python3-venv")]


def test_who_is_not_root_installs_with_sudo_and_is_asked_for_no_password(machine: Machine) -> None:
    machine.add("id", "echo 1000")
    machine.add("sudo", '[ "$1" = -n ] && shift && echo sudo >> log && "$@"')
    machine.add("go", MISSING)
    machine.packages({"golang-go": "go"})
    assert machine.run("--tools").returncode == 0
    assert machine.log == ["sudo", UPDATE, "sudo", install("golang-go")]


def test_a_package_that_has_no_command_is_installed_if_its_jar_is_missing(machine: Machine) -> None:
    (machine.folder / "jars" / "junit-jupiter-api-1.2.3.jar").unlink()
    machine.apt_get('[ "$2" = update ] || : > ../jars/junit-jupiter-api-4.5.jar')
    assert table(machine.run("--tools").stdout) == {**FOUND, "junit5": ["4.5", "installed"]}
    assert machine.log == [UPDATE, install("junit5")]


def test_npm_is_not_installed_if_node_brought_it(machine: Machine) -> None:
    machine.add("node", MISSING)
    machine.add("npm", MISSING)
    machine.packages({"nodejs": "node npm"})
    done = machine.run("--tools")
    assert table(done.stdout)["npm"] == ["4.5", "found"]
    assert machine.log == [UPDATE, install("nodejs")]


def test_the_lists_of_packages_are_updated_once(machine: Machine) -> None:
    machine.add("curl", MISSING)
    machine.add("java", MISSING)
    machine.packages({"curl": "curl", "default-jre-headless": "java"})
    assert machine.run("--tools").returncode == 0
    assert machine.log == [UPDATE, install("curl"), install("default-jre-headless")]


@pytest.mark.parametrize(
    ("apt_get", "log"),
    [
        ("exit 100", [UPDATE, install("chromium")]),
        ('[ "$2" = update ]', [UPDATE, install("chromium")]),
        ("", [UPDATE, install("chromium")]),
    ],
    ids=["no lists", "no such package", "a package without the tool"],
)
@pytest.mark.parametrize("args", [["--tools"], []])
def test_a_tool_that_cannot_be_installed_ends_the_run_at_once(
    args: list[str], apt_get: str, log: list[str], machine: Machine
) -> None:
    machine.add("chromium", MISSING)
    machine.add("nginx", MISSING)
    machine.apt_get(apt_get)
    done = machine.run(*args)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "error: chromium is missing, and could not be installed with the package chromium"
    )
    assert list(table(done.stdout)) == ["python3", "curl", "node", "npm"]
    assert machine.log == log


@pytest.mark.parametrize("name", ["npm", *IN_VENV])
def test_no_test_runs_if_what_comes_before_fails(name: str, machine: Machine) -> None:
    folder = ".venv/bin" if name in IN_VENV else "bin"
    machine.add("python", 'echo "$@" >> log', ".venv/bin")
    machine.add(name, f'[ "$1" = --version ] && {WORKS}', folder)
    assert machine.run().returncode == 1
    assert "-m pytest" not in "".join(machine.log)


@pytest.mark.parametrize(
    ("tests", "status", "last_line"),
    [
        (PLAIN + GENERATED + SLOW, 0, "3 passed, 0 failed, 0 skipped"),
        (SKIPPED + GENERATED + SLOW, 1, "2 passed, 0 failed, 1 skipped"),
        (GENERATED + SLOW + WRONG + BROKEN, 1, "2 passed, 2 failed, 0 skipped"),
        (PLAIN + GENERATED, 1, "2 passed, 0 failed, 0 skipped"),
        (PLAIN + SLOW, 1, "2 passed, 0 failed, 0 skipped"),
    ],
    ids=["all pass", "a skip", "a failure and an error", "no slow tests", "no generated tests"],
)
def test_every_test_counts(tests: str, status: int, last_line: str, machine: Machine) -> None:
    """A real pytest runs, in one process and without plugins, which is quick."""
    shutil.copy(ROOT / "pyproject.toml", machine.folder)
    (machine.folder / "tests" / "test_it.py").write_text(f"import os, pytest\n{tests}", "utf-8")
    python = shlex.quote(sys.executable)
    machine.add(
        "python",
        f"""export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
        case "$2" in
          pip) ;;
          pytest) exec {python} "$@" -p xdist -n 0 ;;
          *) exec {python} "$@" ;;
        esac""",
        ".venv/bin",
    )
    done = machine.run()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (status, last_line), done.stdout
    if GENERATED in tests:
        assert (machine.folder / "cases").read_text("utf-8") == "cases:\ncases: large\n"
