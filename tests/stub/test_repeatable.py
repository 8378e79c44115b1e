"""--ids-seed and --freeze: the same requests get the same bytes; --delay: responses come late."""

import os
from datetime import UTC, datetime
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import SAMPLE_SEED, control_client_of, make_stub
from tests.live import serving
from tests.program import program
from tests.stub.conftest import entries
from tests.stub.greased import AXES
from tests.wire import call

TIME = datetime(2026, 1, 5, 9, 0, 0, 250_000, tzinfo=UTC)
SESSION: list[tuple[str, str, str]] = [
    ("GET", "/v1/projects", ""),
    *(("POST", "/v1/projects", f'{{"name": "p{number}"}}') for number in range(5)),
    ("POST", "/v1/projects", '{"name": "p1"}'),
    ("POST", "/v1/projects", "[1, 2,\n ]"),
    ("POST", "/v1/projects", '{"name": 1, "id": 2}'),
    ("POST", "/_stub/clock", '{"advance": 3}'),
    ("POST", "/_stub/pact", '{"state": "a project exists"}'),
    ("POST", "/_stub/pact", '{"state": "a deployment exists"}'),
    ("GET", "/v1/projects", ""),
    ("GET", "/v1/deployments/nothing", ""),
    ("GET", "/v1/nowhere", ""),
    ("GET", "/_stub/state", ""),
    ("GET", "/_stub/requests", ""),
    ("GET", "/_stub/coverage", ""),
]


def frozen(**options: Any) -> FlaskClient:
    given = {"ids_seed": 5, "freeze": TIME, **options}
    return control_client_of(make_stub(seed=SAMPLE_SEED, **given))


def test_ids_depend_on_the_seed_the_world_and_the_order() -> None:
    def ids(client: FlaskClient) -> list[str]:
        made = [client.post("/v1/projects", json={"name": name}).json for name in "ab"]
        return [each[name] for each in made for name in ("id", "latest_deployment_id")]

    client = frozen()
    first = ids(client)
    assert first[:2] == ["prj_f5d780178b2d55b3", "dpl_ae88bfa7b057191d"]
    assert len({*first}) == 4
    assert ids(frozen()) == first
    client.post("/_stub/reset")
    assert ids(client) == first
    assert not {*ids(control_client_of(client.application, "dev-token.w"))} & {*first}
    assert not {*ids(frozen(ids_seed=6))} & {*first}


def test_a_clock_stands_still_from_the_start() -> None:
    client = frozen()
    at = "2026-01-05T09:00:00.250Z"
    assert client.get("/_stub/clock").json == {"now": at, "frozen": True, "tick": 0}
    assert client.post("/v1/projects", json={"name": "a"}).json["created_at"] == at
    assert entries(client)[0]["ms"] == 0
    turned = client.post("/_stub/clock", json={"advance": 4}).json
    assert turned == {"now": "2026-01-05T09:00:04.250Z", "frozen": True, "tick": 0}
    other = control_client_of(client.application, "dev-token.w")
    client.post("/_stub/reset")
    for each in (client, other):
        assert each.get("/_stub/clock").json["now"] == at


def test_each_response_of_v1_comes_as_late_as_requested() -> None:
    waited: list[float] = []
    options = {"delay": (0.2, 1.5), "delay_seed": 5, "freeze": None}
    client, other = frozen(**options, sleep=waited.append), frozen(**options, sleep=waited.append)
    for path in (*50 * ["/v1/projects"], "/_stub/health"):
        client.get(path)
    assert len({*waited}) == 50
    assert all(0.2 <= each <= 1.5 for each in waited)
    assert entries(client)[0]["ms"] >= 1000 * waited[0]
    first, second, *_ = waited
    waited.clear()
    other.get("/v1/nowhere")
    other.post("/_stub/faults", json={"delay": 2})
    other.get("/v1/projects")
    assert waited == [first, second + 2]


OPTIONS = ["--ids-seed", "5", "--freeze", "2026-01-05T09:00:00.25Z"]
OPTIONS += ["--grease", "all", "--grease-seed", "7"]
WITHOUT_GREASE = ("PUT", "/_stub/grease", '{"axes": []}')


def session_in(url: str, world: str) -> list[bytes]:
    """The bodies of the responses in a world; in that of the name `plain` nothing varies."""
    session, token = SESSION, f"dev-token{world}"
    if world == ".plain":
        session = [WITHOUT_GREASE, *SESSION]
    # The port, which is another in each run, is in no Host of these requests.
    return [
        call(url, path, method=method, body=body.encode(), token=token).data
        for method, path, body in session
    ]


@pytest.mark.process
def test_another_process_responds_with_the_same_bytes() -> None:
    worlds = ("", ".job-42", ".plain")
    app = frozen(grease=AXES, grease_seed=7).application
    with serving(app) as port:
        here = [session_in(f"http://127.0.0.1:{port}", world) for world in worlds]
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    with program(*OPTIONS, env={"PYTHONHASHSEED": hash_seed}) as (_, url):
        assert [session_in(url, world) for world in worlds] == here
