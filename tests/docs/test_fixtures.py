"""The fixture of pytest, docs/fixtures/stub_fixtures.py, in the folder of a client team.

`test_ci.py` runs the recipes with it, and `test_fixtures_elsewhere.py` has the other languages.
"""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.conftest import ROOT
from tests.docs.documents import blocks_of
from tests.program import environment, process, program
from tests.wire import port_of

pytestmark = [pytest.mark.process, pytest.mark.slow]

CALL = """
import json, os, signal
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

def call(stub, method, path, body=None, headers=None):
    fields = {"Content-Type": "application/json", **(stub.headers if headers is None else headers)}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(stub.url + path, data, fields, method=method)) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)
"""
OPERATIONS = """
def test_seeds(stub, tmp_path):
    stub.reset({"projects": []})
    assert call(stub, "GET", "/v1/projects") == (200, {"projects": []})
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "caf\\u00e9"}]}', "utf-8")
    for path in (seed, str(seed)):
        stub.reset(path)
        (project,) = call(stub, "GET", "/v1/projects")[1]["projects"]
        assert project["name"] == "café"
    stub.reset()
    assert len(call(stub, "GET", "/v1/projects")[1]["projects"]) == 3
    assert stub.headers == {"Authorization": f"Bearer {stub.token}"}

def test_time(stub):
    assert stub.freeze()["frozen"]
    stages = [{"status": "queued", "seconds": 60}, {"status": "failed"}]
    made = stub.put_deployment("a/b é", timeline=stages, project_id="prj_website")
    assert (made["status"], made["project_id"]) == ("queued", "prj_website")
    now = stub.advance(60)["now"]
    assert call(stub, "GET", "/v1/deployments/a%2Fb%20%C3%A9")[1]["status"] == "failed"
    assert stub.put_deployment("b", status="canceled")["status"] == "canceled"
    assert stub.advance(0)["now"] == now

def test_records(stub):
    assert stub.fault(operation="listProjects", status=503, times=2)["remaining"] == 2
    assert call(stub, "GET", "/v1/projects")[0] == 503
    (request,) = stub.requests()
    assert (request["status"], request["headers"]["Authorization"]) == (503, "Bearer ***")
    stub.headers["Authorization"] = "Bearer of-the-client"
    assert stub.coverage()["operations"]["listProjects"]["503"] == 1

@pytest.mark.parametrize("text", ["é/[a b]", 300 * "long"])
def test_worlds(stub, text):
    assert stub.requests() == []
    assert call(stub, "POST", "/v1/projects", {"name": "one"})[0] == 201
"""
FAILING = """
def test_rejected(stub):
    call(stub, "GET", "/v1/projects?page=1")
    assert call(stub, "POST", "/v1/projects", {"name": ""})[0] == 201

def test_unauthorized(stub):
    assert call(stub, "GET", "/v1/projects", headers={})[0] == 200

def test_quiet(stub):
    assert stub.requests()

def test_outage(stub):
    stub.fault(status=503, operation="getDeployment")
    assert call(stub, "GET", "/v1/deployments/dpl_failed")[0] == 200

def test_invalid(stub):
    stub.fault(staus=503)

def test_many(stub):
    assert not [call(stub, "GET", f"/v1/deployments/{n}") for n in range(25)]

@pytest.fixture
def judged(stub):
    yield stub
    assert stub.coverage()["violations"] == []

def test_torn_down(judged):
    call(judged, "GET", "/v2/projects")

@pytest.fixture
def broken(stub):
    call(stub, "GET", "/v1/deployments/x")
    raise ValueError

def test_set_up(broken):
    pass
"""
SHOWN = {
    "test_rejected": "#1 GET /v1/projects?page=1 200"
    " (unpromised listProjects: query parameter page)\n"
    '#2 POST /v1/projects 422 invalid_body (/name must not be blank)\n   > {"name": ""}\n',
    "test_unauthorized": "no request with the token of this test\n"
    "main world meanwhile, with the requests that have no token of a test:\n"
    "#1 GET /v1/projects 401 token_missing (listProjects: no Authorization header)\n",
    "test_quiet": "no request with the token of this test\n",
    "test_outage": "#1 GET /v1/deployments/dpl_failed 503 injected_fault (fault flt_1)\n",
    "test_invalid": "no request with the token of this test\n",
    "test_many": "5 earlier requests are not shown\n"
    + "".join(f"#{n + 1} GET /v1/deployments/{n} 404 deployment_not_found\n" for n in range(5, 25)),
    "test_torn_down": "#1 GET /v2/projects 404 not_found (no operation: GET /v2/projects)\n",
    "test_set_up": "#1 GET /v1/deployments/x 404 deployment_not_found\n",
}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The folder of a client team, with a module that has the name of one of the program's."""
    folder = tmp_path / "team"
    folder.mkdir()
    shutil.copy(ROOT / "docs" / "fixtures" / "stub_fixtures.py", folder)
    (folder / "stub.pyz").symlink_to(ROOT / "app.py")
    (folder / "store.py").write_text("raise RuntimeError('of the team')")
    return folder


def words_of(*arguments: str) -> list[str]:
    fixed = ["-p", "stub_fixtures", "-p", "no:cacheprovider", "-q"]
    return ["-m", "pytest", *fixed, *arguments]


def run(
    team: Path, tests: str, *arguments: str, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run these tests of a team."""
    (team / "test_shop.py").write_text(CALL + tests, "utf-8")
    variables = {"PYTHONUTF8": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})}
    return subprocess.run(
        [sys.executable, *words_of(*arguments)],
        cwd=team,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def passed(done: "subprocess.CompletedProcess[str]") -> int:
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    return int(count)


def freed_worlds(started: "subprocess.Popen[str]") -> int:
    """End a program; return the number of its worlds, each of which was reset at last."""
    started.terminate()
    pattern = r"^([\w-]+-[0-9a-f]{6,12}) (?:#\d+ )?(\w+ \S+ \d+)"
    latest = dict(re.findall(pattern, started.communicate()[1], re.MULTILINE))
    assert set(latest.values()) == {"POST /_stub/reset 204"}
    return len(latest)


def sections_of(output: str) -> dict[str, str]:
    """What is shown of the requests, by the test; without the responses' bodies."""
    pattern = r"^-+ requests to the stub -+\nworld (\w+)-[0-9a-f]{12}:\n((?:(?![_=]{3}).*\n)*)"
    sections = dict(re.findall(pattern, output, re.MULTILINE))
    return {name: re.sub(r"^   < .*\n", "", text, flags=re.M) for name, text in sections.items()}


@pytest.mark.parametrize("how", ["beside", "STUB_PROGRAM", "STUB_URL", "xdist"])
def test_every_operation_works_in_a_world_of_its_own(team: Path, how: str) -> None:
    if how == "beside":
        assert passed(run(team, OPERATIONS)) == 5
    elif how == "xdist":
        assert passed(run(team, OPERATIONS, "-p", "xdist", "-n", "2")) == 5
    elif how == "STUB_PROGRAM":
        (team / "stub.pyz").unlink()
        named = {"STUB_PROGRAM": str(ROOT / "app.py"), "STUB_HOST": "0.0.0.0", "STUB_PORT": "x"}
        assert passed(run(team, OPERATIONS, env={**named, "STUB_TOKEN": "s3cret other"})) == 5
    else:
        with program("--token", "s3cret") as (started, url):
            named = {"STUB_URL": f"{url}/", "STUB_TOKEN": "s3cret", "STUB_PROGRAM": "nowhere"}
            proxy = {"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
            assert passed(run(team, OPERATIONS, env={**named, **proxy})) == 5
            assert freed_worlds(started) == 5


@pytest.mark.parametrize("more", [[], ["--show-capture=no", "-l", "--tb=short"], ["-n", "2"]])
def test_a_test_that_fails_shows_its_requests_without_the_token(
    team: Path, more: list[str]
) -> None:
    done = run(team, FAILING, "-p", "xdist", *more, env={"STUB_TOKEN": "s3cret"})
    assert done.returncode == 1
    sections = sections_of(done.stdout)
    # The tests of a program share its main world, and each shows what came there meanwhile.
    sections["test_unauthorized"] = re.sub("#[0-9]+", "#1", sections["test_unauthorized"])
    assert sections == SHOWN
    assert "s3cret" not in done.stdout
    reason = "422 invalid_body: /staus is not a known member; must have a status, a delay or a cut"
    assert f"StubError: POST /_stub/faults: {reason}" in done.stdout
    assert not {"urllib", "stub_fixtures.py:"} & set(re.findall(r"[\w.]+:?", done.stdout))


def test_a_conftest_may_name_the_plugin_and_import_from_it(team: Path) -> None:
    lines = 'from stub_fixtures import Stub\npytest_plugins = ["stub_fixtures"]\n'
    (team / "conftest.py").write_text(lines, "utf-8")
    test = "from stub_fixtures import Stub\ndef test_it(stub: Stub) -> None: stub.reset()"
    (team / "test_shop.py").write_text(test, "utf-8")
    plain = [word for word in words_of("-W", "error") if word != "stub_fixtures"]
    plain.remove("-p")
    with process(*plain, cwd=team, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}) as started:
        output = started.communicate()
    assert started.returncode == 0, output


def test_a_failure_looks_as_ci_md_prints_it(team: Path) -> None:
    (printed,) = [text for kind, text in blocks_of("docs/ci.md") if "requests to the stub" in text]
    name = re.findall(r"world (\w+)-", printed)[0]
    failing = (
        f"def {name}(stub):\n    assert call(stub, 'POST', '/v1/projects', {{'name': ''}}) == 1"
    )
    assert f"\n{printed}\n" in run(team, failing).stdout


def test_the_body_of_a_response_is_shown_if_the_journal_has_it() -> None:
    path = ROOT / "docs" / "fixtures" / "stub_fixtures.py"
    spec = importlib.util.spec_from_file_location("stub_fixtures", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    request = {"number": 7, "method": "GET", "path": "/v1/projects", "query": "", "body": ""}
    response = {"status": 200, "headers": {}, "body": '{"projects": [\n{}]}\n'}
    noted = {"violations": [], "unpromised": [], "grease": ["members"], "reason": None}
    entry = {**request, **noted, "status": 200, "code": None, "fault": None, "response": response}
    lines = ["#7 GET /v1/projects 200 (grease members)", '   < {"projects": [ {}]}']
    assert module.described([entry]) == lines
    long = {**entry, "body": 401 * "x", "response": {**response, "body": 400 * "y"}}
    assert module.described([long])[1:] == [f"   > {400 * 'x'} ...", f"   < {400 * 'y'}"]


REASONS = {
    "STUB_PROGRAM=no.pyz": r"there is no stub at /\S+/no\.pyz: set STUB_PROGRAM to the path of .*",
    "STUB_PROGRAM=store.py": r"store\.py did not start, .* status is 1\n[\s\S]*of the team",
    "STUB_PROGRAM=empty.py": r"empty\.py did not start, run by \S+: its status is 0",
    "STUB_PROGRAM=other.py": r"other\.py did not start, run by \S+: its status is 0",
    "STUB_PACE=x": r"\S+ did not start, .* 2\nerror: Invalid value for '--pace': .* STUB_PACE\.",
    "STUB_NO_STUB=1": r"GET /_stub/requests\?limit=0: 4.*|POST /_stub/reset: 4.*",
    "STUB_URL=http://127.0.0.1:1": r".*: the stub at http://127\.0\.0\.1:1 does not respond: .*",
    "STUB_URL=127.0.0.1:1": r".*: the stub at 127\.0\.0\.1:1 does not respond: .*",
    "STUB_TOKEN=wrong": r"STUB_URL and STUB_TOKEN are not .*: 401 token_invalid: .*",
}


@pytest.mark.parametrize("setting", REASONS)
def test_what_cannot_be_used_is_a_sentence(team: Path, setting: str, live_url: str) -> None:
    (team / "empty.py").touch()
    (team / "other.py").write_text("print('hello')")
    name, _, value = setting.partition("=")
    env = {name: value, **({"STUB_URL": live_url} if name == "STUB_TOKEN" else {})}
    done = run(team, "def test_it(stub): pass\ndef test_that(stub): pass", env=env)
    assert done.returncode == 1
    parts = re.split(r"^[_=]+ .* [_=]+\n", done.stdout, flags=re.MULTILINE)
    errors = [part.strip() for part in parts[2:-1]]
    assert len(errors) == 2
    for error in errors:
        assert re.fullmatch(REASONS[setting], error), error
        assert len(error.splitlines()) < 8


def test_a_program_that_ends_is_a_sentence_in_each_test_after_it(team: Path) -> None:
    tests = """
def test_first(stub):
    os.kill(int(os.environ["PID"]), signal.SIGKILL)

def test_second(stub):
    pass
"""
    with program() as (started, url):
        done = run(team, tests, env={"STUB_URL": url, "PID": str(started.pid)})
    assert done.returncode == 1
    assert "1 passed, 2 errors" in done.stdout
    errors = re.findall(r"^the stub at \S+ does not respond: .*$", done.stdout, re.MULTILINE)
    assert len(errors) == 3  # what is shown of the requests says it, too
    assert len(done.stdout.splitlines()) < 20


def test_what_fail_on_finds_fails_the_run(team: Path) -> None:
    test = "def test_it(stub):\n    call(stub, 'GET', '/v1/projects?page=1')"
    done = run(team, test, env={"STUB_FAIL_ON": "unpromised"})
    assert done.returncode == 1
    assert "1 passed, 1 error" in done.stdout
    assert "\nfinding: unpromised: listProjects: query parameter page " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_program_ends_with_the_process_of_pytest(team: Path, number: int) -> None:
    test = "def test_it(stub):\n    print(stub.url, flush=True)\n    signal.pause()"
    (team / "test_shop.py").write_text(CALL + test, "utf-8")
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with process(*words_of("-s"), cwd=team, env=env, start_new_session=True) as started:
        assert started.stdout
        url = started.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", port_of(url)), timeout=30) as connection:
            os.killpg(started.pid, number)
            assert connection.recv(1) == b""
    with pytest.raises(URLError):
        urlopen(f"{url}/_stub/health")


@pytest.mark.slow
def test_there_may_be_more_tests_than_worlds(team: Path) -> None:
    test = """
@pytest.mark.parametrize("n", range(1100))
def test_it(stub, n):
    assert call(stub, "POST", "/v1/projects", {"name": "one"})[0] == 201
"""
    with program() as (_, url):
        done = run(team, test, "-p", "xdist", "-n", "2", env={"STUB_URL": url})
    assert passed(done) == 1100
