"""The class `Stub` of the distribution, which is that of the file that others copy."""

import json
import os
import re
import signal
import socket
from importlib import import_module
from pathlib import Path

import pytest

from cli.options import OPTIONS
from deployment_stub import Stub, StubError
from deployment_stub.pytest_options import ROWS
from tests.conftest import ROOT
from tests.program import environment, process
from tests.wire import call, port_of

pytestmark = pytest.mark.process

PROGRAM = {"STUB_PROGRAM": str(ROOT / "app.py")}
# What Python runs that is killed, with a stub, and without pytest.
KILLED = """
import sys

sys.modules["pytest"] = None
from importlib.util import find_spec as find

import importlib.util
importlib.util.find_spec = lambda name: None if name == "pytest" else find(name)
from deployment_stub import Stub

stub = Stub()
print(stub.url, flush=True)
input()
"""


def variables(**more: str) -> dict[str, str]:
    return environment({**PROGRAM, **more})


def test_it_serves_in_its_block_as_its_options_say_and_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list is an option that is repeated; none is left out by `False` and `None`."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    seed = tmp_path / "a seed.json"
    seed.write_text('{"projects": [{"name": "of the seed"}]}', "utf-8")
    outcome = ["*-fails=failed", "canceled"]
    own = {"seed": seed, "strict": False, "freeze": None, "pace": 0, "outcome": outcome}
    with Stub(environ=variables(), **own) as stub:
        assert stub.token == "dev-token"
        assert [each["name"] for each in projects_of(stub)] == ["of the seed"]
        assert [each["status"] for each in stub.requests()] == [200]
        statuses = []
        for name in ("shop", "shop-fails"):
            made = call(stub.url, "/v1/projects", body=json.dumps({"name": name}).encode()).json
            path = f"/v1/deployments/{made['latest_deployment_id']}"
            statuses.append(call(stub.url, path).json["status"])
        assert statuses == ["canceled", "failed"]
        assert_has_worlds(stub, monkeypatch)
        connection = socket.create_connection(("127.0.0.1", port_of(stub.url)), timeout=30)
    with connection:
        assert connection.recv(1) == b""
    with pytest.raises(StubError, match=f"the stub at {stub.url} does not respond: "):
        stub.freeze()


def projects_of(stub: Stub) -> list[dict[str, str]]:
    found: list[dict[str, str]] = call(stub.url, "/v1/projects").json["projects"]
    return found


def assert_has_worlds(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    world = stub.world("job-42")
    assert (world.url, world.token) == (stub.url, "dev-token.job-42")
    call(world.url, "/v1/projects", token=world.token)
    assert len(world.requests()) == 1
    assert stub.world("other").world("job-42").requests() == []  # it starts anew
    with pytest.raises(ValueError, match="1 to 64 of A-Z a-z 0-9 _ -, not 'job 42'"):
        stub.world("job 42")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    assert stub.world("job-42").token == "dev-token.job-42-gw1"


def test_an_unknown_option_is_named_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"the stub takes no 'sede': give cors_origin, .*, seed"):
        Stub(sede="seed.json")


def test_a_program_that_is_missing_or_cannot_start_says_why() -> None:
    missing = r"there is no stub at /.+/no\.pyz: install .*, or set STUB_PROGRAM "
    with pytest.raises(StubError, match=missing):
        Stub(environ=variables(STUB_PROGRAM="no.pyz"))
    with pytest.raises(StubError) as raised:
        Stub(environ=variables(), pace="soon")
    first, *rest = str(raised.value).splitlines()
    assert re.fullmatch(r"`.*app\.py --pace=soon` did not start: its status is 2", first)
    assert rest == ["error: Invalid value for '--pace': 'soon' is not a valid number."]


def test_each_program_has_a_log_and_a_verdict_which_is_an_error_of_the_end_unless_there_is_one(
    tmp_path: Path,
) -> None:
    judged = variables(STUB_FAIL_ON="violations", STUB_LOG=str(tmp_path / "stub.jsonl"))
    finding = r"ended: its status is 1\n[\s\S]*finding: violations: no operation: GET /v2 "
    with pytest.raises(StubError, match=finding), Stub(environ=judged) as stub:
        call(stub.url, "/v2")
    with pytest.raises(ZeroDivisionError), Stub(environ=judged) as stub:
        assert call(stub.url, "/v3").status_code / 0
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for file, path in zip(files, ("/v2", "/v3"), strict=True):
        assert re.fullmatch(rf"stub\.{os.getpid()}(-\d+)?\.jsonl", file.name)
        assert path in file.read_text("utf-8")


def test_it_does_without_pytest_and_ends_with_a_process_that_is_killed() -> None:
    with process("-c", KILLED, env=PROGRAM, stdin=-1) as started:
        url = started.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", port_of(url)), timeout=30) as connection:
            os.kill(started.pid, signal.SIGKILL)
            assert connection.recv(1) == b""


def test_the_plugin_takes_its_options_and_the_program_has_them_all() -> None:
    options = import_module(Stub.__module__).Options
    assert [*ROWS] == [*options.__annotations__]
    assert {*ROWS} <= {*OPTIONS}
