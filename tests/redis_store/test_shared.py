"""Programs that share a Redis server: what one changes, the others see, and none undoes."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial

import pytest
from flask.testing import FlaskClient

from records import Timeline
from redis_store import RedisStores, connect
from store import NameTaken, StoreUnavailable
from stub.clock import Setting, WorldClock
from stub.store import NO_RECORDS, WorldStore
from tests.conftest import (
    SAMPLE_NAMES,
    START,
    Clock,
    control_client_of,
    counting_ids,
    in_parallel,
    make_stub,
    names,
)
from tests.contract import CREATED
from tests.redis_server import RedisServer
from tests.redis_store.conftest import key_of
from tests.stores import DEFAULTS, FAILED, MakeStore, records_of

pytestmark = pytest.mark.process


def test_a_change_by_one_program_is_seen_by_the_other(two: list[FlaskClient]) -> None:
    one, other = two
    for number, client in enumerate([one, other, one]):
        client.post("/v1/projects", json={"name": f"p{number}"})
        assert one.get("/v1/projects").data == other.get("/v1/projects").data
    for project in ("prj_website", "prj_search"):
        one.put("/_stub/deployments/x", json={"status": "failed", "project_id": project})
        assert other.get("/v1/deployments/x").json["project_id"] == project
        listed = other.get("/v1/projects").json["projects"]
        assert [each["id"] for each in listed if each["latest_deployment_id"] == "x"] == [project]
    other.post("/_stub/reset", json={"projects": [{"name": "a"}]})
    assert names(one) == ["a"]
    one.post("/_stub/pact", json={"state": "no projects exist"})
    assert names(other) == []
    assert one.get("/_stub/state").data == other.get("/_stub/state").data


def test_a_turned_clock_is_that_of_the_other_program(two: list[FlaskClient], clock: Clock) -> None:
    one, other = two
    made = one.post("/v1/projects", json={"name": "a"}).json
    path = f"/v1/deployments/{made['latest_deployment_id']}"
    assert other.get(path).json["status"] == "queued"
    one.post("/_stub/clock", json={"advance": 3, "frozen": True})
    clock.advance(60)
    assert other.get(path).json["status"] == "building"
    assert other.get("/_stub/clock").json == {"now": "2026-11-21T10:00:03.000Z", "frozen": True}
    assert other.get("/_stub/console").json["clock"]["ahead"] == 3
    other.post("/_stub/clock", json={"advance": 1, "frozen": False})
    clock.advance(1)
    assert one.post("/v1/projects", json={"name": "b"}).json["created_at"][14:19] == "00:05"
    one.post("/_stub/reset")
    assert other.get("/_stub/clock").json["now"] == "2026-11-21T10:01:01.000Z"


def test_a_clock_may_be_turned_before_its_world_begins(two: list[FlaskClient]) -> None:
    assert two[0].post("/_stub/clock", json={"advance": 60}).status_code == 200
    assert names(two[1]) == SAMPLE_NAMES
    made = two[1].post("/v1/projects", json={"name": "a"}).json
    assert made["created_at"] == "2026-11-21T10:01:00.000Z"


def test_a_clock_that_was_not_turned_is_the_next_programs(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    assert two[0].get("/_stub/ready").status_code == 200
    assert two[0].post("/_stub/clock", json={"advance": 0}).status_code == 200
    third = make_stub(freeze=START, stores=connect(shared_redis.url, threads=4))
    assert control_client_of(third).get("/_stub/clock").json["frozen"]


class HeldClock(Clock):
    """Tells the time, and before its caller uses it, something else happens."""

    meanwhile: Callable[[], object] | None = None

    def __call__(self) -> datetime:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return super().__call__()


def test_of_two_programs_that_turn_a_clock_at_once_both_do(
    redis_stores: RedisStores,
) -> None:
    real = HeldClock()
    start = WorldClock(real, Setting())
    new_store = partial(WorldStore, **DEFAULTS)
    one, other = (
        redis_stores.open("", start, counting_ids(), NO_RECORDS, new_store)[1] for _ in "12"
    )
    real.meanwhile = lambda: other.change(5, freeze=None)
    assert one.change(60, freeze=None)
    assert one.advanced == 65


def test_a_bare_reset_removes_the_key_of_a_world(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    one, other = (control_client_of(client.application, "dev-token.job-42") for client in two)
    assert one.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    assert names(other)[-1] == "a"
    assert shared_redis.client.keys() == [key_of("job-42").encode()]
    other.post("/_stub/reset")
    assert shared_redis.client.keys() == []
    assert names(one) == SAMPLE_NAMES


# Races


def test_programs_that_begin_at_once_undo_nothing(make_store: MakeStore) -> None:
    """Each finds no records and makes them, which takes long enough for the others' creates."""
    stores = [make_store(records=records_of(*range(2000))) for _ in range(6)]

    def create(number: int) -> None:
        stores[number].create_project(f"made {number}", f'{{"name": "made {number}"}}')

    assert in_parallel([partial(create, number) for number in range(6)]) == 6 * [None]
    listed = [project.name for project in stores[0].list_projects()]
    assert {name for name in listed if "made" in name} == {f"made {number}" for number in range(6)}
    assert len(listed) == 2006


@pytest.mark.parametrize("times", [0, 3, 39, 40])
def test_a_change_is_repeated_up_to_40_times_with_the_same_ids(
    make_store: MakeStore, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_store()
    made: list[str] = []

    def interrupt(name: str) -> Timeline:
        """Another program creates a project before this one writes."""
        if len(made) < times:
            made.append(f"made {len(made)}")
            other.create_project(made[-1], json.dumps({"name": made[-1]}))
        return FAILED

    one = make_store(ids=counting_ids(), timeline_for=interrupt)
    if times < 40:
        project = one.create_project("mine", '{"name": "mine"}')
        assert (project.id, project.latest_deployment_id) == ("prj_1", "dpl_2")
    else:
        with pytest.raises(StoreUnavailable):
            one.create_project("mine", '{"name": "mine"}')
    assert len(made) == times
    listed = [each.name for each in other.list_projects()]
    assert listed == made + (["mine"] if times < 40 else [])
    assert ("other programs changed it" in caplog.text) == (times == 40)


def test_of_two_programs_that_create_one_name_one_does(make_store: MakeStore) -> None:
    other = make_store()

    def create_before(name: str) -> Timeline:
        other.create_project(name, json.dumps({"name": name}))
        return FAILED

    one = make_store(timeline_for=create_before)
    with pytest.raises(NameTaken):
        one.create_project("a", '{"name": "a"}')
    assert len(one.list_projects()) == 1
