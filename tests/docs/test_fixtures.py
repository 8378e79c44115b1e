"""The fixtures for Node's runners, Go and JUnit 5, with the tests of a team in teams/.

`test_blocks.py` runs the recipes with them, and `test_pytest.py` the fixture for pytest.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.main import OTHER_VARIABLES
from cli.options import OPTIONS
from tests.clients.commands import link_node_modules
from tests.conftest import JARS, ROOT, eventually, needs
from tests.contract import STUB
from tests.docs.documents import FILES, TEXTS, execute
from tests.wire import port_of

pytestmark = pytest.mark.process

FIXTURES = ROOT / "docs" / "fixtures"
TEAMS = Path(__file__).parent / "teams"
JAVA_STARTS_QUICKLY = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
IN_PARALLEL = [
    "--config=junit.jupiter.execution.parallel.enabled=true",
    "--config=junit.jupiter.execution.parallel.config.strategy=fixed",
    "--config=junit.jupiter.execution.parallel.config.fixed.parallelism=2",
]


class Team(NamedTuple):
    """How a team runs its tests, and what is shown of them."""

    needs: tuple[str, ...]
    fixture: str  # in its folder
    tests: str
    command: list[str]
    shown: str  # of the requests of a test that fails
    failed: str  # of the end, a pattern
    worlds: int


TEAMS_OF = {
    "node": Team(
        ("node",),
        "stub_fixture.mjs",
        "shop.test.mjs",
        ["node", "--test", "--test-reporter=spec"],
        "#1 POST /v1/projects?page=1 422 invalid_body (/name must not be blank)"
        ' > {"name": ""} < {"type": "about:blank"',
        r"^\S+ fail 2$",
        6,
    ),
    "go": Team(
        ("go",),
        "stub/stub.go",
        "shop_test.go",
        ["go", "test", "-count=1", "./..."],
        "#1 POST /v1/projects page=1 422 invalid_body /name must not be blank\n"
        '        > {"name": ""}\n        < {"type": "about:blank"',
        r"^--- FAIL: TestRejected [^\0]*^--- FAIL: TestInvalid ",
        6,
    ),
    "junit": Team(
        ("javac", "java", "junit5"),
        "Stub.java",
        "TeamTest.java",
        ["java", *JAVA_STARTS_QUICKLY, "-cp", f".:{JARS}/*",
         "org.junit.platform.console.ConsoleLauncher",
         "-c", "ShopTest", "-c", "TeamTest", "-c", "TogetherTest", *IN_PARALLEL],
        '#1 POST /v1/projects 422 invalid_body (/name must not be blank)\n> {"name": ""}\n< {',
        r" 2 tests failed ",
        7,
    ),
}  # fmt: skip
# It tells that it is started, and is then the program.
SCRIPT = """#!/usr/bin/env python3
import os, sys
with open("{folder}/started", "a") as file:
    print("{name}", file=file)
os.execv("{python}", ["{python}", "{root}/app.py", *sys.argv[1:]])
"""


def make_team(team: Team, folder: Path) -> None:
    needs(*team.needs)
    fixture = folder / team.fixture
    fixture.parent.mkdir(exist_ok=True)
    shutil.copy(FIXTURES / fixture.name, fixture)
    shutil.copy(TEAMS / team.tests, folder)
    if team.fixture == "stub/stub.go":
        (folder / "go.mod").write_text(FILES["go.mod"], "utf-8")
    if team.fixture == "Stub.java":
        (folder / "ShopTest.java").write_text(FILES["ShopTest.java"], "utf-8")
        quickly = [f"-J{option}" for option in JAVA_STARTS_QUICKLY]
        files = ["Stub.java", "ShopTest.java", "TeamTest.java"]
        words = ["javac", *quickly, "-cp", f"{JARS}/*", *files]
        assert execute(words, folder).returncode == 0


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


def freed_worlds(log: str) -> int:
    """The number of the worlds in a log, each of which was reset at last."""
    pattern = r"^\S+Z ([\w-]+-[0-9a-f]{6,12}) (?:#\d+ )?(\w+ \S+ \d+)"
    latest = dict(re.findall(pattern, log, re.MULTILINE))
    assert {*latest.values()} == {"POST /_stub/reset 204"}
    return len(latest)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEAMS_OF)
def test_a_fixture_gives_each_test_a_world_of_the_program_it_finds(
    name: str, tmp_path: Path
) -> None:
    """Whatever the variables say; a test that fails shows its requests."""
    team = TEAMS_OF[name]
    make_team(team, tmp_path)
    installed = add_program(tmp_path, "bin/deployment-stub")
    path = os.pathsep.join([str(installed.parent), os.environ["PATH"]])
    elsewhere = {"STUB_TOKEN": "s3cret other", "STUB_HOST": "192.0.2.1", "STUB_PORT": "x"}
    # Without a verdict, since a process has a part of the requests.
    judged = {"STUB_FAIL_ON": "idle", "STUB_REPORT": f"{tmp_path}/report.json"}

    def run(**variables: str) -> "subprocess.CompletedProcess[str]":
        return execute(team.command, tmp_path, PATH=path, **variables)

    done = run(**elsewhere, **judged)
    assert done.returncode == 0, done.stdout + done.stderr
    assert started_in(tmp_path) == ["deployment-stub"]
    assert not (tmp_path / "report.json").exists()
    add_program(tmp_path, f"{Path(team.fixture).parent}/stub.pyz")
    done = run(**elsewhere, STUB_LOG=f"{tmp_path}/stub.log", FAILING="1")
    output = done.stdout + done.stderr
    assert re.search(team.failed, output, re.MULTILINE), output
    assert team.shown in output, output
    assert "must be an integer from 200 to 599" in output
    # A test without a request may have sent another token.
    assert re.search(r"(none|no request) (had|with) the token of |of this test: 0\n", output)
    assert "s3cret" not in output
    assert started_in(tmp_path) == ["stub.pyz"]
    (log,) = tmp_path.glob("stub.*.log")
    assert freed_worlds(log.read_text("utf-8")) == team.worlds
    reasons = {
        "http://127.0.0.1:1": {"STUB_URL": "http://127.0.0.1:1"},
        "no.pyz was not found: install": {"STUB_PROGRAM": "no.pyz"},
        "error: no.json: No such file": {"STUB_LIKE": "no.json"},
    }
    for reason, wrong in reasons.items():
        done = run(**wrong)
        assert reason in done.stdout + done.stderr
    (tmp_path / "started").unlink()
    # The tests are killed, and with them the program that the variable names.
    named, held = add_program(tmp_path, "named.pyz"), tmp_path / "held"
    done = run(STUB_PROGRAM=str(named), HELD=str(held))
    assert done.returncode != 0
    assert started_in(tmp_path) == ["named.pyz"]
    eventually(lambda: is_refused(held.read_text("utf-8")))


def is_refused(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port_of(url)), timeout=30).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.slow
def test_the_processes_of_a_runner_of_node_share_the_program_of_its_global_setup(
    tmp_path: Path,
) -> None:
    """Vitest, with two files that run in parallel, in happy-dom, whose fetch sends a preflight."""
    make_team(TEAMS_OF["node"], tmp_path)
    link_node_modules(tmp_path)
    (setting,) = re.findall(r"`(globalSetup: .*?)`", TEXTS["docs/ci.md"])
    config = f"export default {{ test: {{ {setting} }} }};"
    (tmp_path / "vitest.config.mjs").write_text(config, "utf-8")
    (tmp_path / "package.json").write_text("{}", "utf-8")
    row = r"^\| Vitest \| `(.*)` \| `-- npx (.*)` \|$"
    ((line, command),) = re.findall(row, TEXTS["docs/ci.md"], re.MULTILINE)
    _, _, rest = (tmp_path / "shop.test.mjs").read_text("utf-8").partition("\n")
    for name in ("shop", "other"):
        (tmp_path / f"{name}.test.mjs").write_text(f"{line}\n{rest}", "utf-8")
    add_program(tmp_path, "stub.pyz")
    words = [*f"node_modules/.bin/{command}".split(), "--environment", "happy-dom"]
    done = execute(words, tmp_path, STUB_CORS_ORIGIN="http://localhost:3000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert started_in(tmp_path) == ["stub.pyz"]
    assert "coverage: " in done.stderr  # it has ended before the runner


@pytest.mark.slow
def test_go_runs_its_tests_again_when_a_variable_changes_or_a_file_that_one_names(
    tmp_path: Path,
) -> None:
    make_team(TEAMS_OF["go"], tmp_path)
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
    assert [is_cached(), is_cached(STUB_PACE="0")] == [False, False]


# What a fixture declares, and the members of a schema that it has.
DECLARED = [
    ("stub.go", r"type Fault struct", r'json:"(\w+),omitempty"', "Fault", "properties"),
    ("stub_fixture.d.mts", "interface Coverage", r"^  (\w+):", "Coverage", "required"),
    ("stub_fixture.d.mts", "interface Deployment", r"^  (\w+):", "Deployment", "required"),
    ("stub_fixture.d.mts", "interface Entry", r"^  (\w+):", "Entry", "required"),
]


def test_the_fixtures_have_each_variable_and_the_members_of_the_contract() -> None:
    for file, start, pattern, name, members in DECLARED:
        text = (FIXTURES / file).read_text("utf-8")
        (body,) = re.findall(rf"{start} {{\n(.*?)^}}", text, re.DOTALL | re.MULTILINE)
        found = {*re.findall(pattern, body, re.MULTILINE)}
        assert found == {*STUB.components["schemas"][name][members]}, start
    text = (FIXTURES / "stub.go").read_text("utf-8")
    variables = {str(option.envvar) for option in OPTIONS.values()}
    assert {*re.findall(r"\bSTUB_[A-Z_]+\b", text)} == {*variables, *OTHER_VARIABLES}


# Calls the hooks as Bun, Jasmine and AVA do: they tell no name. Then has options.
OWN = """
import { useStub, withOptions } from "./stub_fixture.mjs";

let before, after;
const hooks = { beforeEach: (hook) => { before = hook; }, afterEach: (hook) => { after = hook; } };
const stub = useStub(hooks);
const corsOrigin = ["http://a", "http://b"];
const given = { empty: true, strict: false, seed: undefined, idsSeed: 5, corsOrigin };
const end = await withOptions(given)();
await after();  // of a test whose first hook has failed
for (const id of ["dpl_1", "dpl_2"]) {
  await before();
  const headers = { ...stub.headers, Origin: "http://b" };
  const response = await fetch(`${stub.url}/v1/projects`, { headers });
  const text = await response.text();
  console.log(response.headers.get("Access-Control-Allow-Origin"), text.trim());
  console.log(stub.token, (await stub.requests()).length);
  await after();
}
await before();
await before().catch(({ message }) => console.log(message));
await end();
"""


@pytest.mark.slow
def test_the_global_setup_of_node_has_options_and_a_runner_need_not_tell_the_name_of_a_test(
    live_url: str, tmp_path: Path
) -> None:
    make_team(TEAMS_OF["node"], tmp_path)
    (tmp_path / "own.mjs").write_text(OWN, "utf-8")
    done = execute(["node", "own.mjs"], tmp_path, STUB_PROGRAM=str(ROOT / "app.py"))
    listed, first, _, second, error = done.stdout.splitlines()
    assert listed == 'http://b {"projects": []}'
    for line in (first, second):
        assert re.fullmatch(r"dev-token\.a-test-[0-9a-f]{12} 1", line)
    assert first != second
    assert error == '"a test" began before "a test" ended: run one test at a time'
    assert done.returncode == 0, done.stderr
    done = execute(["node", "own.mjs"], tmp_path, STUB_URL=live_url)
    reason = "--empty --ids-seed=5 --cors-origin=http://a --cors-origin=http://b"
    assert f"the program at STUB_URL runs already: start it with {reason}" in done.stderr


@pytest.mark.slow
def test_the_types_of_node_are_those_of_its_runners(tmp_path: Path) -> None:
    link_node_modules(tmp_path)
    for path in (FIXTURES / "stub_fixture.d.mts", TEAMS / "shop.mts"):
        shutil.copy(path, tmp_path)
    options = "--strict --noEmit --skipLibCheck --module nodenext --target es2022 --types node"
    done = execute(["node_modules/.bin/tsc", *options.split(), "shop.mts"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
