"""The plugin of pytest in an environment of a team, installed as docs/ci.md says."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.documents import blocks_of, execute, files_of

# One worker installs it.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("pytest_plugin")]

FIXTURE = ROOT / "docs" / "fixtures" / "stub_fixture.py"
(RECIPE,) = (text for kind, text in blocks_of("docs/ci.md") if "/pip install -q" in text)
STATE = """
import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def call(stub, path, data=None):
    headers = {"Content-Type": "application/json", "Origin": "http://a"}
    with urlopen(Request(stub.url + path, data, stub.headers | headers)) as response:
        return response.headers.get("Access-Control-Allow-Origin"), json.load(response)

def last_status(stub, name="shop"):
    made = call(stub, "/v1/projects", json.dumps({"name": name}).encode())[1]
    return call(stub, "/v1/deployments/" + made["latest_deployment_id"])[1]["status"]
"""
PRINTED = f"""{STATE}
def test_state(stub):
    origin, listed = call(stub, "/v1/projects")
    print("projects:", *(each["name"] for each in listed["projects"]))
    print("statuses:", last_status(stub), last_status(stub, "shop fails"))
    print("origin:", origin)
    try:
        print("a parameter: accepted", *call(stub, "/v1/projects?page=1")[:0])
    except HTTPError as error:
        print("a parameter:", error.code)
"""
UNUSED = """
import sys

import pytest

def test_without_a_stub(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("deployment_stub")
    theirs = [name for name in sys.modules if name.startswith("deployment_stub.")]
    assert [name for name in theirs if ".docs" not in name] == ["deployment_stub.pytest_options"]
    assert not {"flask", "waitress", "urllib.request", "http.client"} & {*sys.modules}

@pytest.fixture
def stub():
    return "own"

def test_own(stub):
    assert stub == "own"
"""
TYPED = """
from deployment_stub import Stub, StubError, World

def test_typed(stub: World, stub_program: Stub) -> None:
    assert type(stub) is World
    assert type(stub_program) is Stub
    assert issubclass(StubError, Exception)
    numbers: list[int] = [each["number"] for each in stub.requests()]
    assert not numbers

def start() -> World:
    with Stub(seed="seed.json", outcome=["failed"], pace=0) as stub:
        return stub.world(stub.token)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and the distribution in its .venv."""
    folder = tmp_path_factory.mktemp("installed")
    install, _ = RECIPE.splitlines()
    words = [sys.executable, "-m", "venv", ".venv"]
    assert execute(words, folder).returncode == 0
    for line in (".venv/bin/pip install -q pytest pytest-xdist", install):
        done = execute(["sh", "-c", line], folder, STUB=str(ROOT), PYTHONWARNINGS="default")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def team(installed: Path, tmp_path: Path) -> Path:
    """The folder of a team."""
    (tmp_path / ".venv").symlink_to(installed / ".venv")
    (tmp_path / "test_state.py").write_text(PRINTED, "utf-8")
    return tmp_path


def run(team: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [f"{team}/.venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return execute(command, team, **variables)


def printed(done: "subprocess.CompletedProcess[str]") -> str:
    """What a test prints, with -rP."""
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, shown = done.stdout.partition("- Captured stdout call -")
    return "".join(f"{line}\n" for line in shown.splitlines() if ": " in line)


def test_the_recipe_passes_as_printed(team: Path) -> None:
    _, test = RECIPE.splitlines()
    (team / "test_shop.py").write_text(files_of("docs/ci.md")["test_shop.py"], "utf-8")
    (team / "test_state.py").unlink()
    done = execute(["sh", "-c", test], team)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_test_has_a_world_and_shows_its_requests(team: Path) -> None:
    """With two workers, each of which starts a program, with the file of this folder."""
    shutil.copy(ROOT / "tests" / "docs" / "teams" / "shop.py", team / "test_shop.py")
    done = run(team, "-n", "2", FAILING="1", STUB_FAIL_ON="violations")
    assert "finding:" not in done.stdout  # a worker has a part of the requests
    assert done.stdout.count("- requests to the stub -") == 4, done.stdout
    assert "3 failed, 8 passed, 1 error" in done.stdout
    assert "#2 POST /v1/projects 422 invalid_body (/name must not be blank)" in done.stdout
    assert ".py:" not in done.stdout.replace("test_shop.py:", "")


INI = """[pytest]
stub_seed = a b/seed.json
stub_strict = true
stub_pace = 0
stub_outcome =
  canceled
  * fails=failed
"""
OF_THE_INI = """projects: of-the-seed
statuses: canceled failed
origin: None
a parameter: 400
"""
OF_THE_OPTIONS = """projects: own
statuses: succeeded succeeded
origin: *
a parameter: accepted
"""


def test_an_ini_file_has_options_and_those_of_the_command_win(team: Path) -> None:
    """A path in the file is relative to it, and an option that repeats is a list."""
    (team / "pytest.ini").write_text(INI, "utf-8")
    (team / "a b").mkdir()
    (team / "a b" / "seed.json").write_text('{"projects": [{"name": "of-the-seed"}]}', "utf-8")
    tests = team / "tests"
    tests.mkdir()
    (team / "test_state.py").rename(tests / "test_state.py")
    (team / ".venv").rename(tests / ".venv")
    (tests / "own.json").write_text('{"projects": [{"name": "own"}]}', "utf-8")
    assert printed(run(tests, "-rP")) == OF_THE_INI
    words = ("--stub-seed=own.json", "-o", "stub_strict=no", "--stub-outcome=succeeded")
    origins = ("--stub-cors-origin=http://b", "--stub-cors-origin=*")
    assert printed(run(tests, "-rP", *words, *origins)) == OF_THE_OPTIONS


def test_a_file_that_is_missing_is_one_error_before_any_test(team: Path) -> None:
    done = run(team, "--override-ini=stub_like=no.json")
    assert (done.returncode, done.stdout) == (4, "")
    reason = f"stub_like of pytest.ini: there is no file {team}/no.json"
    assert done.stderr.strip() == f"ERROR: {reason}"


def test_options_cannot_apply_to_a_running_program(team: Path, live_url: str) -> None:
    (team / "seed.json").write_text("{}", "utf-8")
    done = run(team, "--stub-strict", "--override-ini=stub_seed=seed.json", STUB_URL=live_url)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.strip().splitlines()
    given = f"--seed={team}/seed.json --strict"
    assert line.startswith(f"ERROR: the program at STUB_URL runs already: start it with `{given}`")
    advice = line.split("`")[3].split()
    assert "a parameter: accepted\n" in printed(run(team, "-rP", *advice, STUB_URL=live_url))


MARKED = f"""
import pytest{STATE}
pytestmark = pytest.mark.stub(pace=0)

@pytest.mark.stub(outcome="failed")
def test_failed(stub, stub_program):
    assert last_status(stub) == "failed"
    assert stub.url != stub_program.url

@pytest.mark.stub(outcome="canceled", pace=60)
class TestMore:
    def test_queued(self, stub):
        assert last_status(stub) == "queued"

    @pytest.mark.stub(pace=0)
    def test_canceled(self, stub):
        assert last_status(stub) == "canceled"

def test_usual(stub):
    assert last_status(stub) == "succeeded"

@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.stub(outcome="failed")
def test_again(stub, number):
    assert last_status(stub) == "failed"

@pytest.mark.stub(outcom="failed")
def test_wrong(stub):
    pass

@pytest.mark.stub("failed")
def test_nameless(stub):
    pass
"""
STARTED = """import os, sys
open('started', 'a').write('one ')
os.execv({python!r}, [{python!r}, "-m", "deployment_stub", *sys.argv[1:]])
"""


def test_a_mark_has_options_for_a_test_also_beside_a_program_of_the_run(
    team: Path, live_url: str
) -> None:
    """Tests with the same options share a program, which has no verdict of its own."""
    (team / "test_state.py").write_text(MARKED, "utf-8")
    python = f"{team}/.venv/bin/python"
    (team / "program.py").write_text(STARTED.format(python=python), "utf-8")
    own = {"STUB_PROGRAM": str(team / "program.py"), "STUB_FAIL_ON": "missed"}
    done = run(team, "--strict-markers", STUB_URL=live_url, **own)
    assert "6 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "\nthe stub takes no 'outcom': give cors_origin, " in done.stdout
    assert "\nthe mark `stub` takes options by their names: outcome='failed'\n" in done.stdout
    assert "Traceback" not in done.stdout
    assert (team / "started").read_text("utf-8").split() == 4 * ["one"]


def test_a_copy_takes_the_place_of_the_fixtures_and_has_the_options(team: Path) -> None:
    shutil.copy(FIXTURE, team)
    (team / "stub.pyz").write_text("import sys; sys.exit(f'copy: {sys.argv[1]}')", "utf-8")
    (team / "conftest.py").write_text('pytest_plugins = ["stub_fixture"]\n', "utf-8")
    done = run(team, "--stub-pace=7")
    assert "copy: --pace=7" in done.stdout, done.stdout + done.stderr


def test_a_run_that_does_not_use_it_imports_and_starts_nothing(team: Path) -> None:
    """Such as that of a team whose own fixture has the name."""
    (team / "test_unused.py").write_text(UNUSED, "utf-8")
    (team / "program.py").write_text("open('started', 'w')", "utf-8")
    program = {"STUB_PROGRAM": str(team / "program.py")}
    done = run(team, "--stub-strict", "test_unused.py", **program)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert not (team / "started").exists()
    run(team, "test_state.py", **program)
    assert (team / "started").exists()


def test_its_types_are_those_of_the_fixtures(team: Path) -> None:
    (team / "test_typed.py").write_text(TYPED, "utf-8")
    assert run(team, "test_typed.py").returncode == 0
    wrong = TYPED.replace("list[int]", "int").replace("seed=", "sed=")
    (team / "test_typed.py").write_text(wrong, "utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy"]
    mypy += ["--python-executable", f"{team}/.venv/bin/python", "test_typed.py"]
    done = execute(mypy, team, PYTHONWARNINGS="default")
    assert 'has type "list[Any]", variable has type "int"' in done.stdout
    assert 'Unexpected keyword argument "sed" for "Stub"' in done.stdout
    assert "Found 2 errors " in done.stdout
