"""The worlds in Redis: those of tenants, when they expire, and what another program has left."""

from typing import Any

import pytest
from flask import Flask

from redis_store import connect
from tests.conftest import Clock, control_client_of, names
from tests.contract import assert_problem
from tests.redis_server import RedisServer
from tests.redis_store.conftest import DAY, key_of, worlds_of

pytestmark = pytest.mark.process


def ttl_of(redis: RedisServer, world: str) -> int:
    """Seconds: -1 if the world does not expire, -2 if it is gone."""
    found: Any = redis.client.ttl(key_of(world))
    return int(found)


def expire(redis: RedisServer, world: str, seconds: int) -> None:
    assert redis.client.expire(key_of(world), seconds)


def test_tenants_share_nothing_and_programs_share_their_worlds(programs: list[Flask]) -> None:
    for token, name in (("one", "a"), ("one.job", "b"), ("two.job", "c"), ("plain.job", "d")):
        control_client_of(programs[0], token).post("/v1/projects", json={"name": name})
    found = [
        names(control_client_of(programs[1], token))
        for token in ("one", "one.job", "two", "two.job", "plain", "plain.job")
    ]
    assert found == [["a"], ["b"], [], ["c"], [], ["d"]]


USES: list[tuple[str, str, Any]] = [
    ("GET", "/v1/projects", None),
    ("POST", "/v1/projects", {"name": "more"}),
    ("POST", "/_stub/clock", {"advance": 1}),
    ("POST", "/_stub/reset", {"projects": [{"name": "again"}], "deployments": []}),
]


def test_each_use_of_a_named_world_keeps_it_for_another_day(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    client = control_client_of(programs[0], "one.job")
    client.post("/v1/projects", json={"name": "first"})
    for method, path, document in USES:
        expire(shared_redis, "team-a/job", 100)
        assert client.open(path, method=method, json=document).status_code < 500
        assert ttl_of(shared_redis, "team-a/job") > DAY - 10, path


def test_reads_renew_worlds_once_a_minute(programs: list[Flask], shared_redis: RedisServer) -> None:
    client = control_client_of(programs[0], "one.job")
    names(client)
    shared_redis.client.config_resetstat()
    expire(shared_redis, "team-a/job", DAY - 30)
    for _ in range(20):
        names(client)
    assert ttl_of(shared_redis, "team-a/job") <= DAY - 30


@pytest.mark.parametrize(("token", "world"), [("one", "team-a/"), ("plain", "")])
def test_a_main_world_does_not_expire(
    programs: list[Flask], shared_redis: RedisServer, token: str, world: str
) -> None:
    client = control_client_of(programs[0], token)
    client.post("/v1/projects", json={"name": "first"})
    client.post("/_stub/clock", json={"advance": 1})
    for app in programs:  # one of which has not met the world
        assert control_client_of(app, token).delete("/_stub/worlds?idle=0").status_code == 204
    assert names(client) == ["first"]
    assert ttl_of(shared_redis, world) == -1


def test_a_new_program_frees_what_another_left(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    for token in ("one.used", "one.left", "two.left"):
        control_client_of(programs[0], token).post("/v1/projects", json={"name": "a"})
    expire(shared_redis, "team-a/left", DAY - 3600)
    assert worlds_of(programs[1], "one") == {"": (0, 0), "used": (1, 0), "left": (1, 0)}
    assert ttl_of(shared_redis, "team-a/left") <= DAY - 3600  # listing is no use
    main = control_client_of(programs[1], "one")
    assert main.delete("/_stub/worlds?idle=3600").status_code == 204
    assert worlds_of(programs[1], "one") == {"": (0, 0), "used": (1, 0)}
    assert worlds_of(programs[1], "two") == {"": (0, 0), "left": (1, 0)}


def test_a_world_that_was_used_in_the_last_two_minutes_is_not_freed(
    programs: list[Flask], shared_redis: RedisServer, clock: Clock
) -> None:
    """A read renews the TTL once a minute, so that the last use may be later than the TTL tells."""
    for app in programs:
        assert names(control_client_of(app, "one.a")) == []
    main = control_client_of(programs[1], "one")
    expire(shared_redis, "team-a/a", DAY - 110)
    found = []
    for seconds in (110, 10):
        clock.advance(seconds)
        assert main.delete("/_stub/worlds?idle=10").status_code == 204
        found.append(worlds_of(programs[1], "one"))
    # First the program itself has used it, then another one.
    assert found == [{"": (0, 0), "a": (0, 1)}, {"": (0, 0), "a": (0, 0)}]
    connect(shared_redis.url, 1).free("team-a/a", 1)
    assert ttl_of(shared_redis, "team-a/a") != -2
    expire(shared_redis, "team-a/a", DAY - 120)
    assert main.delete("/_stub/worlds?idle=0").status_code == 204
    assert worlds_of(programs[1], "one") == {"": (0, 0)}


def test_a_world_that_makes_room_is_freed_unless_another_program_uses_it(
    programs: list[Flask], shared_redis: RedisServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 1)
    control_client_of(programs[0], "one.a").post("/v1/projects", json={"name": "a"})
    full = control_client_of(programs[0], "one.b").get("/v1/projects")
    assert_problem(full, 507, "too_many_worlds")
    clock.advance(3600)  # unused here for an hour, but used in Redis by another program
    assert names(control_client_of(programs[1], "one.a")) == ["a"]
    assert names(control_client_of(programs[0], "one.b")) == []
    assert ttl_of(shared_redis, "team-a/a") != -2
    clock.advance(3600)
    expire(shared_redis, "team-a/b", DAY - 3600)
    control_client_of(programs[0], "one.c").get("/v1/projects")
    assert ttl_of(shared_redis, "team-a/b") == -2


def test_an_expired_world_begins_as_at_first(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    client = control_client_of(programs[0], "one.job")
    client.post("/v1/projects", json={"name": "a"})
    client.post("/_stub/clock", json={"advance": 100})
    shared_redis.client.delete(key_of("team-a/job"))
    assert names(client) == []
    assert client.get("/_stub/clock").json["now"] == "2026-11-21T10:00:00.000Z"
