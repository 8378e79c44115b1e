"""`verify` on the stub itself, with each axis of grease, and on another program."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from app import create_app
from tests.clients.commands import link_node_modules
from tests.conftest import ROOT, SAMPLE_SEED, TOKEN, needs
from tests.live import serving
from tests.stub.greased import AXES, greased_app
from tests.verify.parts import (
    CACHE,
    CREATED,
    DCREATED,
    DEP_404,
    DETAIL,
    INPUT,
    INPUT_NAME,
    ITEMS,
    LARGE,
    MALFORMED,
    MEDIA,
    METHOD,
    NAMES,
    NOT,
    POST_201,
    PSTATUS,
    TAKEN,
    TITLE,
    TYPE,
    UNAUTHORIZED,
    UNKNOWN,
    WWW,
    differs,
)
from tests.verify.verified import verify
from tests.wire import free_port

pytestmark = pytest.mark.process

ENV = {"VERIFY_TOKEN": TOKEN}
# The others are what a server may change at any time, or what the contract leaves open.
OF_AN_AXIS = {
    "success-code": differs(POST_201),
    "list-order": differs(ITEMS),  # "Oldest first."
}
CANNOT = {
    "#/components/responses/BadRequest",  # no HTTP client sends what is malformed
    "#/components/responses/HeadersTooLarge",
    "#/components/responses/InternalError",  # a bug
    "#/components/schemas/Deployment/properties/project_id/anyOf/1",  # no list names such a one
}


def test_the_stub_keeps_and_confirms_all() -> None:
    with serving(create_app(seed=SAMPLE_SEED, pace=0), control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert (done.status, done.found) == (0, set())
    assert done.seen("not seen") == CANNOT
    assert len(done.seen("kept", "confirmed")) >= 50
    assert len(done.report["created"]) == 1


def test_a_service_that_takes_a_name_alone_differs_and_gets_one_project() -> None:
    app = create_app(seed=SAMPLE_SEED, pace=0, strict=True)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="write", env=ENV)
    assert done.status == 0
    assert done.found == differs(INPUT)
    assert len(done.report["created"]) == 1
    outcomes = {each["name"]: each["outcome"] for each in done.report["probes"]}
    assert outcomes["list, unknown query"] == "note: 400"


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(each, marks=pytest.mark.slow) for each in (7, 2026))]
)
@pytest.mark.parametrize("axis", AXES)
def test_an_axis_of_grease_is_found_at_its_parts(axis: str, seed: int) -> None:
    app = greased_app((axis,), seed, seed=SAMPLE_SEED, pace=0)
    with serving(app, control_prefix="/_stub/") as port:
        done = verify(f"http://127.0.0.1:{port}", level="abuse", env=ENV)
    assert done.found == OF_AN_AXIS.get(axis, set()), done.stderr


@contextmanager
def express(folder: Path) -> Iterator[str]:
    """The URL of express.js; its package is found in tests/clients."""
    needs("node")
    shutil.copy(ROOT / "tests/verify/express.js", folder)
    (folder / ".peers").mkdir()
    link_node_modules(folder / ".peers")
    projects = [{"id": "p-1", "name": "a", "latest_deployment_id": "d-1"}]
    deployment = {"id": "d-1", "project_id": "p-1", "status": "queued"}
    (folder / "stored.json").write_text(json.dumps({"projects": projects, **deployment}))
    port = free_port()
    words = ("node", "express.js", str(port), "stored.json")
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL) as node:
        try:
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                with suppress(subprocess.TimeoutExpired):
                    raise AssertionError(f"node has ended with {node.wait(0.05)}")
            yield f"http://127.0.0.1:{port}"
        finally:
            node.kill()


def test_express_differs_where_it_is_another_program(tmp_path: Path) -> None:
    with express(tmp_path) as url:
        done = verify(url, level="abuse", env=ENV)
    assert done.found == differs(
        *(CACHE, WWW, UNAUTHORIZED, DEP_404, UNKNOWN, METHOD, MALFORMED, TAKEN, LARGE, MEDIA),
        *(CREATED, DCREATED, TYPE, TITLE, PSTATUS, DETAIL, INPUT, INPUT_NAME, NAMES, NOT),
    )
    assert done.status == 0
