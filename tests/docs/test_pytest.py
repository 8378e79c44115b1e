"""The plugin of pytest, and the file that takes its place, in the tests of a team."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLE_SEED, make_stub
from tests.docs.documents import BLOCKS, FILES, blocks_like, execute
from tests.live import serving
from tests.wire import call

pytestmark = pytest.mark.process

PLUGIN = ("-p", "no:faulthandler", "-p", "deployment_stub")
(OF_THE_README,) = blocks_like("def test_the_client_lists_once", "python")
(PRINTED,) = (block.text for block in BLOCKS if "- requests to the stub -" in block.text)
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
SHOWN = [
    PRINTED,
    "1 earlier requests are not shown\n#2 GET /v1/deployments/1 404 deployment_not_found\n",
    "#21 GET /v1/projects?page=1 503 injected_fault"
    " (fault flt_1; unpromised listProjects: query parameter page)\n",
    "no request with the token of this test\n"
    "main world meanwhile, with the requests that have no token of a test:\n"
    "#1 GET /v1/projects 401 token_invalid\n",
    "#1 POST /v2/projects 404 not_found (no operation: POST /v2/projects)\n"
    f'   > "a long body: {386 * "x"} ...\n',
    "StubError: POST /_stub/faults: 422 invalid_body: /status must be an integer from 200 to 599\n",
]
MARKED = """
pytestmark = pytest.mark.stub(pace=0)

def status_of(stub):
    made = ask(stub, "/v1/projects", b'{"name": "a"}').json
    return ask(stub, f"/v1/deployments/{made['latest_deployment_id']}").json["status"]

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
    entry = "[pytest11]\ndeployment_stub = deployment_stub.pytest_options\n"
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
    """Tests with the same options share a program, which has no verdict of its own."""
    helpers, _, _ = TESTS.partition("def test_")
    team.makepyfile(test_marked=helpers + MARKED)
    monkeypatch.setenv("STUB_URL", live_url)
    monkeypatch.setenv("STUB_LOG", f"{team.path}/stub.log")
    monkeypatch.setenv("STUB_FAIL_ON", "idle")
    done = team.runpytest_inprocess(*PLUGIN, "--strict-markers")
    done.assert_outcomes(passed=3, errors=2)
    output = done.stdout.str()
    assert "\nthe stub takes no 'outcom': give cors_origin, " in output
    assert "\nthe mark `stub` takes options by their names: outcome='failed'\n" in output
    assert len([*team.path.glob("stub.*.log")]) == 2


def test_without_a_program_around_it_the_run_starts_one_whose_findings_are_an_error(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers, _, _ = TESTS.partition("def test_")
    test = 'def test_it(stub): assert ask(stub, "/v1/projects?page=1").json == {"projects": []}'
    team.makepyfile(test_it=f"{helpers}\n{test}")
    team.makeini("[pytest]\nstub_empty = true")
    monkeypatch.setenv("STUB_FAIL_ON", "unpromised")
    done = team.runpytest_inprocess(*PLUGIN)
    done.assert_outcomes(passed=1, errors=1)
    assert "\nfinding: unpromised: listProjects: query parameter page " in done.stdout.str()


def test_a_token_that_is_not_that_of_the_running_program_is_a_sentence(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, live_url: str
) -> None:
    monkeypatch.setenv("STUB_URL", live_url)
    monkeypatch.setenv("STUB_TOKEN", "wrong")
    team.makepyfile("def test_it(stub): pass")
    output = team.runpytest_inprocess(*PLUGIN).stdout.str()
    reason = r"STUB_URL and STUB_TOKEN are not .*: 401 token_invalid: .*"
    assert re.search(rf" ERROR at setup of test_it _+\n{reason}\n===", output), output


INI = """[pytest]
stub_strict = true
stub_pace = 0
stub_seed = a b/seed.json
stub_outcome =
  canceled
  * fails=failed
"""


@pytest.fixture
def configured(team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A team with an ini file, in a folder below the one of the file."""
    team.makeini(INI)
    for folder, file in (("a b", "seed.json"), ("tests", "own.json")):
        (team.mkdir(folder) / file).write_text("{}", "utf-8")
    monkeypatch.chdir(team.path / "tests")
    return team


def test_an_ini_file_has_options_and_those_of_the_command_win(
    configured: pytest.Pytester,
) -> None:
    """Paths are relative to the file, or to the folder of the command."""
    words = ["--stub-seed=own.json", "--stub-outcome=failed", "--stub-cors-origin=a"]
    words += ["--stub-empty", "-o", "stub_strict=no"]
    outcomes = ["canceled", "* fails=failed"]
    seed, own = configured.path / "a b" / "seed.json", configured.path / "tests" / "own.json"
    of_the_file = {"outcome": outcomes, "pace": "0", "seed": seed, "strict": True}
    of_the_command = {"cors_origin": ["a"], "empty": True, "outcome": ["failed"], "seed": own}
    expected = [([], of_the_file), (words, {**of_the_command, "pace": "0"})]
    for given, options in expected:
        config = configured.parseconfigure(*PLUGIN, *given)
        plugin: Any = config.pluginmanager.get_plugin("deployment_stub")
        assert plugin.given_options(config) == options


def test_options_that_cannot_be_are_one_error_before_any_test(
    configured: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = f"stub_like of tox.ini: there is no file {configured.path}/no.json"
    with pytest.raises(pytest.UsageError, match=re.escape(missing)):
        configured.parseconfigure(*PLUGIN, "--override-ini=stub_like=no.json")
    with pytest.raises(pytest.UsageError, match="--stub-seed: there is no file "):
        configured.parseconfigure(*PLUGIN, "--stub-seed=a b/seed.json")
    monkeypatch.setenv("STUB_URL", "http://127.0.0.1:1")
    with pytest.raises(pytest.UsageError) as raised:
        configured.parseconfigure(*PLUGIN)
    start, given, _, advice, _ = str(raised.value).split("`")
    assert start == "the program at STUB_URL runs already: start it with "
    seed = f"--seed={configured.path}/a b/seed.json"
    assert given == f"--outcome=canceled --outcome=* fails=failed --pace=0 {seed} --strict"
    configured.parseconfigure(*PLUGIN, *advice.split())


@pytest.mark.parametrize("is_named", [True, False])
def test_a_copy_takes_the_place_of_the_fixtures_and_has_the_options(
    team: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    """Whether an option names it or a conftest.py."""
    monkeypatch.setenv("STUB_PROGRAM", "copy.py")
    shutil.copy(ROOT / "docs" / "fixtures" / "stub_fixture.py", team.path)
    (team.path / "copy.py").write_text("import sys; sys.exit(f'copy: {sys.argv[1]}')", "utf-8")
    team.makepyfile("def test_it(stub): pass")
    if not is_named:
        team.makeconftest('pytest_plugins = ["stub_fixture"]')
    words = ["-p", "stub_fixture"] if is_named else []
    done = team.runpytest_inprocess(*words, *PLUGIN, "--stub-pace=7")
    assert "copy: --pace=7" in done.stdout.str()


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
    # A worker of xdist has a part of the requests, and no verdict.
    # Modules of others with the names of ours are apart.
    for name in ("app", "cli", "store", "web"):
        (tmp_path / f"{name}.py").write_text("raise OSError", "utf-8")
    workers = "STUB_FAIL_ON=idle .venv/bin/python -m pytest -p xdist -n 2"
    words = ["sh", "-ec", f"{recipe.text}\n{workers}"]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p deployment_stub"}
    done = execute(words, tmp_path, STUB=str(ROOT), **alone, PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("2 passed") == 2
    (tmp_path / "typed.py").write_text(TYPED, "utf-8")
    mypy = [".venv/bin/python", "-m", "mypy", "--strict", "--config-file=", "typed.py"]
    found = execute(mypy, tmp_path).stdout
    assert re.findall(r"error: .* \[(.*)\]", found) == ["assignment", "call-arg"], found
