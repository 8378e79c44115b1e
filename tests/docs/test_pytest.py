"""The plugin of pytest, and the file that takes its place, in the tests of a team."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLE_SEED, eventually, make_stub
from tests.docs.documents import FILES, blocks_like, execute
from tests.live import serving
from tests.program import process
from tests.wire import call, is_refused

pytestmark = pytest.mark.process

PLUGIN = ("-p", "no:faulthandler", "-p", "deployment_stub")
(OF_THE_README,) = blocks_like("def test_the_client_lists_once", "python")
PRINTED = (
    "----------------------------- requests to the stub -----------------------------\n"
    "world test_a_created_project_is_listed-f1ade0b1fcae:\n"
    "#1 POST /v1/projects 422 invalid_body (/name must not be blank)\n"
    '   > {"name": ""}\n'
    '   < {"type": "about:blank", "title": "Unprocessable Entity", "status": 422, '
    '"detail": "The body is JSON, but its content is invalid: see `errors`.", '
    '"code": "invalid_body", "errors": [{"pointer": "/name", "detail": "must not be '
    'blank"}]}'
)
TESTS = f"""
import pytest
from types import SimpleNamespace
from tests.wire import call

client = SimpleNamespace(list_projects=lambda url, token: call(url, "/v1/projects", token=token))

def ask(stub, target, body=b""):
    return call(stub.url, target, body=body, token=stub.token)

{OF_THE_README.text}

@pytest.mark.parametrize("text", ["é/[a b]", 300 * "long"])
def test_named(stub, text):
    assert stub.requests() == []
    assert ask(stub, "/v1/projects", b'{{"name": "a"}}').json["id"]

def test_a_created_project_is_listed(stub):
    assert ask(stub, "/v1/projects", b'{{"name": ""}}').json == {{}}

def test_unauthorized(stub):
    assert call(stub.url, "/v1/projects", token="wrong").json == {{}}

def test_many(stub):
    for number in range(20):
        ask(stub, f"/v1/deployments/{{number}}")
    stub.fault(status=503)
    ask(stub, "/v1/projects?page=1")
    stub.fault(status=9)

@pytest.fixture
def judged(stub):
    yield stub
    assert stub.coverage()["violations"] == []

def test_torn_down(judged):
    ask(judged, "/v2/projects", b'"a long body: ' + 400 * b"x" + b'"')
"""
HELPERS = (
    TESTS.partition("def test_")[0]
    + """
def status_of(stub):
    made = ask(stub, "/v1/projects", b'{"name": "a"}').json
    return ask(stub, f"/v1/deployments/{made['latest_deployment_id']}").json["status"]

"""
)
SHOWN = [
    PRINTED,
    "1 earlier requests are not shown\n#2 GET /v1/deployments/1 404 deployment_not_found\n",
    "#21 GET /v1/projects?page=1 503 injected_fault"
    " (fault flt_1; unpromised listProjects: query parameter page)\n",
    "no request with the token of this test\n"
    "requests to the main world meanwhile, without the token of a test:\n"
    "#1 GET /v1/projects 401 token_invalid\n",
    "#1 POST /v2/projects 404 not_found (no operation: POST /v2/projects)\n"
    f'   > "a long body: {386 * "x"} ...\n',
    "StubError: POST /_stub/faults: 422 invalid_body: /status must be an integer from 200 to 599\n",
]
MARKED = """
pytestmark = pytest.mark.stub(pace=0)

@pytest.mark.stub(outcome="failed")
def test_failed(stub, stub_program):
    assert status_of(stub) == "failed"
    assert stub.url != stub_program.url

@pytest.mark.stub(outcome="canceled", pace=60)
class TestMore:
    def test_queued(self, stub):
        assert status_of(stub) == "queued"

    @pytest.mark.stub(pace=0, outcome="failed")
    def test_failed(self, stub):
        assert status_of(stub) == "failed"

@pytest.mark.stub(outcom="failed")
def test_wrong(stub):
    pass

@pytest.mark.stub("failed")
def test_nameless(stub):
    pass
"""


@pytest.fixture
def team(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The folder of a team, in an environment that has the plugin."""
    for name in os.environ:
        if name.startswith(("STUB_", "PYTEST_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("STUB_PROGRAM", str(ROOT / "app.py"))
    distribution = pytester.mkdir("deployment_stub-0.dist-info")
    (distribution / "METADATA").write_text("Name: deployment-stub\nVersion: 0\n")
    entry = "[pytest11]\ndeployment_stub = deployment_stub.stub_fixture\n"
    (distribution / "entry_points.txt").write_text(entry)
    pytester.syspathinsert()
    return pytester


def test_a_test_has_a_world_and_shows_its_requests_if_it_fails(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.makepyfile(test_shop=TESTS)
    (left,) = re.findall(r"^world (\S+):$", PRINTED, re.MULTILINE)
    with serving(make_stub(seed=SAMPLE_SEED, tokens=["s3cret", "dev-token"])) as port:
        url = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("STUB_URL", f"{url}/")
        monkeypatch.setenv("STUB_TOKEN", "s3cret dev-token")
        call(url, "/v1/projects", token=f"s3cret.{left}")  # of a run that was killed
        done = team.runpytest_inprocess(*PLUGIN, "--show-capture=no")
        worlds = call(url, "/_stub/worlds", token="s3cret").json["worlds"]
    done.assert_outcomes(passed=4, failed=3, errors=1)
    assert [each["name"] for each in worlds] == [""]
    output = done.stdout.str()
    assert [text for text in SHOWN if text not in output] == []
    assert output.count("- requests to the stub -") == 4
    assert not {"s3cret", "urllib", "stub_fixture.py:"} & {*re.findall(r"\w+(?:\.py:)?", output)}


def test_a_mark_has_options_for_a_test_also_beside_a_program_of_the_run(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_url: str
) -> None:
    """Tests with the same options share a program, which has no report of its own."""
    team.makepyfile(test_marked=HELPERS + MARKED)
    monkeypatch.setenv("STUB_URL", live_url)
    monkeypatch.setenv("STUB_LOG", f"{team.path}/stub.log")
    monkeypatch.setenv("STUB_FAIL_ON", "idle")
    monkeypatch.setenv("STUB_REPORT", f"{team.path}/report.json")
    done = team.runpytest_inprocess(*PLUGIN, "--strict-markers")
    done.assert_outcomes(passed=3, errors=2)
    output = done.stdout.str()
    assert "\nthe stub takes no 'outcom': give cors_origin, " in output
    assert "\nthe mark `stub` takes options by their names: outcome='failed'\n" in output
    assert len([*team.path.glob("stub.*.log")]) == 2
    assert not (team.path / "report.json").exists()


def test_a_token_that_is_not_that_of_the_running_program_is_a_sentence(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_url: str
) -> None:
    monkeypatch.setenv("STUB_URL", live_url)
    monkeypatch.setenv("STUB_TOKEN", "wrong")
    team.makepyfile("def test_it(stub): pass")
    output = team.runpytest_inprocess(*PLUGIN).stdout.str()
    reason = r"STUB_URL and STUB_TOKEN are not .*: 401 token_invalid: .*"
    assert re.search(rf" ERROR at setup of test_it _+\n{reason}\n===", output), output


OWN_SEED = (
    HELPERS
    + """
def test_seeded(stub):
    (project,) = ask(stub, "/v1/projects").json["projects"]
    assert project["name"] == "own"
    assert status_of(stub) == "failed"
"""
)


@pytest.fixture
def configured(team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A team with an ini file, in a folder below the one of the file."""
    team.makeini("[pytest]\nstub_options = --pace 0 --seed 'a b/seed.json' --outcome=failed")
    (team.mkdir("a b") / "seed.json").write_text('{"projects": [{"name": "own"}]}', "utf-8")
    (team.mkdir("tests") / "test_seeded.py").write_text(OWN_SEED, "utf-8")
    monkeypatch.chdir(team.path / "tests")
    return team


def test_the_ini_file_has_options_of_the_program_whose_paths_begin_there(
    configured: pytest.Pytester,
) -> None:
    configured.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)
    done = configured.runpytest_inprocess(*PLUGIN, "-o", "stub_options=--pase 0")
    done.assert_outcomes(errors=1)
    assert "\nerror: No such option '--pase'. " in done.stdout.str()


def test_options_that_no_program_would_get_are_an_error_before_any_test(
    configured: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in ("--port=1", "--fail-on", "--"):
        name, _, _ = word.partition("=")
        reason = re.escape(f"stub_options takes no {name}: run `deployment-stub {name} ... -- ")
        with pytest.raises(pytest.UsageError, match=reason):
            configured.parseconfigure(*PLUGIN, "-o", f"stub_options=--pace 0 {word} x")
    monkeypatch.setenv("STUB_URL", "http://127.0.0.1:1")
    with pytest.raises(pytest.UsageError) as raised:
        configured.parseconfigure(*PLUGIN)
    start, given, _, advice, _ = str(raised.value).split("`")
    assert start == "the program at STUB_URL runs already: start it with "
    assert given == "--pace 0 --seed a b/seed.json --outcome=failed"
    _, _, option = advice.partition("-o ")
    configured.parseconfigure(*PLUGIN, "-o", option)


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_copy_has_the_fixtures_and_the_options_also_beside_the_plugin(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, is_named: bool, is_alone: bool
) -> None:
    """Whether an option names it or a conftest.py."""
    monkeypatch.setenv("STUB_PROGRAM", "copy.py")
    shutil.copy(ROOT / "deployment_stub" / "stub_fixture.py", team.path)
    (team.path / "copy.py").write_text("import sys; sys.exit(f'copy: {sys.argv[1]}')", "utf-8")
    team.makepyfile("def test_it(stub): pass")
    if not is_named:
        team.makeconftest('pytest_plugins = ["stub_fixture"]')
    words = ["-p", "stub_fixture"] if is_named else []
    plugin = ["-p", "no:faulthandler"] if is_alone else PLUGIN
    done = team.runpytest_inprocess(*words, *plugin, "-o", "stub_options=--pace=7")
    done.assert_outcomes(errors=1)
    assert "copy: --pace=7" in done.stdout.str()


GATE = [
    # A program of a mark does, too. What needs all requests judges that of the run.
    (
        ["-k", "marked"],
        "unpromised,idle",
        [
            "finding: unpromised: listProjects: query parameter page ",
            "finding: idle: createProject: ",
        ],
    ),
    (["-k", "nothing"], "idle", ["finding: idle: createProject: "]),
]
GATED = """
def test_plain(stub): ask(stub, "/v1/projects?page=1")

@pytest.mark.stub(pace=0)
def test_marked(stub): ask(stub, "/v1/projects?page=1")

def test_nothing(): pass
"""


@pytest.mark.parametrize(("words", "gate", "shown"), GATE)
def test_a_gate_is_never_dropped(
    team: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    gate: str,
    shown: list[str],
) -> None:
    team.makepyfile(test_it=HELPERS + GATED)
    monkeypatch.setenv("STUB_FAIL_ON", gate)
    done = team.runpytest_inprocess(*PLUGIN, *words)
    assert done.ret == 1
    assert done.parseoutcomes()["errors"] > 0
    output = done.stdout.str()
    for line in shown:
        assert f"\n{line}" in output
    assert "- requests to the stub -" not in output  # the program has ended


def test_a_worker_judges_its_requests_and_nothing_that_needs_those_of_all_workers(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.makepyfile(test_it=HELPERS + GATED)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("STUB_FAIL_ON", "unpromised")
    done = team.runpytest_subprocess(*PLUGIN, "-p", "xdist", "-n", "1")
    assert done.ret == 1
    assert "\nfinding: unpromised: listProjects: query " in done.stdout.str()
    monkeypatch.setenv("STUB_FAIL_ON", "rejected,idle")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    done = team.runpytest_inprocess(*PLUGIN, "-k", "nothing")
    done.assert_outcomes(errors=1)
    assert "`idle` of STUB_FAIL_ON, need the requests of all workers" in done.stdout.str()


def test_what_only_a_program_around_the_tests_can_follow_is_an_error_without_one(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_url: str
) -> None:
    team.makepyfile("import pytest\n@pytest.mark.stub(pace=0)\ndef test_it(stub): pass")
    for variable in ("STUB_PROBE", "STUB_ENV"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "x")
            done = team.runpytest_inprocess(*PLUGIN)
        done.assert_outcomes(errors=1)
        assert f"\n{variable} needs the program around the tests: run `" in done.stdout.str()
    for name, value in (("STUB_PROBE", "x"), ("STUB_ENV", "x"), ("STUB_URL", live_url)):
        monkeypatch.setenv(name, value)
    team.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


MOCKS = """
import socket

def mock(monkeypatch, error):
    def connect(self, *args):
        self.close()
        raise error
    monkeypatch.setattr(socket.socket, "connect", connect)

class Unmocked(Exception):
    pass

ERRORS = [Unmocked("no match\\nfor 127.0.0.1"), OSError("refused"), pytest.fail.Exception("no")]

@pytest.mark.parametrize("error", ERRORS)
def test_fails(stub, monkeypatch, error):
    mock(monkeypatch, error)
    assert not "the own reason"

def test_passes(monkeypatch, stub):
    mock(monkeypatch, Unmocked("no"))

@pytest.fixture
def mocked(monkeypatch):
    mock(monkeypatch, Unmocked("no match"))

def test_begins(mocked, stub):
    pass

def test_last(stub):
    assert ask(stub, "/v1/projects").json == {}
"""


def test_sockets_that_are_mocked_lose_no_report(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_url: str
) -> None:
    team.makepyfile(HELPERS + MOCKS)
    monkeypatch.setenv("STUB_URL", live_url)
    done = team.runpytest_inprocess(*PLUGIN, "-p", "no:randomly")
    done.assert_outcomes(passed=1, failed=4, errors=1)
    output = done.stdout.str()
    assert output.count("E       AssertionError: assert not 'the own reason'") == 3
    reason = f"they are not shown: the stub at {live_url} does not respond: "
    assert f"\n{reason}no match for 127.0.0.1; something replaces the sockets of " in output
    assert f"\n{reason}refused\n" in output
    assert "\nthey are not shown: no\n" in output
    assert re.search("\nthe stub at .* does not respond: no match; something replaces the ", output)
    assert "\n#1 GET /v1/projects 200\n" in output


FORKS = """
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

FORK = get_context("fork")

def test_executor(stub):
    POOLS.append(ProcessPoolExecutor(1, FORK))
    assert POOLS[-1].submit(abs, -1).result() == 1

def test_pool(stub):
    POOLS.append(FORK.Pool(1))
    assert POOLS[-1].map(abs, [-1]) == [1]

def test_daemon(stub):
    FORK.Process(target=time.sleep, args=(60,), daemon=True).start()

def test_fork(stub, stub_program):
    child = os.fork()
    if not child:
        stub_program.close()  # which is nothing in a fork
        os._exit(0)
    os.waitpid(child, 0)
    ask(stub, "/v1/projects")

def test_subprocess(stub):
    subprocess.Popen(["sleep", "60"], close_fds=False)
    open("url", "w").write(stub.url)
    if os.environ["KILLED"]:
        os.kill(os.getpid(), 9)

POOLS = []
"""


@pytest.mark.parametrize("killed", ["", "1"])
def test_a_fork_of_the_tests_does_not_keep_the_program(team: pytest.Pytester, killed: str) -> None:
    """A line says the end of the run; each fork has closed its copy of the pipe."""
    team.makepyfile(HELPERS + FORKS)
    env = {
        "KILLED": killed,
        "STUB_PROGRAM": str(ROOT / "app.py"),
        "STUB_FAIL_ON": "violations",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{team.path}",
        "PYTHONWARNINGS": "default",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    streams = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    words = ("-m", "pytest", *PLUGIN)
    with process(*words, env=env, cwd=team.path, start_new_session=True, **streams) as started:
        try:
            assert started.wait(30) == (-signal.SIGKILL if killed else 0)
            eventually(lambda: is_refused((team.path / "url").read_text("utf-8")))
        finally:
            os.killpg(started.pid, signal.SIGKILL)


def test_a_fixture_of_a_plugin_of_the_team_wins_and_no_program_starts(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_PROGRAM", "no.py")
    team.makepyfile(
        own="import pytest\n@pytest.fixture\ndef stub(): return 'own'",
        test_own="def test_own(stub): assert stub == 'own'",
    )
    team.runpytest_inprocess("-p", "own", *PLUGIN).assert_outcomes(passed=1)


TYPED = """
from deployment_stub import Stub, World

def test_typed(stub: World, stub_program: Stub) -> None:
    numbers: list[int] = [each["number"] for each in stub.requests()]
    wrong: int = stub.requests()

def start() -> World:
    with Stub(seed="seed.json", outcome=["failed"], pace=0, sed="") as stub:
        return stub.world(stub.token)
"""


@pytest.mark.slow
def test_an_installation_has_the_command_and_the_plugin(tmp_path: Path) -> None:
    """As docs/ci.md installs it, in an environment with the packages of this one."""
    make = [sys.executable, "-m", "venv", "--without-pip", ".venv"]
    assert execute(make, tmp_path).returncode == 0
    (packages,) = (tmp_path / ".venv" / "lib").glob("*/site-packages")
    (own,) = (Path(sys.prefix) / "lib").glob("*/site-packages")
    (packages / "own.pth").write_text(str(own), "utf-8")
    pip = tmp_path / ".venv" / "bin" / "pip"
    pip.write_text('#!/bin/sh\nexec .venv/bin/python -m pip "$@"\n', "utf-8")
    pip.chmod(0o755)
    (recipe,) = blocks_like(r"\.venv/bin/pip install ")
    (tmp_path / "test_shop.py").write_text(FILES["test_shop.py"], "utf-8")
    # Modules of others with the names of ours are apart.
    for name in ("app", "cli", "store", "web"):
        (tmp_path / f"{name}.py").write_text("raise OSError", "utf-8")
    workers = "STUB_FAIL_ON=violations .venv/bin/python -m pytest -p xdist -n 2"
    words = ["sh", "-ec", f"{recipe.text}\n{workers}"]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p deployment_stub"}
    done = execute(words, tmp_path, STUB=str(ROOT), **alone, PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 passed") == 2
    (tmp_path / "typed.py").write_text(TYPED, "utf-8")
    mypy = [".venv/bin/python", "-m", "mypy", "--strict", "--config-file=", "typed.py"]
    found = execute(mypy, tmp_path).stdout
    assert re.findall(r"error: .* \[(.*)\]", found) == ["assignment", "call-arg"], found
