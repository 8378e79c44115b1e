"""The fixtures for Node's runners, Go and JUnit 5, with the tests of a team in teams/.

`test_blocks.py` runs the recipes with them, and `test_pytest.py` the fixture for pytest.
"""

import os
import re
import shutil
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
from tests.wire import is_refused

pytestmark = pytest.mark.process

FIXTURES = ROOT / "docs" / "fixtures"
TEAMS = Path(__file__).parent / "teams"
JUNIT = f"""
test -e TeamTest.class ||
javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -cp '{JARS}/*' *.java || exit
parallel=--config=junit.jupiter.execution.parallel
java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '.:{JARS}/*' \\
  org.junit.platform.console.ConsoleLauncher -c ShopTest -c TeamTest -c TogetherTest \\
  $parallel.enabled=true $parallel.config.strategy=fixed $parallel.config.fixed.parallelism=2
"""
# It tells that it is started, and is then the program.
SCRIPT = """#!/usr/bin/env python3
import os, sys
with open("{folder}/started", "a") as file:
    print("{name}", file=file)
os.execv("{python}", ["{python}", "{root}/app.py", *sys.argv[1:]])
"""


class Team(NamedTuple):
    """How a team runs its tests, and what is then seen of them."""

    tools: tuple[str, ...]
    command: str
    worlds: int
    failed: str  # a pattern, if just the two tests fail that should
    shown: str  # of the requests of one of them


IN_NODE = Team(
    ("node",), "node --test --test-reporter=spec team.test.mjs", 6, r"^\S+ fail 2$",
    "#1 POST /v1/projects?page=1 422 invalid_body (/name must not be blank)"
    ' > {"name": ""} < {"type": "about:blank"',
)  # fmt: skip
IN_GO = Team(
    ("go",), "go test -count=1 ./...", 7,
    r"^--- FAIL: TestRejected [^\0]*^--- FAIL: TestInvalid ",
    "#1 POST /v1/projects page=1 422 invalid_body /name must not be blank\n"
    '        > {"name": ""}\n        < {"type": "about:blank"',
)  # fmt: skip
IN_JUNIT = Team(
    ("javac", "java", "junit5"), JUNIT, 7, r" 2 tests failed ",
    '#1 POST /v1/projects 422 invalid_body (/name must not be blank)\n> {"name": ""}\n< {',
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the tests of all teams are, with the files of ci.md and the fixtures."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "stub").mkdir()
    for path in (*TEAMS.iterdir(), *FIXTURES.glob("[sS]tub*")):
        shutil.copy(path, tmp_path / "stub" if path.name == "stub.go" else tmp_path)
    return tmp_path


def add_program(path: Path, folder: Path) -> Path:
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
@pytest.mark.parametrize("team", [IN_NODE, IN_GO, IN_JUNIT], ids=["node", "go", "junit"])
def test_a_fixture_gives_each_test_a_world_of_the_program_it_finds(
    team: Team, folder: Path
) -> None:
    """Whatever the variables say; a test that fails shows its requests."""
    needs(*team.tools)
    path = os.pathsep.join([f"{folder}/bin", os.environ["PATH"]])
    elsewhere = {"STUB_TOKEN": "s3cret other", "STUB_HOST": "192.0.2.1", "STUB_PORT": "x"}

    def run(**variables: str) -> "subprocess.CompletedProcess[str]":
        return execute(["sh", "-c", f"exec 2>&1\n{team.command}"], folder, PATH=path, **variables)

    add_program(folder / "bin" / "deployment-stub", folder)
    gone = re.compile(r"no\.py was not found\. The stub is a program in Python: `uv tool install ")
    assert "'STUB_LIKE': there is no file no.json" in run(STUB_LIKE="no.json").stdout
    assert gone.search(run(STUB_PROGRAM="no.py").stdout)
    assert "http://127.0.0.1:1" in run(STUB_URL="http://127.0.0.1:1").stdout
    assert {*started_in(folder)} == {"deployment-stub"}
    # A process has a part of the requests.
    for name in ("STUB_ENV", "STUB_FAIL_ON", "STUB_PROBE", "STUB_REPORT"):
        assert f"{name} needs one program around all tests" in run(**{name: "idle"}).stdout

    done = run(**elsewhere, STUB_LOG=f"{folder}/stub.log", FAILING="1")
    assert re.search(team.failed, done.stdout, re.MULTILINE), done.stdout
    assert team.shown in done.stdout
    assert "must be an integer from 200 to 599" in done.stdout
    assert "<nil>" not in done.stdout
    # A test without a request may have sent another token.
    assert re.search(r"(none|no request) (had|with) the token of |of this test: 0\n", done.stdout)
    assert "s3cret" not in done.stdout
    assert started_in(folder) == ["deployment-stub"]
    (log,) = folder.glob("stub.*.log")
    requests = r"^\S+Z ([\w-]+-[0-9a-f]{6,12}) (?:#\d+ )?(\w+ \S+ \d+)"
    latest = dict(re.findall(requests, log.read_text("utf-8"), re.MULTILINE))
    assert [*latest.values()] == team.worlds * ["POST /_stub/reset 204"]

    # The tests are killed, and with them the program that the variable names.
    named, held = add_program(folder / "named.py", folder), folder / "held"
    assert run(STUB_PROGRAM=str(named), HELD=str(held)).returncode != 0
    assert started_in(folder) == ["named.py"]
    eventually(lambda: is_refused(held.read_text("utf-8")))


# The origin of a page in happy-dom, whose fetch sends a preflight, is one of the two.
OPTIONS_OF_NODE = """{ corsOrigin: ["http://a", "http://localhost:3000"], idsSeed: 5, empty: true,
  strict: false, seed: undefined }"""


@pytest.mark.slow
def test_the_processes_of_a_runner_of_node_share_the_program_of_its_global_setup(
    folder: Path,
) -> None:
    """Vitest, with two files that run in parallel, in happy-dom."""
    link_node_modules(folder)
    setup = 'import { withOptions } from "./stub_fixture.mjs"; export default withOptions('
    (folder / "setup.mjs").write_text(f"{setup}{OPTIONS_OF_NODE});", "utf-8")
    config = 'export default { test: { globalSetup: "./setup.mjs" } };'
    (folder / "vitest.config.mjs").write_text(config, "utf-8")
    (folder / "package.json").write_text("{}", "utf-8")
    row = r"^- Vitest: `(.*)` and `-- npx (.*)`\.$"
    ((line, command),) = re.findall(row, TEXTS["docs/ci.md"], re.MULTILINE)
    for name in ("shop.test.mjs", "team.test.mjs"):
        _, _, rest = (folder / name).read_text("utf-8").partition("\n")
        (folder / name).write_text(f"{line}\n{rest}", "utf-8")
    program = add_program(folder / "app.py", folder)
    words = [*f"node_modules/.bin/{command}".split(), "--environment", "happy-dom"]
    done = execute(words, folder, STUB_PROGRAM=str(program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert started_in(folder) == ["app.py"]
    assert "coverage: " in done.stderr  # it has ended before the runner
    done = execute(words, folder, STUB_URL="http://127.0.0.1:1")
    given = "--cors-origin=http://a --cors-origin=http://localhost:3000 --ids-seed=5 --empty"
    assert f"the program at STUB_URL runs already: start it with {given}" in done.stderr


@pytest.mark.slow
def test_go_runs_its_tests_again_when_a_variable_changes_or_a_file_that_one_names(
    folder: Path,
) -> None:
    needs("go")
    seed = folder / "seed.json"
    variables_of_all = {
        "STUB_PROGRAM": str(add_program(folder / "app.py", folder)),
        "STUB_SEED": str(seed),
    }

    def is_cached(text: str, age: int, **variables: str) -> bool:
        if not seed.exists() or seed.read_text("utf-8") != text:
            seed.write_text(text, "utf-8")
            for path in folder.rglob("*"):
                modified = path.stat().st_mtime - age  # Go keeps no result of files of two seconds
                os.utime(path, (modified, modified))
        done = execute(["go", "test", "./..."], folder, **variables_of_all, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return "(cached)" in done.stdout

    assert [is_cached("{}", 10), is_cached("{}", 10)] == [False, True]
    other = '{"projects": []}'
    assert [is_cached(other, 5), is_cached(other, 5, STUB_PACE="0")] == [False, False]


# What a fixture declares, and the members of a schema that it has.
DECLARED = [
    ("stub.go", r"type Fault struct", r'json:"(\w+),omitempty"', "Fault", "properties"),
    ("stub_fixture.d.mts", "interface Coverage", r"^  (\w+):", "Coverage", "required"),
    ("stub_fixture.d.mts", "interface Deployment", r"^  (\w+):", "Deployment", "required"),
    ("stub_fixture.d.mts", "interface Entry", r"^  (\w+):", "Entry", "required"),
    ("stub_fixture.d.mts", "interface FaultMembers", r"^  (\w+)\?:", "FaultInput", "properties"),
]


def test_the_fixtures_have_each_variable_and_the_members_of_the_contract() -> None:
    for file, start, pattern, name, members in DECLARED:
        text = (FIXTURES / file).read_text("utf-8")
        (body,) = re.findall(rf"{start} {{\n(.*?)^}}", text, re.DOTALL | re.MULTILINE)
        found = {*re.findall(pattern, body, re.MULTILINE)}
        assert found == {*STUB.components["schemas"][name][members]}, start
    types = (FIXTURES / "stub_fixture.d.mts").read_text("utf-8")
    (body,) = re.findall(r"interface Filters {\n(.*?)^}", types, re.DOTALL | re.MULTILINE)
    parameters = STUB.document["paths"]["/_stub/requests"]["get"]["parameters"]
    names = {each["name"] for each in parameters}
    assert {*re.findall(r"^  (\w+)\?:", body, re.MULTILINE)} == names
    text = (FIXTURES / "stub.go").read_text("utf-8")
    variables = {str(option.envvar) for option in OPTIONS.values()}
    assert {*re.findall(r"\bSTUB_[A-Z_]+\b", text)} == {*variables, *OTHER_VARIABLES}


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
const calls = [["advance"], ["fault"], ["fault", { status: 9 }], ["count", { state: 1 }]];
for (const [name, ...members] of calls) {
  await stub[name](...members).catch(({ message }) => console.log(message));
}
await before().catch(({ message }) => console.log(message));
"""

# The errors of its calls.
REJECTED = [
    r"POST /_stub/clock: 422 invalid_body: must have an advance, frozen, now or a tick",
    r"POST /_stub/faults: 400 malformed_json: Send JSON .*The text is empty\.",
    r"POST /_stub/faults: 422 invalid_body: /status must be an integer from 200 to 599",
    r"GET /_stub/requests\?state=1: 400 unknown_query: Send only .*",
]


@pytest.mark.slow
def test_a_runner_of_node_need_not_tell_the_name_of_a_test(live_url: str, folder: Path) -> None:
    needs("node")
    (folder / "own.mjs").write_text(NAMELESS, "utf-8")
    done = execute(["node", "own.mjs"], folder, STUB_URL=live_url)
    first, second, *errors, last = done.stdout.splitlines()
    for line in (first, second):
        assert re.fullmatch(r"dev-token\.a-test-[0-9a-f]{12} 0", line)
    assert first != second
    for error, expected in zip(errors, REJECTED, strict=True):
        assert re.fullmatch(expected, error)
    assert last == '"a test" began before "a test" ended: run one test at a time'


@pytest.mark.slow
def test_the_types_of_node_are_those_of_its_runners(folder: Path) -> None:
    link_node_modules(folder)
    options = "--strict --noEmit --skipLibCheck --module nodenext --target es2022 --types node"
    done = execute(["node_modules/.bin/tsc", *options.split(), "types.mts"], folder)
    assert (done.returncode, done.stdout) == (0, "")
