"""Programs that share a Redis server."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from functools import partial

import pytest
from flask.testing import FlaskClient

from records import Deployment, Project
from redis_store import connect
from store import StoreUnavailable
from stub.store import Records
from tests.conftest import (
    SAMPLE_NAMES,
    START,
    Clock,
    control_client_of,
    in_parallel,
    make_stub,
    names,
)
from tests.contract import CREATED
from tests.redis_server import RedisServer
from tests.stores import FAILED, MakeStore, records_of

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
    third = make_stub(freeze=START, new_store=connect(shared_redis.url, threads=4))
    assert control_client_of(third).get("/_stub/clock").json["frozen"]


class HeldClock(Clock):
    """Tells the time, and before its caller uses it, something else happens."""

    meanwhile: Callable[[], object] | None = None

    def __call__(self) -> datetime:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return super().__call__()


def test_of_two_programs_that_turn_a_clock_at_once_both_do(shared_redis: RedisServer) -> None:
    shared_redis.clear()
    real = HeldClock()
    one, other = (connect(shared_redis.url, threads=1).share_clock(real, world="w") for _ in "12")
    real.meanwhile = lambda: other.change(5, freeze=None)
    assert one.change(60, freeze=None)
    assert one.advanced == 65


def test_a_bare_reset_removes_a_worlds_keys(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    one, other = (control_client_of(client.application, "dev-token.job-42") for client in two)
    assert one.post("/v1/projects", json={"name": "a"}).status_code == CREATED
    assert names(other)[-1] == "a"
    assert shared_redis.client.keys("{project-stub:job-42}:*")
    other.post("/_stub/reset")
    assert shared_redis.client.keys("{project-stub:job-42}*") == []
    assert names(one) == SAMPLE_NAMES


def test_programs_that_begin_at_once_undo_nothing(make_store: MakeStore) -> None:
    """Each finds no records and makes them, which takes long enough for the others' creates."""
    stores = [make_store(records=records_of(*range(2000))) for _ in range(6)]

    def create(number: int) -> None:
        stores[number].create_project(f"made {number}", f'{{"name": "made {number}"}}')

    assert in_parallel([partial(create, number) for number in range(6)]) == 6 * [None]
    listed = [project.name for project in stores[0].list_projects()]
    assert {name for name in listed if "made" in name} == {f"made {number}" for number in range(6)}
    assert len(listed) == 2006


def test_every_key_is_in_its_worlds_namespace(
    shared_redis: RedisServer, make_store: MakeStore
) -> None:
    store = make_store(world="w")
    store.create_project("a", '{"name": "a"}')
    store.add(records_of(1, 2, 3))
    store.put_deployment("d1", FAILED, "p2")
    keys = shared_redis.client.keys("*")
    assert {key[: len("{project-stub:w}:")] for key in keys} == {b"{project-stub:w}:"}


# Changes of all records


def test_many_records_are_written_as_in_memory(make_store: MakeStore) -> None:
    store = make_store(records=records_of(5))
    store.add(records_of(*range(2500)))
    assert {each.id for each in store.list_projects()} == {f"p{number}" for number in range(2500)}
    free = tuple(Deployment(f"f{number}", None, START, FAILED) for number in range(2001))
    store.add(Records((), free))
    store.remove_projects()
    assert store.list_projects() == ()
    assert {*store.records().deployments} == {*free}


@pytest.mark.parametrize("times", [0, 3, 1000])
def test_changes_undo_no_other(
    make_store: MakeStore, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = make_store(), make_store()
    made: list[str] = []

    class Interrupting(tuple[Project, ...]):
        """Another program creates a project before these are read."""

        def __iter__(self) -> Iterator[Project]:
            if len(made) < times:
                made.append(f"made {len(made)}")
                other.create_project(made[-1], json.dumps({"name": made[-1]}))
            return super().__iter__()

    few = records_of(*range(10))
    with pytest.raises(StoreUnavailable) if times == 1000 else nullcontext():
        one.add(Records(Interrupting(few.projects), few.deployments))
    listed = [each.name for each in other.list_projects()]
    assert [name for name in listed if name in made] == made
    assert len(made) == min(times, 40)
    assert ("the records were not changed" in caplog.text) == (times == 1000)
    assert len(listed) == len(made) + (0 if times == 1000 else 10)
