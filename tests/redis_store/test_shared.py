"""Programs that share a Redis server: what one changes, the others see, and none undoes."""

import json
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from records import Timeline
from redis_store import RedisStores
from store import NameTaken, StoreUnavailable, random_id, utc_now
from stub.tokens import WorldName
from tests.conftest import (
    SAMPLE_NAMES,
    SAMPLE_SEED,
    START,
    Clock,
    control_client_of,
    counting_ids,
    make_stub,
    names,
)
from tests.contract import CREATED, assert_problem
from tests.redis_server import RedisServer
from tests.redis_store.conftest import DAY, assert_unavailable, key_of
from tests.stores import FAILED, MakeStore, make_shared
from tests.stub.conftest import race
from tests.stub.conftest import worlds_of as stub_worlds_of

pytestmark = pytest.mark.process


def test_a_turned_clock_is_that_of_the_other_program(two: list[FlaskClient], clock: Clock) -> None:
    one, other = two
    assert one.post("/_stub/clock", json={"advance": 60}).status_code == 200  # the world begins
    made = other.post("/v1/projects", json={"name": "a"}).json
    assert made["created_at"] == "2026-11-21T10:01:00.000Z"
    other.post("/_stub/clock", json={"advance": 3.25, "frozen": True})
    clock.advance(60)
    shown = one.get("/_stub/clock").json
    assert shown == {"now": "2026-11-21T10:01:03.250Z", "frozen": True, "tick": 0}
    path = f"/v1/deployments/{made['latest_deployment_id']}"
    assert one.get(path).json["status"] == "building"
    one.post("/_stub/reset")
    assert other.get("/_stub/clock").json["now"] == "2026-11-21T10:01:00.000Z"
    assert names(other) == SAMPLE_NAMES


def test_reads_at_any_program_turn_the_same_clock(two: list[FlaskClient]) -> None:
    one, other = two
    stages = [{"status": "queued", "seconds": 2}, {"status": "over"}]
    one.put("/_stub/deployments/d", json={"timeline": stages})
    one.post("/_stub/clock", json={"frozen": True, "tick": 1})
    polls = [each.get("/v1/deployments/d").json["status"] for each in (one, other, one)]
    assert polls == ["queued", "queued", "over"]
    clocks = [each.get("/_stub/clock").json for each in two]
    assert clocks == 2 * [{"now": "2026-11-21T10:00:03.000Z", "frozen": True, "tick": 1}]
    other.post("/_stub/reset")
    assert one.get("/_stub/clock").json["tick"] == 0


def test_a_clock_that_was_not_turned_is_the_next_programs(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    client = control_client_of(programs[0], "plain")
    assert client.post("/_stub/clock", json={"advance": 0}).status_code == 200
    third = make_stub(freeze=START, stores=RedisStores(shared_redis.url))
    assert control_client_of(third).get("/_stub/clock").json["frozen"]


@pytest.fixture
def make_store(redis_stores: RedisStores) -> MakeStore:
    """Makes stores of one world, as programs have."""

    def ids(prefix: str, *_: Any) -> str:
        return random_id(prefix)

    return partial(make_shared, redis_stores, world="", clock=utc_now, ids=ids)


@pytest.mark.parametrize("times", [39, 40])
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


# The worlds in Redis

USES: list[tuple[str, str, Any]] = [
    ("GET", "/v1/projects", None),
    ("POST", "/v1/projects", {"name": "more"}),
    ("POST", "/_stub/clock", {"advance": 1}),
    ("POST", "/_stub/reset", {"projects": [{"name": "again"}]}),
]


def test_each_use_keeps_a_named_world_for_a_day_and_a_main_one_for_ever(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    redis = shared_redis.client
    job = key_of("team-a/job")
    main = control_client_of(two[0].application, "one")
    for method, path, document in USES:
        assert two[0].open(path, method=method, json=document).status_code < 300
        assert redis.ttl(job) > DAY - 10
        redis.expire(job, 100)
        assert main.open(path, method=method, json=document).status_code < 300
        assert redis.ttl(key_of("team-a/")) == -1
    redis.expire(job, DAY - 30)
    assert names(two[1]) == ["again"]
    assert redis.ttl(job) <= DAY - 30  # a read renews it once a minute
    redis.delete(job)
    assert names(two[1]) == SAMPLE_NAMES


def worlds_of(app: Flask, token: str) -> dict[str, int]:
    """The number of projects of each world of a tenant."""
    shown = control_client_of(app, token).get("/_stub/worlds").json["worlds"]
    return {each["name"]: each["projects"] for each in shown}


def test_a_program_frees_the_worlds_that_others_left(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    for token in ("one.used", "one.left", "two.left"):
        control_client_of(programs[0], token).post("/v1/projects", json={"name": "a"})
    shared_redis.client.expire(key_of("team-a/used"), DAY - 110)
    shared_redis.client.expire(key_of("team-a/left"), DAY - 120)
    assert worlds_of(programs[1], "one") == {"": 3, "used": 4, "left": 4}
    # A read renews the TTL once a minute: two of these count as used.
    main = control_client_of(programs[1], "one")
    assert main.delete("/_stub/worlds?idle=0").status_code == 204
    assert worlds_of(programs[1], "one") == {"": 3, "used": 4}
    assert worlds_of(programs[1], "two") == {"": 3, "left": 4}


def test_worlds_may_begin_while_others_are_freed(programs: list[Flask]) -> None:
    worlds = stub_worlds_of(programs[0])

    def begin(start: str) -> None:
        for number in range(200):
            worlds.open(WorldName("", f"{start}-{number}"))

    def free() -> None:
        for _ in range(20):
            worlds.free("", 0)

    begin("first")  # which take a while to list
    race([free, partial(begin, "second"), free, partial(begin, "third")])


def test_a_world_that_makes_room_is_freed_unless_another_program_uses_it(
    shared_redis: RedisServer, clock: Clock
) -> None:
    shared_redis.clear()
    stores = RedisStores(shared_redis.url)
    options: dict[str, Any] = {"tokens": ["team-a=one"], "clock": clock, "seed": SAMPLE_SEED}
    program = make_stub(**options, stores=stores, max_worlds=1)
    control_client_of(program, "one.a").post("/v1/projects", json={"name": "a"})
    full = control_client_of(program, "one.b").get("/v1/projects")
    assert_problem(full, 507, "too_many_worlds")
    for name, seconds, there in (("b", DAY, True), ("c", DAY - 3600, False)):
        clock.advance(3600)
        before = key_of("team-a/a" if name == "b" else "team-a/b")
        shared_redis.client.expire(before, seconds)
        assert names(control_client_of(program, f"one.{name}")) == SAMPLE_NAMES
        assert shared_redis.client.exists(before) == there


# What spoils a world, and the token of the tenant that has it.
SPOILT = [(b"team-a/job", "one"), (b"team-a/b\n\xff", "one"), (b"b\n\xff", "plain")]


@pytest.mark.parametrize(("world", "owner"), SPOILT)
def test_a_spoilt_key_is_named_to_its_tenant_alone(
    world: bytes,
    owner: str,
    programs: list[Flask],
    shared_redis: RedisServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = key_of("").encode() + world
    shared_redis.client.set(key, "secret")
    for token in ("one", "two", "plain"):
        client = control_client_of(programs[0], token)
        assert client.get("/v1/projects").status_code == 200
        for response in (client.get("/_stub/worlds"), client.delete("/_stub/worlds?idle=0")):
            if token == owner:
                assert_unavailable(response)
            else:
                assert response.status_code in (200, 204)
    messages = [record.message for record in caplog.records]
    assert messages == 2 * [f"Redis has something invalid in {repr(key)[2:-1]}"]


def test_a_reset_mends_a_spoilt_document(
    two: list[FlaskClient], shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    key = key_of("team-a/job")
    for spoil in ("string", "document"):
        assert two[0].post("/v1/projects", json={"name": "a"}).status_code == CREATED
        if spoil == "string":
            shared_redis.client.set(key, "secret")
        else:
            shared_redis.client.hset(key, mapping={"version": "x", "document": "{}"})
        for method, path, document in USES[:3]:
            caplog.clear()
            assert_unavailable(two[1].open(path, method=method, json=document))
            assert caplog.messages == [f"Redis has something invalid in {key}"]
        assert two[1].post("/_stub/reset").status_code == 204
        assert names(two[0]) == SAMPLE_NAMES
