"""The plugin of pytest in an environment of a team, installed as docs/ci.md says."""

import json
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
SEED = {"projects": [{"name": "of-the-seed"}]}
(PROFILE,) = (
    text for _, text in blocks_of("docs/like.md") if text.startswith('{\n  "observed_at"')
)
STATE = """
import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def status(stub, path):
    try:
        return urlopen(Request(stub.url + path, headers=stub.headers)).status
    except HTTPError as error:
        return error.code

def test_state(stub):
    with urlopen(Request(stub.url + "/v1/projects", headers=stub.headers)) as response:
        body = json.load(response)
    names = [each["name"] for each in body.get("projects", body.get("data"))]
    print("state:", *names, *(each for each in body if each != "projects"))
    print("with a parameter:", status(stub, "/v1/projects?page=1"))
"""
AS_IT_IS = "state: website billing search\nwith a parameter: 200\n"
UNUSED = """
import sys

def test_without_a_stub(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("deployment_stub")
    theirs = [name for name in sys.modules if name.startswith("deployment_stub.")]
    assert [name for name in theirs if ".docs" not in name] == ["deployment_stub.pytest_options"]
    assert not {"flask", "waitress", "urllib.request", "http.client"} & {*sys.modules}
"""
TYPED = """
from deployment_stub import Stub, StubError, World

def test_typed(stub: World, stub_program: Stub) -> None:
    assert type(stub) is World
    assert type(stub_program) is Stub
    assert issubclass(StubError, Exception)
    numbers: list[int] = [each["number"] for each in stub.requests()]
    assert numbers == []

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
    (tmp_path / "seed.json").write_text(json.dumps(SEED), "utf-8")
    (tmp_path / "profile.json").write_text(PROFILE, "utf-8")
    (tmp_path / "test_state.py").write_text(STATE, "utf-8")
    return tmp_path


def run(team: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [f"{team}/.venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return execute(command, team, **variables)


def state_of(done: "subprocess.CompletedProcess[str]") -> str:
    """What the test of the state prints, with -rP."""
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


def test_options_say_how_the_program_starts(team: Path) -> None:
    shown = "state: website billing search data pagination\nwith a parameter: 400\n"
    assert state_of(run(team, "-rP", "--stub-strict", "--stub-like=profile.json")) == shown


INI = "[pytest]\nstub_seed = a b/seed.json\nstub_strict = true\n"


def test_a_path_in_an_ini_file_is_relative_to_it_and_an_option_wins(team: Path) -> None:
    (team / "pytest.ini").write_text(INI, "utf-8")
    (team / "a b").mkdir()
    (team / "seed.json").rename(team / "a b" / "seed.json")
    (team / "own.json").write_text('{"projects": []}', "utf-8")
    (team / "tests").mkdir()
    (team / "test_state.py").rename(team / "tests" / "test_state.py")
    (team / "tests" / ".venv").symlink_to(team / ".venv")
    strict = "with a parameter: 400\n"
    (team / "tests" / "own.json").write_text('{"projects": [{"name": "own"}]}', "utf-8")
    assert state_of(run(team / "tests", "-rP")) == f"state: of-the-seed\n{strict}"
    done = run(team / "tests", "-rP", "--stub-seed", "own.json")
    assert state_of(done) == f"state: own\n{strict}"
    empty = run(team / "tests", "-rP", "-o", "stub_seed=", "-o", "stub_strict=no")
    assert state_of(empty) == AS_IT_IS


USAGE = {
    "--stub-like=": "--stub-like: there is no file {team}",
    "--override-ini=stub_like=no.json": "stub_like of pytest.ini: there is no file {team}/no.json",
}


@pytest.mark.parametrize("option", USAGE)
def test_a_file_that_is_missing_is_one_error_before_any_test(team: Path, option: str) -> None:
    done = run(team, "-n", "2", option)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.strip() == f"ERROR: {USAGE[option].format(team=team)}"


@pytest.mark.parametrize("option", ["--stub-strict", "--override-ini=stub_seed=seed.json"])
def test_options_cannot_apply_to_a_running_program(team: Path, option: str, live_url: str) -> None:
    done = run(team, option, STUB_URL=live_url)
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.strip().splitlines()
    given = "--strict" if "strict" in option else f"--seed={team}/seed.json"
    assert line.startswith(f"ERROR: the program at STUB_URL runs already: start it with `{given}`")
    advice = line.split("`")[3].split()
    assert state_of(run(team, "-rP", *advice, STUB_URL=live_url)) == AS_IT_IS


LAST = """
import json
from urllib.request import Request, urlopen

def last_status(stub, name="shop"):
    def call(path, data=None):
        headers = {"Content-Type": "application/json", "Origin": "http://a"}
        with urlopen(Request(stub.url + path, data, stub.headers | headers)) as response:
            return response.headers.get("Access-Control-Allow-Origin"), json.load(response)
    made = call("/v1/projects", json.dumps({"name": name}).encode())[1]
    origin, deployment = call("/v1/deployments/" + made["latest_deployment_id"])
    return deployment["status"], origin
"""
TURNED = f"""{LAST}
def test_last(stub):
    print("last:", last_status(stub), last_status(stub, "shop fails"))
"""
INI_OF_LISTS = "[pytest]\nstub_pace = 0\nstub_outcome =\n  canceled\n  * fails=failed\n"


def test_an_option_that_repeats_is_a_list_of_an_ini_file(team: Path) -> None:
    (team / "pytest.ini").write_text(INI_OF_LISTS, "utf-8")
    (team / "test_state.py").write_text(TURNED, "utf-8")
    words = ("--stub-outcome=succeeded", "--stub-cors-origin=http://b", "--stub-cors-origin=*")
    assert state_of(run(team, "-rP")) == "last: ('canceled', None) ('failed', None)\n"
    assert state_of(run(team, "-rP", *words)) == "last: ('succeeded', '*') ('succeeded', '*')\n"


MARKED = f"""
import pytest{LAST}
pytestmark = pytest.mark.stub(pace=0)

@pytest.mark.stub(outcome="failed")
def test_failed(stub, stub_program):
    assert last_status(stub)[0] == "failed"
    assert stub.url != stub_program.url

@pytest.mark.stub(outcome="canceled", pace=60)
class TestMore:
    def test_queued(self, stub):
        assert last_status(stub)[0] == "queued"

    @pytest.mark.stub(pace=0)
    def test_canceled(self, stub):
        assert last_status(stub)[0] == "canceled"

def test_usual(stub):
    assert last_status(stub)[0] == "succeeded"

@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.stub(outcome="failed")
def test_again(stub, number):
    assert last_status(stub)[0] == "failed"

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


OWN = """
import pytest

@pytest.fixture
def stub():
    return "own"

def test_own(stub):
    assert stub == "own"
"""


def test_a_fixture_of_the_team_with_its_name_wins(team: Path) -> None:
    (team / "test_own.py").write_text(OWN, "utf-8")
    done = run(team, "test_own.py", STUB_PROGRAM="/nowhere")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_copy_takes_the_place_of_the_fixtures_and_has_the_options(team: Path) -> None:
    shutil.copy(FIXTURE, team)
    (team / "stub.pyz").write_text("import sys; sys.exit(f'copy: {sys.argv[1]}')", "utf-8")
    (team / "conftest.py").write_text('pytest_plugins = ["stub_fixture"]\n', "utf-8")
    done = run(team, "--stub-seed", "seed.json")
    assert f"copy: --seed={team}/seed.json" in done.stdout, done.stdout + done.stderr


def test_it_can_be_left_out(team: Path) -> None:
    done = run(team, "-p", "no:deployment_stub", "--stub-strict")
    assert "unrecognized arguments: --stub-strict" in done.stderr


def test_a_run_that_does_not_use_it_imports_and_starts_nothing(team: Path) -> None:
    (team / "test_unused.py").write_text(UNUSED, "utf-8")
    (team / "program.py").write_text("open('started', 'w')", "utf-8")
    program = {"STUB_PROGRAM": str(team / "program.py")}
    done = run(team, "--stub-strict", "test_unused.py", **program)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert not (team / "started").exists()
    run(team, "test_state.py", **program)
    assert (team / "started").exists()


def test_its_types_are_those_of_the_fixtures(team: Path) -> None:
    (team / "test_typed.py").write_text(TYPED, "utf-8")
    assert run(team, "test_typed.py").returncode == 0
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy"]
    mypy += ["--python-executable", f"{team}/.venv/bin/python", "test_typed.py"]
    done = execute(mypy, team, PYTHONWARNINGS="default")
    assert (done.returncode, done.stdout) == (0, "Success: no issues found in 1 source file\n")
    wrong = TYPED.replace("list[int]", "int").replace("seed=", "sed=")
    (team / "test_typed.py").write_text(wrong, "utf-8")
    done = execute(mypy, team, PYTHONWARNINGS="default")
    assert 'has type "list[Any]", variable has type "int"' in done.stdout
    assert 'Unexpected keyword argument "sed" for "Stub"' in done.stdout
