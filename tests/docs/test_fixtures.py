"""The fixtures for pytest, Node's runners, Go and JUnit 5, with the tests of a team in teams/.

`test_ci.py` runs the recipes with them.
"""

import hashlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.main import OTHER_VARIABLES
from cli.options import OPTIONS
from tests.clients.commands import link_node_modules
from tests.conftest import JARS, ROOT, needs
from tests.contract import STUB
from tests.docs.documents import TEXTS, blocks_of, execute, files_of, freed_worlds
from tests.program import environment, program
from tests.wire import call, port_of

pytestmark = pytest.mark.process

FIXTURES = ROOT / "docs" / "fixtures"
TEAMS = Path(__file__).parent / "teams"
IN_PARALLEL = [
    "--config=junit.jupiter.execution.parallel.enabled=true",
    "--config=junit.jupiter.execution.parallel.config.strategy=fixed",
    "--config=junit.jupiter.execution.parallel.config.fixed.parallelism=2",
]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
ALONE = {"PYTHONUTF8": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class Team(NamedTuple):
    """How a team runs its tests, and what is then seen of them."""

    command: list[str]
    shown: str  # of the requests of a test that fails
    worlds: int
    left: str = "any"  # a world that an ended run has left
    folders: tuple[str, ...] = (".",)  # where it finds stub.pyz


def append(path: Path, tests: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{tests}\n")


def in_pytest(folder: Path) -> Team:
    shutil.copy(FIXTURES / "stub_fixture.py", folder)
    shutil.copy(TEAMS / "shop.py", folder / "test_shop.py")
    (of_the_readme,) = (text for kind, text in blocks_of("README.md") if kind == "python")
    append(folder / "test_shop.py", of_the_readme)
    words = [*PYTEST, "-p", "stub_fixture", "--show-capture=no", "--tb=short"]
    shown = '#2 POST /v1/projects 422 invalid_body (/name must not be blank)\n   > {"name": ""}\n'
    left = hashlib.sha256(b"test_shop.py::test_records").hexdigest()[:12]
    return Team(words, shown, 11, f"test_records-{left}")


def node(folder: Path) -> Team:
    needs("node")
    shutil.copy(FIXTURES / "stub_fixture.mjs", folder)
    shutil.copy(TEAMS / "shop.test.mjs", folder)
    shown = '#1 POST /v1/projects?page=1 422 invalid_body (/name must not be blank) > {"name": ""}'
    shown += ' < {"type": "about:blank"'
    return Team(["node", "--test", "--test-reporter=spec"], shown, 6)


def vitest(folder: Path) -> Team:
    """A team whose runner is in the table of ci.md, with two files that run in parallel."""
    team = node(folder)
    link_node_modules(folder)
    (folder / "package.json").write_text("{}", "utf-8")
    row = r"^\| Vitest \| `(.*)` \| `-- (.*)` \|$"
    ((line, command),) = re.findall(row, TEXTS["docs/ci.md"], re.MULTILINE)
    test = folder / "shop.test.mjs"
    _, _, rest = test.read_text("utf-8").partition("\n")
    test.write_text(f"{line}\n{rest}", "utf-8")
    shutil.copy(test, folder / "other.test.mjs")
    words = command.replace("npx ", "node_modules/.bin/").split()
    return team._replace(command=[*words, "--environment", "happy-dom"])


def go(folder: Path) -> Team:
    needs("go")
    (folder / "stub").mkdir()
    shutil.copy(FIXTURES / "stub.go", folder / "stub")
    (folder / "go.mod").write_text(files_of("docs/ci.md")["go.mod"], "utf-8")
    shutil.copy(TEAMS / "shop_test.go", folder)
    shown = "#1 POST /v1/projects page=1 422 invalid_body /name must not be blank\n"
    shown += '        > {"name": ""}\n        < {"type": "about:blank"'
    return Team(["go", "test", "-count=1", "./..."], shown, 6, folders=(".", "stub"))


def junit(folder: Path) -> Team:
    needs("javac", "java", "junit5")
    shutil.copy(FIXTURES / "Stub.java", folder)
    shutil.copy(TEAMS / "TeamTest.java", folder)
    (folder / "ShopTest.java").write_text(files_of("docs/ci.md")["ShopTest.java"], "utf-8")
    words = ["javac", "-cp", f"{JARS}/*", "Stub.java", "ShopTest.java", "TeamTest.java"]
    assert execute(words, folder).returncode == 0
    launcher = "org.junit.platform.console.ConsoleLauncher"
    classes = ["-c", "ShopTest", "-c", "TeamTest", "-c", "TogetherTest"]
    words = ["java", "-cp", f".:{JARS}/*", launcher, *classes, *IN_PARALLEL]
    shown = '#1 POST /v1/projects 422 invalid_body (/name must not be blank)\n> {"name": ""}\n< {'
    return Team(words, shown, 7)


SHOWN_BY_PYTEST = {
    "test_rejected": "#1 GET /v1/projects?page=1 200"
    " (unpromised listProjects: query parameter page)\n"
    '#2 POST /v1/projects 422 invalid_body (/name must not be blank)\n   > {"name": ""}\n',
    "test_unauthorized": "no request with the token of this test\n"
    "main world meanwhile, with the requests that have no token of a test:\n"
    "#1 GET /v1/projects 401 token_missing (listProjects: no Authorization header)\n",
    "test_many": "1 earlier requests are not shown\n"
    + "".join(f"#{n + 1} GET /v1/deployments/{n} 404 deployment_not_found\n" for n in range(1, 20))
    + "#21 GET /v1/projects 503 injected_fault (fault flt_1)\n",
    "test_torn_down": "#1 GET /v2/projects 404 not_found (no operation: GET /v2/projects)\n",
}


def sections_of(output: str) -> dict[str, str]:
    """What is shown of the requests, by the test; without the responses' bodies."""
    pattern = r"^-+ requests to the stub -+\nworld (\w+)-[0-9a-f]{12}:\n((?:(?![_=]{3}).*\n)*)"
    sections = dict(re.findall(pattern, output, re.MULTILINE))
    return {name: re.sub(r"^   < .*\n", "", text, flags=re.M) for name, text in sections.items()}


ELSEWHERE = [pytest.param(each, marks=pytest.mark.slow) for each in (node, go, junit)]


@pytest.mark.parametrize("make", [in_pytest, *ELSEWHERE])
def test_a_fixture_gives_each_test_a_world_and_shows_the_requests_of_one_that_fails(
    make: Callable[[Path], Team], tmp_path: Path
) -> None:
    team = make(tmp_path)

    def run(**variables: str) -> tuple[int, str]:
        done = execute(team.command, tmp_path, **ALONE, **variables)
        return done.returncode, done.stdout + done.stderr

    nowhere = "http://127.0.0.1:1"
    named = {"STUB_TOKEN": "s3cret", "HTTP_PROXY": nowhere}
    with program("--token", "s3cret", "--token", "dev-token") as (started, url):
        call(url, "/v1/projects", token=f"s3cret.{team.left}")
        status, output = run(STUB_URL=url, HTTP_PROXY=nowhere)
        assert status == 0, output
        status, output = run(STUB_URL=url, **named, FAILING="1")
        call(url, "/_stub/reset", method="POST", token=f"s3cret.{team.left}")
        assert freed_worlds(started) == team.worlds
    assert status != 0
    assert "must be an integer from 200 to 599" in output
    assert "s3cret" not in output
    assert team.shown in output, output
    # A test without a request may have sent another token.
    assert re.search(r"(none|no request) (had|with) the token of |of this test: 0\n", output)
    if make == in_pytest:
        assert sections_of(output) == SHOWN_BY_PYTEST
        reason = "422 invalid_body: /status must be an integer from 200 to 599"
        assert f"StubError: POST /_stub/faults: {reason}" in output
        assert not {"urllib", "stub_fixture.py:"} & set(re.findall(r"[\w.]+:?", output))


# It tells that it is started, and is then the program.
SCRIPT = """#!/usr/bin/env python3
import os, sys
with open("{folder}/started", "a") as file:
    print("{name}", file=file)
os.execv("{python}", ["{python}", "{root}/app.py", *sys.argv[1:]])
"""


def add_program(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    text = SCRIPT.format(folder=folder, name=path.name, python=sys.executable, root=ROOT)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def started_in(folder: Path) -> list[str]:
    """The names of the programs that were started since the last call."""
    file = folder / "started"
    names = file.read_text("utf-8").split()
    file.unlink()
    return names


@pytest.mark.slow
@pytest.mark.parametrize("make", [node, go, junit])
def test_a_fixture_starts_the_program_it_finds(
    make: Callable[[Path], Team], tmp_path: Path
) -> None:
    """Whatever the variables say; without a verdict, since a process has a part of the requests."""
    team = make(tmp_path)
    installed = add_program(tmp_path, "bin/deployment-stub")
    logs = tmp_path / "logs"
    variables = {
        "STUB_TOKEN": "s3cret other",
        "STUB_HOST": "192.0.2.1",
        "STUB_PORT": "x",
        "STUB_FAIL_ON": "idle",
        "STUB_REPORT": "report.json",
        "STUB_LOG": str(logs / "stub.log"),
        "PATH": os.pathsep.join([str(installed.parent), os.environ["PATH"]]),
    }

    def started() -> list[str]:
        """The programs, each of which has a log of its own, named after the process."""
        logs.mkdir()
        done = execute(team.command, tmp_path, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not (tmp_path / "report.json").exists()
        names = [path.name for path in logs.iterdir()]
        assert all(re.fullmatch(r"stub\.\d+\.log", name) for name in names), names
        shutil.rmtree(logs)
        return started_in(tmp_path)

    assert started() == ["deployment-stub"]
    for folder in team.folders:
        path = add_program(tmp_path, f"{folder}/stub.pyz")
        assert started() == ["stub.pyz"]
        path.unlink()
    reasons = {
        "http://127.0.0.1:1": {"STUB_URL": "http://127.0.0.1:1"},
        "no.pyz was not found: install": {"STUB_PROGRAM": "no.pyz"},
        "error: no.json: No such file": {"STUB_PROGRAM": str(installed), "STUB_LIKE": "no.json"},
    }
    for reason, wrong in reasons.items():
        done = execute(team.command, tmp_path, **wrong)
        assert reason in done.stdout + done.stderr


@pytest.mark.slow
def test_the_processes_of_a_runner_of_node_share_the_program_of_its_global_setup(
    tmp_path: Path,
) -> None:
    team = vitest(tmp_path)
    (setting,) = re.findall(r"`(globalSetup: .*?)`", TEXTS["docs/ci.md"])
    config = f"export default {{ test: {{ {setting} }} }};"
    (tmp_path / "vitest.config.mjs").write_text(config, "utf-8")
    add_program(tmp_path, "stub.pyz")
    # The origin of a page in happy-dom, whose fetch sends a preflight.
    done = execute(team.command, tmp_path, STUB_CORS_ORIGIN="http://localhost:3000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert started_in(tmp_path) == ["stub.pyz"]
    assert "coverage: " in done.stderr  # it has ended before the runner


@pytest.mark.slow
@pytest.mark.parametrize("make", [node, go, junit])
def test_the_program_ends_with_killed_tests(make: Callable[[Path], Team], tmp_path: Path) -> None:
    """It is the one that a variable names, and like a service that a variable names."""
    team = make(tmp_path)
    add_program(tmp_path, "stub.pyz")
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    variables = {
        "STUB_PROGRAM": str(add_program(tmp_path, "named.pyz")),
        "STUB_LIKE": str(ROOT / "tests" / "services" / "mild.json"),
        "HELD": str(fifo),
    }
    reader = os.open(fifo, os.O_RDWR)
    with subprocess.Popen(
        team.command,
        cwd=tmp_path,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as runner:
        try:
            assert select.select([reader], [], [], 60)[0]
            url, token, pid = os.read(reader, 1000).decode().split()
            assert "count" in call(url, "/v1/projects", token=token).json
            with socket.create_connection(("127.0.0.1", port_of(url)), timeout=30) as connection:
                os.kill(int(pid), signal.SIGKILL)
                assert connection.recv(1) == b""
        finally:
            os.close(reader)
            with suppress(ProcessLookupError):
                os.killpg(runner.pid, signal.SIGKILL)
    assert started_in(tmp_path) == ["named.pyz"]


GO_ALONE = """package client

import (
	"client/stub"
	"testing"
)

func TestIt(t *testing.T) { stub.New(t) }
"""


@pytest.mark.slow
def test_go_runs_its_tests_again_when_a_variable_changes_or_a_file_that_one_names(
    tmp_path: Path,
) -> None:
    go(tmp_path)
    (tmp_path / "shop_test.go").write_text(GO_ALONE, "utf-8")
    seed = tmp_path / "seed.json"
    add_program(tmp_path, "stub/stub.pyz")

    def write(text: str, age: int) -> None:
        seed.write_text(text, "utf-8")
        for path in tmp_path.rglob("*"):
            modified = path.stat().st_mtime - age  # Go keeps no result of files of two seconds
            os.utime(path, (modified, modified))

    def is_cached(**variables: str) -> bool:
        done = execute(["go", "test", "./..."], tmp_path, STUB_SEED=str(seed), **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return "(cached)" in done.stdout

    write("{}", age=10)
    assert [is_cached(), is_cached()] == [False, True]
    write('{"projects": []}', age=5)
    assert [is_cached(), is_cached(STUB_PACE="0"), is_cached()] == [False, False, True]


def test_the_fixture_of_go_knows_each_variable_and_each_member_of_a_fault() -> None:
    text = (FIXTURES / "stub.go").read_text("utf-8")
    variables = {str(option.envvar) for option in OPTIONS.values()}
    assert {*re.findall(r"\bSTUB_[A-Z_]+\b", text)} == {*variables, *OTHER_VARIABLES}
    (body,) = re.findall(r"type Fault struct {\n(.*?)^}", text, re.DOTALL | re.MULTILINE)
    members = STUB.components["schemas"]["Fault"]["properties"]
    assert {*re.findall(r'json:"(\w+),omitempty"', body)} == {*members}


# Calls the hooks as Bun, Jasmine and AVA do: they tell no name.
NAMELESS = """
import { useStub } from "./stub_fixture.mjs";

let before, after;
const hooks = { beforeEach: (hook) => { before = hook; }, afterEach: (hook) => { after = hook; } };
const stub = useStub(hooks);
await after();  // of a test whose first hook has failed
for (const id of ["dpl_1", "dpl_2"]) {
  await before();
  console.log(stub.token, (await stub.requests()).length);
  await fetch(`${stub.url}/v1/deployments/${id}`, { headers: stub.headers });
  await after();
}
await before();
await before().catch(({ message }) => console.log(message));
"""


def run_module(folder: Path, text: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a file of Node beside the fixture."""
    needs("node")
    shutil.copy(FIXTURES / "stub_fixture.mjs", folder)
    (folder / "own.mjs").write_text(text, "utf-8")
    return execute(["node", "own.mjs"], folder, **variables)


def test_a_runner_of_node_need_not_tell_the_name_of_a_test(live_url: str, tmp_path: Path) -> None:
    done = run_module(tmp_path, NAMELESS, STUB_URL=live_url, STUB_TOKEN="")
    first, second, error = done.stdout.splitlines()
    assert re.fullmatch(r"dev-token\.a-test-[0-9a-f]{12} 0", first)
    assert re.fullmatch(r"dev-token\.a-test-[0-9a-f]{12} 0", second)
    assert first != second
    assert error == '"a test" began before "a test" ended: run one test at a time'


WITH_OPTIONS = """
import { withOptions } from "./stub_fixture.mjs";

const corsOrigin = ["http://a", "http://b"];
const given = { empty: true, strict: false, seed: undefined, idsSeed: 5, corsOrigin };
const end = await withOptions(given)();
const headers = { Authorization: `Bearer ${process.env.STUB_TOKEN}`, Origin: "http://b" };
const response = await fetch(`${process.env.STUB_URL}/v1/projects`, { headers });
console.log(response.headers.get("Access-Control-Allow-Origin"), (await response.text()).trim());
await end();
"""


@pytest.mark.slow
def test_the_global_setup_of_node_has_options(live_url: str, tmp_path: Path) -> None:
    program = {"STUB_PROGRAM": str(ROOT / "app.py")}
    done = run_module(tmp_path, WITH_OPTIONS, **program)
    assert (done.returncode, done.stdout) == (0, 'http://b {"projects": []}\n'), done.stderr
    done = run_module(tmp_path, WITH_OPTIONS, STUB_URL=live_url)
    reason = "--empty --ids-seed=5 --cors-origin=http://a --cors-origin=http://b"
    assert f"the program at STUB_URL runs already: start it with {reason}" in done.stderr


@pytest.mark.slow
def test_the_types_of_node_are_those_of_its_runners_and_of_the_contract(tmp_path: Path) -> None:
    link_node_modules(tmp_path)
    for path in (FIXTURES / "stub_fixture.d.mts", TEAMS / "shop.mts"):
        shutil.copy(path, tmp_path)
    options = "--strict --noEmit --skipLibCheck --module nodenext --target es2022 --types node"
    done = execute(["node_modules/.bin/tsc", *options.split(), "shop.mts"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    text = (FIXTURES / "stub_fixture.d.mts").read_text("utf-8")
    for name in ("Coverage", "Deployment", "Entry"):
        (body,) = re.findall(rf"interface {name} {{\n(.*?)^}}", text, re.DOTALL | re.MULTILINE)
        schema = STUB.components["schemas"][name]
        assert {*re.findall(r"^  (\w+):", body, re.MULTILINE)} == {*schema["required"]}, name


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The folder of a client team, with a module that has the name of one of the program's."""
    in_pytest(tmp_path)
    (tmp_path / "stub.pyz").symlink_to(ROOT / "app.py")
    (tmp_path / "store.py").write_text("raise RuntimeError('of the team')")
    lines = 'from stub_fixture import Stub\npytest_plugins = ["stub_fixture"]\n'
    (tmp_path / "conftest.py").write_text(lines, "utf-8")
    return tmp_path


def test_a_failure_looks_as_ci_md_prints_it_and_what_fail_on_finds_is_an_error(team: Path) -> None:
    (printed,) = [text for kind, text in blocks_of("docs/ci.md") if "requests to the stub" in text]
    (name,) = re.findall(r"world (\w+)-", printed)
    unpromised = 'call(stub, "GET", "/v1/projects?page=1")'
    invalid = 'assert call(stub, "POST", "/v1/projects", {"name": ""}) == 1'
    tests = f"def {name}(stub):\n    {invalid}\n\ndef test_passing(stub):\n    {unpromised}"
    append(team / "test_shop.py", tests)
    elsewhere = {"STUB_TOKEN": "s3cret", "STUB_HOST": "192.0.2.1", "STUB_PORT": "x"}
    words = [*PYTEST, "-k", f"{name} or passing"]
    done = execute(words, team, **ALONE, STUB_FAIL_ON="unpromised", **elsewhere)
    assert f"\n{printed}\n" in done.stdout
    assert "1 failed, 1 passed, 7 deselected, 1 error" in done.stdout
    assert "\nfinding: unpromised: listProjects: query parameter page " in done.stdout
    assert "s3cret" not in done.stdout


@pytest.mark.slow
def test_a_token_that_is_not_that_of_the_running_program_is_a_sentence(
    team: Path, live_url: str
) -> None:
    words = [*PYTEST, "-k", "test_time"]
    done = execute(words, team, **ALONE, STUB_URL=live_url, STUB_TOKEN="wrong")
    _, _, shown = done.stdout.partition(" ERROR at setup of test_time ")
    reason, _, _ = shown.partition("=== short test summary info")
    expected = r"STUB_URL and STUB_TOKEN are not .*: 401 token_invalid: .*"
    assert re.fullmatch(rf"_+\n{expected}\n=+ *", reason), done.stdout
