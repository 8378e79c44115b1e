"""The fixture of pytest, docs/fixtures/stub_fixture.py, in the folder of a client team.

`test_ci.py` runs the recipes with it, and `test_fixtures_elsewhere.py` has the other languages.
"""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.documents import blocks_of, execute, freed_worlds
from tests.program import process, program
from tests.wire import call, port_of

pytestmark = pytest.mark.process

CALL = """
import json, signal
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener, install_opener, urlopen

import pytest

install_opener(build_opener(ProxyHandler({})))

def call(stub, method, path, body=None, headers=None):
    fields = {"Content-Type": "application/json", **(stub.headers if headers is None else headers)}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(stub.url + path, data, fields, method=method)) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)

class client:  # of the README
    def list_projects(url, token):
        bearer = {"Authorization": f"Bearer {token}"}
        urlopen(Request(url + "/v1/projects", headers=bearer)).close()
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

def test_many(stub):
    stub.fault(status=503, operation="listProjects")
    assert [call(stub, "GET", f"/v1/deployments/{n}") for n in range(20)]
    assert call(stub, "GET", "/v1/projects")[0] == 503
    stub.fault(staus=503)

@pytest.fixture
def judged(stub):
    yield stub
    assert stub.coverage()["violations"] == []

def test_torn_down(judged):
    call(judged, "GET", "/v2/projects")
"""
SHOWN = {
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


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The folder of a client team, with a module that has the name of one of the program's."""
    folder = tmp_path / "team"
    folder.mkdir()
    shutil.copy(ROOT / "docs" / "fixtures" / "stub_fixture.py", folder)
    (folder / "stub.pyz").symlink_to(ROOT / "app.py")
    (folder / "store.py").write_text("raise RuntimeError('of the team')")
    return folder


def words_of(*arguments: str) -> list[str]:
    return ["-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]


def run(
    team: Path, tests: str, *arguments: str, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run these tests of a team; its conftest.py may name the plugin."""
    (team / "test_shop.py").write_text(CALL + tests, "utf-8")
    plugin = () if (team / "conftest.py").exists() else ("-p", "stub_fixture")
    variables = {"PYTHONUTF8": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    return execute([sys.executable, *words_of(*plugin, *arguments)], team, **variables)


def sections_of(output: str) -> dict[str, str]:
    """What is shown of the requests, by the test; without the responses' bodies."""
    pattern = r"^-+ requests to the stub -+\nworld (\w+)-[0-9a-f]{12}:\n((?:(?![_=]{3}).*\n)*)"
    sections = dict(re.findall(pattern, output, re.MULTILINE))
    return {name: re.sub(r"^   < .*\n", "", text, flags=re.M) for name, text in sections.items()}


def test_every_operation_and_the_test_of_the_readme_work_in_a_world_of_their_own(
    team: Path,
) -> None:
    (of_the_readme,) = (text for kind, text in blocks_of("README.md") if kind == "python")
    with program("--token", "s3cret") as (started, url):
        named = {"STUB_URL": f"{url}/", "STUB_TOKEN": "s3cret", "STUB_PROGRAM": "nowhere"}
        # An ended run has left a world.
        world = "test_records-" + hashlib.sha256(b"test_shop.py::test_records").hexdigest()[:12]
        call(url, "/v1/projects", token=f"s3cret.{world}")
        words = ["-p", "xdist", "-n", "2"]
        tests = f"{OPERATIONS}\n{of_the_readme}\n"
        done = run(team, tests, *words, **named, HTTP_PROXY="http://127.0.0.1:1")
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"^6 passed", done.stdout, re.MULTILINE)
        assert freed_worlds(started) == 6


def test_a_test_that_fails_shows_its_requests_without_the_token(team: Path) -> None:
    """It starts the program beside it, whatever the variables say."""
    variables = {"STUB_TOKEN": "s3cret", "STUB_HOST": "192.0.2.1", "STUB_PORT": "x"}
    done = run(team, FAILING, "--show-capture=no", "--tb=short", **variables)
    assert done.returncode == 1
    assert sections_of(done.stdout) == SHOWN
    assert "s3cret" not in done.stdout
    reason = "422 invalid_body: /staus is not a known member; must have a status, a delay or a cut"
    assert f"StubError: POST /_stub/faults: {reason}" in done.stdout
    assert not {"urllib", "stub_fixture.py:"} & set(re.findall(r"[\w.]+:?", done.stdout))


def test_a_failure_looks_as_ci_md_prints_it_and_what_fail_on_finds_is_an_error(team: Path) -> None:
    lines = 'from stub_fixture import Stub\npytest_plugins = ["stub_fixture"]\n'
    (team / "conftest.py").write_text(lines, "utf-8")
    (printed,) = [text for kind, text in blocks_of("docs/ci.md") if "requests to the stub" in text]
    (name,) = re.findall(r"world (\w+)-", printed)
    tests = f"""
def {name}(stub):
    assert call(stub, "POST", "/v1/projects", {{"name": ""}}) == 1

def test_passing(stub):
    call(stub, "GET", "/v1/projects?page=1")
"""
    done = run(team, tests, STUB_FAIL_ON="unpromised")
    assert f"\n{printed}\n" in done.stdout
    assert "1 failed, 1 passed, 1 error" in done.stdout
    assert "\nfinding: unpromised: listProjects: query parameter page " in done.stdout


REASONS = {
    "STUB_PROGRAM=no.pyz": r"there is no stub at /.+/no\.pyz: set STUB_PROGRAM to the path of .*",
    "STUB_PROGRAM=store.py": r"`.*store\.py` did not start: its status is 1\n[\s\S]*of the team",
    "STUB_URL=127.0.0.1:1": r".*: the stub at 127\.0\.0\.1:1 does not respond: .*",
    "STUB_TOKEN=wrong": r"STUB_URL and STUB_TOKEN are not .*: 401 token_invalid: .*",
}


@pytest.mark.parametrize("setting", REASONS)
def test_what_cannot_be_used_is_a_sentence(team: Path, setting: str, live_url: str) -> None:
    name, _, value = setting.partition("=")
    url = {"STUB_URL": live_url} if name == "STUB_TOKEN" else {}
    done = run(team, "def test_it(stub): pass", **url, **{name: value})
    assert done.returncode == 1
    error = re.split(r"^[_=]+ .* [_=]+\n", done.stdout, flags=re.MULTILINE)[2].strip()
    assert re.fullmatch(REASONS[setting], error), error
    assert len(error.splitlines()) < 8


def test_the_program_ends_with_the_process_of_pytest(team: Path) -> None:
    test = "def test_it(stub):\n    print(stub.url, flush=True)\n    signal.pause()"
    (team / "test_shop.py").write_text(CALL + test, "utf-8")
    words = words_of("-s", "-p", "stub_fixture")
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with process(*words, cwd=team, env=env, start_new_session=True) as started:
        assert started.stdout
        url = started.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", port_of(url)), timeout=30) as connection:
            os.killpg(started.pid, signal.SIGKILL)
            assert connection.recv(1) == b""
