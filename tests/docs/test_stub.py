"""The class `Stub` of the distribution, which is that of the file that others copy."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli.options import OPTIONS
from deployment_stub import Stub, StubError, World
from deployment_stub.stub_fixture import StubOptions
from tests.conftest import ROOT
from tests.program import environment, finished
from tests.wire import Connection, Reply, call, port_of

pytestmark = pytest.mark.process

PROGRAM = {"STUB_PROGRAM": str(ROOT / "app.py")}


def variables(**more: str) -> dict[str, str]:
    return environment({**PROGRAM, **more})


def ask(world: World, target: str, body: bytes = b"") -> Reply:
    return call(world.url, target, body=body, token=world.token)


def names(world: World) -> list[str]:
    return [project["name"] for project in ask(world, "/v1/projects").json["projects"]]


@pytest.fixture
def world(live_url: str, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    return World(live_url, "dev-token").world(f"test-{uuid4()}")


def test_a_reset_takes_a_document_or_the_path_of_one(world: World, tmp_path: Path) -> None:
    world.reset({"projects": []})
    assert names(world) == []
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "café"}]}', "utf-8")
    for path in (seed, str(seed)):
        world.reset(path)
        assert names(world) == ["café"]
    world.reset()
    assert len(names(world)) == 3


def test_a_world_has_its_clock_and_its_deployments(world: World) -> None:
    assert world.freeze()["frozen"]
    stages: list[dict[str, Any]] = [{"status": "queued", "seconds": 60}, {"status": "failed"}]
    made = world.put_deployment("a/b é", timeline=stages, project_id="prj_website")
    assert (made["status"], made["project_id"]) == ("queued", "prj_website")
    now = world.advance(60)["now"]
    assert ask(world, "/v1/deployments/a%2Fb%20%C3%A9").json["status"] == "failed"
    assert world.put_deployment("b", status="canceled")["status"] == "canceled"
    assert world.tick(1.5)["now"] == now
    ask(world, "/v1/deployments/b")
    assert world.advance(0)["now"] > now
    assert world.freeze("2026-01-01T00:00:00Z")["now"] == "2026-01-01T00:00:00.000Z"
    assert world.put_deployment("c", status="queued")["created_at"] == "2026-01-01T00:00:00.000Z"


def test_a_world_has_its_faults_and_what_it_met(world: World) -> None:
    assert world.fault(operation="listProjects", status=503, times=2)["remaining"] == 2
    assert ask(world, "/v1/projects").status_code == 503
    (request,) = world.requests()
    assert (request["status"], request["headers"]["Authorization"]) == (503, "Bearer ***")
    world.headers["Authorization"] = "Bearer of-the-client"
    ask(world, "/v1/projects", b'{"name": "shop"}')
    (created,) = world.requests(operation="createProject", status=201, path="/v1/p*", method="POST")
    assert created["json"] == {"name": "shop"}
    assert created["response"]["json"]["name"] == "shop"
    assert [world.count(), world.count(status="5xx"), world.count(status=404)] == [2, 1, 0]
    with pytest.raises(StubError, match="400 unknown_query: Send only the query "):
        world.count(state=503)
    assert world.coverage()["operations"]["listProjects"]["503"] == 1
    with pytest.raises(StubError, match="POST /_stub/faults: 422 invalid_body: /status must be "):
        world.fault(status=9)
    assert world.token not in repr(world)


def test_another_world_starts_anew_and_a_worker_has_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(world, "/v1/projects")
    _, _, name = world.token.partition(".")
    assert world.world(name).requests() == []
    with pytest.raises(ValueError, match="1 to 64 characters of A-Z a-z 0-9 _ -, not 'job 42'"):
        world.world("job 42")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    other = world.world("job-42")
    assert (other.url, other.token) == (world.url, "dev-token.job-42-gw1")
    other.reset()


def test_a_process_that_ignores_the_end_of_its_children_is_told_what_fail_on_finds() -> None:
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        stub = Stub(environ=variables(STUB_FAIL_ON="violations"))
        ask(stub, "/v2")
        with pytest.raises(StubError, match="finding: violations: no operation: GET /v2 "):
            stub.close()
    finally:
        signal.signal(signal.SIGCHLD, previous)


def test_it_serves_until_it_is_closed_which_raises_what_fail_on_finds(tmp_path: Path) -> None:
    """Unless its block has raised something; each program has a log of its own."""
    judged = {"STUB_FAIL_ON": "violations", "STUB_LOG": str(tmp_path / "stub.log")}
    environ = variables(**judged, STUB_HOST="192.0.2.1", STUB_PORT="x")
    stub = Stub(environ=environ, empty=True)
    assert stub.token == "dev-token"
    assert names(stub) == []
    ask(stub, "/v2")
    finding = r"ended: its status is 1\n[\s\S]*finding: violations: no operation: GET /v2 "
    with Connection(port_of(stub.url)) as connection:
        with pytest.raises(StubError, match=finding):
            stub.close()
        assert connection.closed()
    with pytest.raises(StubError, match=f"the stub at {stub.url} does not respond: "):
        stub.freeze()
    with pytest.raises(ZeroDivisionError), Stub(environ=environ) as stub:
        assert ask(stub, "/v3").status_code / 0
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for file, path in zip(files, ("/v2", "/v3"), strict=True):
        assert re.fullmatch(rf"stub\.{os.getpid()}(-\d+)?\.log", file.name)
        assert path in file.read_text("utf-8")


def test_what_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is an option that is repeated; none is left out by `False` and `None`."""
    unknown: Any = {"sede": "seed.json"}
    with pytest.raises(TypeError, match=r"the stub takes no 'sede': give cors_origin, .*, seed"):
        Stub(**unknown)
    missing = r"^/.+/no\.py was not found: install .*, or set STUB_PROGRAM "
    with pytest.raises(StubError, match=missing):
        Stub(environ=variables(STUB_PROGRAM="no.py"))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/python")  # as pyfakefs lets it look
        with pytest.raises(StubError, match="is a fake, as of pyfakefs: start the stub before it"):
            Stub(environ=variables())
    outcome = ["*-fails=failed", "canceled"]
    own: Any = {"strict": False, "freeze": None, "empty": True, "outcome": outcome, "pace": "soon"}
    with pytest.raises(StubError) as raised:
        Stub(environ=variables(), **own)
    first, *rest = str(raised.value).splitlines()
    words = re.escape("--empty --outcome=*-fails=failed --outcome=canceled --pace=soon")
    assert re.fullmatch(rf"`.*app\.py {words}` did not start: its status is 2", first)
    assert rest == ["error: Invalid value for '--pace': 'soon' is not a valid number."]


# What Python runs that ends without its stub.
LEFT = """
import sys
from urllib.request import urlopen
from deployment_stub import Stub
assert "pytest" not in sys.modules
stub = Stub()
try:
    urlopen(stub.url + "/v2")
except OSError:
    pass
"""


def test_the_end_of_the_process_ends_it_and_shows_what_fail_on_finds() -> None:
    done = finished("-c", LEFT, env={**PROGRAM, "STUB_FAIL_ON": "violations"})
    assert "finding: violations: no operation: GET /v2 " in done.stderr


def test_the_program_has_each_option_of_the_class() -> None:
    assert {*StubOptions.__annotations__} <= {*OPTIONS}
