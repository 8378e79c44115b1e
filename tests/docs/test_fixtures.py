"""The fixture of pytest, docs/fixtures/stub_fixture.py, with the tests of a team in teams/shop.py.

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

SHOP = (Path(__file__).parent / "teams" / "shop.py").read_text("utf-8")
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "-q"]
ALONE = {"PYTHONUTF8": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
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
    shutil.copy(ROOT / "docs" / "fixtures" / "stub_fixture.py", tmp_path)
    (tmp_path / "test_shop.py").write_text(SHOP, "utf-8")
    (tmp_path / "stub.pyz").symlink_to(ROOT / "app.py")
    (tmp_path / "store.py").write_text("raise RuntimeError('of the team')")
    return tmp_path


def add(team: Path, tests: str) -> None:
    (team / "test_shop.py").write_text(f"{SHOP}\n{tests}\n", "utf-8")


def run(team: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a team; its conftest.py may name the plugin."""
    plugin = () if (team / "conftest.py").exists() else ("-p", "stub_fixture")
    return execute([sys.executable, *PYTEST, *plugin, *arguments], team, **ALONE, **variables)


def sections_of(output: str) -> dict[str, str]:
    """What is shown of the requests, by the test; without the responses' bodies."""
    pattern = r"^-+ requests to the stub -+\nworld (\w+)-[0-9a-f]{12}:\n((?:(?![_=]{3}).*\n)*)"
    sections = dict(re.findall(pattern, output, re.MULTILINE))
    return {name: re.sub(r"^   < .*\n", "", text, flags=re.M) for name, text in sections.items()}


def test_every_operation_and_the_test_of_the_readme_work_in_a_world_of_their_own(
    team: Path,
) -> None:
    (of_the_readme,) = (text for kind, text in blocks_of("README.md") if kind == "python")
    add(team, of_the_readme)
    with program("--token", "s3cret") as (started, url):
        named = {"STUB_URL": f"{url}/", "STUB_TOKEN": "s3cret", "STUB_PROGRAM": "nowhere"}
        # An ended run has left a world.
        world = "test_records-" + hashlib.sha256(b"test_shop.py::test_records").hexdigest()[:12]
        call(url, "/v1/projects", token=f"s3cret.{world}")
        done = run(team, "-p", "xdist", "-n", "2", **named, HTTP_PROXY="http://127.0.0.1:1")
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"^6 passed", done.stdout, re.MULTILINE)
        assert freed_worlds(started) == 6


def test_a_test_that_fails_shows_its_requests_without_the_token(team: Path) -> None:
    """It starts the program beside it, whatever the variables say."""
    variables = {"STUB_TOKEN": "s3cret", "STUB_HOST": "192.0.2.1", "STUB_PORT": "x"}
    done = run(team, "--show-capture=no", "--tb=short", **variables, FAILING="1")
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
    unpromised = 'call(stub, "GET", "/v1/projects?page=1")'
    invalid = 'assert call(stub, "POST", "/v1/projects", {"name": ""}) == 1'
    add(team, f"def {name}(stub):\n    {invalid}\n\ndef test_passing(stub):\n    {unpromised}")
    done = run(team, "-k", f"{name} or passing", STUB_FAIL_ON="unpromised")
    assert f"\n{printed}\n" in done.stdout
    assert "1 failed, 1 passed, 5 deselected, 1 error" in done.stdout
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
    done = run(team, "-k", "time", **url, **{name: value})
    assert done.returncode == 1
    error = re.split(r"^[_=]+ .* [_=]+\n", done.stdout, flags=re.MULTILINE)[2].strip()
    assert re.fullmatch(REASONS[setting], error), error
    assert len(error.splitlines()) < 8


def test_the_program_ends_with_the_process_of_pytest(team: Path) -> None:
    add(team, "def test_it(stub):\n    print(stub.url, flush=True)\n    input()")
    words = [*PYTEST, "-s", "-p", "stub_fixture", "-k", "test_it"]
    pipe = subprocess.PIPE
    with process(*words, cwd=team, env=ALONE, stdin=pipe, start_new_session=True) as started:
        assert started.stdout
        url = started.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", port_of(url)), timeout=30) as connection:
            os.killpg(started.pid, signal.SIGKILL)
            assert connection.recv(1) == b""
