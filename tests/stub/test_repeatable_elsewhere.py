"""The same requests get the same bytes from another process, and over Redis."""

import os
from collections.abc import Callable

import pytest

from stub.worlds import WorldStore
from tests.live import serving
from tests.program import program
from tests.stub.greased import AXES
from tests.stub.test_repeatable import SESSION, frozen, frozen_app
from tests.wire import call

pytestmark = pytest.mark.process

OPTIONS = ["--ids-seed", "5", "--freeze", "2026-01-05T09:00:00.25Z"]
OPTIONS += ["--grease", "all", "--grease-seed", "7"]
WITHOUT_GREASE = ("PUT", "/_stub/grease", '{"axes": []}')


def session_in(url: str, world: str) -> list[bytes]:
    """The bodies of the responses in a world; in that of the name `plain` nothing varies."""
    session = [WITHOUT_GREASE, *SESSION] if world == ".plain" else SESSION
    return [
        # The port, which is another in each run, is in no Host of these requests.
        call(url, target, method=method, body=body.encode(), token=f"dev-token{world}").data
        for method, target, body in session
    ]


def test_another_process_responds_with_the_same_bytes() -> None:
    worlds = ("", ".job-42", ".plain")
    app = frozen_app(grease=AXES, grease_seed=7)
    with serving(app, control_prefix="/_stub/") as port:
        here = [session_in(f"http://127.0.0.1:{port}", world) for world in worlds]
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    with program(*OPTIONS, env={"PYTHONHASHSEED": hash_seed}) as (_, url):
        assert [session_in(url, world) for world in worlds] == here


def test_a_program_that_finds_its_own_ids_in_redis_takes_the_next(
    redis_stores: Callable[..., WorldStore],
) -> None:
    made = set()
    for number in range(40):
        if number % 20 == 0:  # the program is started anew
            client = frozen(redis_stores)
        project = client.post("/v1/projects", json={"name": f"p{number}"}).json
        made |= {project["id"], project["latest_deployment_id"]}
    assert len(made) == 80
