"""--tick: each read of a deployment moves the clock of its world on."""

from datetime import datetime
from typing import Any

import pytest
from flask.testing import FlaskClient

from profiles.profile import make_profile
from stub.seed import sample_of
from tests.conftest import SAMPLE_SEED, START, Clock, control_client_of, make_stub
from tests.services import DOCUMENTS
from tests.stub.conftest import entries, status_of

TEN_YEARS = 3653 * 86400  # seconds
QUEUED = "/v1/deployments/dpl_queued"
LOST = {"drop": True, "performed": True}
Row = tuple[str, str, dict[str, Any], dict[str, str], float]
# The method and the path of a request, its fault, its fields, and by how many seconds the clock
# moves.
ROWS: dict[str, Row] = {
    "a read": ("GET", QUEUED, {}, {}, 2.5),
    "a read that comes late": ("GET", QUEUED, {"delay": 1}, {}, 2.5),
    "a read that is cut short": ("GET", QUEUED, {"cut": 5}, {}, 2.5),
    "a read whose response is lost": ("GET", QUEUED, LOST, {}, 2.5),
    "a read that is not performed": ("GET", QUEUED, {"drop": True}, {}, 0),
    "a fault's status": ("GET", QUEUED, {"status": 503}, {}, 0),
    "a status of Prefer": ("GET", QUEUED, {}, {"Prefer": "code=503"}, 0),
    "a wrong token": ("GET", QUEUED, {}, {"Authorization": "Bearer x"}, 0),
    "a HEAD": ("HEAD", QUEUED, {}, {}, 0),
    "an unknown deployment": ("GET", "/v1/deployments/dpl_none", {}, {}, 0),
    "the list": ("GET", "/v1/projects", {}, {}, 0),
    "the exported state": ("GET", "/_stub/state", {}, {}, 0),
    "the view of the console": ("GET", "/_stub/console", {}, {}, 0),
}


def ticking(**options: Any) -> FlaskClient:
    usual = {"seed": SAMPLE_SEED, "pace": 1, "tick": 1, "freeze": START, "ids_seed": 5}
    return control_client_of(make_stub(sleep=lambda seconds: None, **{**usual, **options}))


def moved(client: FlaskClient) -> float:
    """By how many seconds the clock has moved."""
    now = datetime.fromisoformat(client.get("/_stub/clock").json["now"])
    return (now - START).total_seconds()


def set_tick(client: FlaskClient, seconds: float) -> None:
    shown = client.post("/_stub/clock", json={"tick": seconds}).json
    assert shown["tick"] == seconds
    assert client.get("/_stub/clock").json == shown
    assert client.get("/_stub/console").json["clock"]["tick"] == seconds


@pytest.mark.parametrize("row", ROWS)
def test_only_a_read_of_a_deployment_turns_the_clock_on(row: str) -> None:
    method, path, fault, fields, seconds = ROWS[row]
    client = ticking(tick=2.5)
    if fault:
        client.post("/_stub/faults", json=fault)
    client.open(path, method=method, headers=fields)
    assert moved(client) == seconds


def test_a_deployment_ends_in_three_polls_with_the_same_bytes_in_each_run() -> None:
    def session() -> list[bytes]:
        client = ticking()
        made = client.post("/v1/projects", json={"name": "shop"})
        path = f"/v1/deployments/{made.json['latest_deployment_id']}"
        polls = [client.get(path) for _ in range(4)]
        statuses = [each.json["status"] for each in polls]
        assert statuses == ["queued", "building", "succeeded", "succeeded"]
        times = [each["time"][17:19] for each in entries(client)]
        assert times == ["00", "00", "01", "02", "03"]  # each is of its own response
        shown = ("/_stub/requests", "/_stub/state", "/_stub/clock")
        return [
            made.data,
            *(each.data for each in polls),
            *(client.get(each).data for each in shown),
        ]

    assert session() == session()


def test_a_read_of_a_profiles_deployment_turns_it_on() -> None:
    like = make_profile(DOCUMENTS["northflank"])
    client = ticking(like=like, seed=sample_of(like))
    client.put("/_stub/deployments/d", json={"status": "SUCCESS"})
    assert client.get("/v1/deployments/d").json["data"]["status"] == "SUCCESS"
    assert moved(client) == 1


def test_a_tick_is_of_one_world_until_its_reset() -> None:
    client = ticking(tick=0)
    other = control_client_of(client.application, "dev-token.other")
    set_tick(client, 60)
    for each in (client, other):
        each.get(QUEUED)
    assert (moved(client), moved(other)) == (60, 0)
    set_tick(client, 0)
    client.get(QUEUED)
    assert moved(client) == 60
    set_tick(client, 60)
    client.post("/_stub/reset")
    client.get(QUEUED)
    assert moved(client) == 0
    set_tick(client, 2)
    client.post("/_stub/clock", json={"advance": 5, "frozen": True})  # which keeps the tick
    client.get(QUEUED)
    assert moved(client) == 7


def test_it_turns_a_running_clock_on_too(clock: Clock) -> None:
    client = ticking(freeze=None, clock=clock)
    for _ in range(2):
        client.get(QUEUED)
        clock.advance(10)
    assert moved(client) == 22


def test_the_exported_state_has_the_statuses_of_the_moved_clock() -> None:
    client = ticking()
    timeline = [{"status": "queued", "seconds": 3}, {"status": "failed"}]
    client.put("/_stub/deployments/dpl_x", json={"timeline": timeline})
    client.get("/v1/deployments/dpl_x")
    client.post("/_stub/reset", json=client.get("/_stub/state").json)
    statuses = [status_of(client, "dpl_x") for _ in range(3)]
    assert statuses == ["queued", "queued", "failed"]


def test_the_clock_stays_where_the_next_tick_would_pass_ten_years() -> None:
    client = ticking()
    client.post("/_stub/clock", json={"advance": TEN_YEARS - 1.5})
    assert [status_of(client, "dpl_failed") for _ in range(3)] == ["failed"] * 3
    assert moved(client) == TEN_YEARS - 0.5
    set_tick(client, 0.5)
    client.get(QUEUED)
    assert moved(client) == TEN_YEARS
