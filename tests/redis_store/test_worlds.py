"""The worlds in Redis: those of tenants, when they expire, and what another program has left."""

from functools import partial
from typing import Any

import pytest
from flask import Flask

from redis_store import connect
from tests.conftest import Clock, control_client_of, in_parallel, make_stub, names
from tests.contract import assert_problem
from tests.redis_server import RedisServer

pytestmark = pytest.mark.process

DAY = 86400
NAMES = ("state", "projects", "index", "deployments")


@pytest.fixture
def programs(shared_redis: RedisServer, clock: Clock) -> list[Flask]:
    """Two programs with one store."""
    shared_redis.clear()
    stores = [connect(shared_redis.url, 8) for _ in "12"]
    tokens = ["team-a=one", "team-b=two", "plain"]
    return [make_stub(tokens=tokens, clock=clock, new_store=each) for each in stores]


def keys_of(world: str) -> list[str]:
    return [f"{{project-stub:{world}}}:{name}" for name in NAMES]


def ttls_of(redis: RedisServer, world: str) -> set[int]:
    """The TTL of each key of a world in seconds: -1 if it does not expire, -2 if it is gone."""
    found: set[Any] = {redis.client.ttl(key) for key in keys_of(world)}
    return found


def expire(redis: RedisServer, world: str, seconds: int) -> None:
    for key in keys_of(world):
        redis.client.expire(key, seconds)


def worlds_of(app: Flask, token: str) -> dict[str, tuple[int, int]]:
    shown = control_client_of(app, token).get("/_stub/worlds").json["worlds"]
    return {each["name"]: (each["projects"], each["requests"]) for each in shown}


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
    ("GET", "/v1/deployments/dpl_1", None),
    ("POST", "/v1/projects", {"name": "more"}),
    ("GET", "/_stub/state", None),
    ("PUT", "/_stub/deployments/dpl_2", {"status": "failed"}),
    ("POST", "/_stub/clock", {"advance": 1}),
    ("POST", "/_stub/reset", {"projects": [{"name": "again"}], "deployments": []}),
    ("POST", "/_stub/pact", {"state": "a project exists"}),
]


def test_each_use_of_a_named_world_keeps_it_for_another_day(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    client = control_client_of(programs[0], "one.job")
    client.post("/v1/projects", json={"name": "first"})
    for method, path, document in USES:
        expire(shared_redis, "team-a/job", 100)
        assert client.open(path, method=method, json=document).status_code < 500
        assert min(ttls_of(shared_redis, "team-a/job")) > DAY - 10, path


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
    assert ttls_of(shared_redis, world) == {-1}


def test_a_new_program_frees_what_another_left(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    for token in ("one.used", "one.left", "one.old", "two.left"):
        control_client_of(programs[0], token).post("/v1/projects", json={"name": "a"})
    expire(shared_redis, "team-a/left", DAY - 3600)
    for key in keys_of("team-a/old"):  # of a version that gave it no end
        shared_redis.client.persist(key)
    expected = {"": (0, 0), "used": (1, 0), "left": (1, 0), "old": (1, 0)}
    assert worlds_of(programs[1], "one") == expected
    assert min(ttls_of(shared_redis, "team-a/used")) > DAY - 10
    assert max(ttls_of(shared_redis, "team-a/left")) <= DAY - 3600  # listing is no use
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
    assert ttls_of(shared_redis, "team-a/a") != {-2}
    expire(shared_redis, "team-a/a", DAY - 120)
    assert main.delete("/_stub/worlds?idle=0").status_code == 204
    assert worlds_of(programs[1], "one") == {"": (0, 0)}


def test_records_of_version_1_0_are_read(programs: list[Flask], shared_redis: RedisServer) -> None:
    state, projects, index, deployments = keys_of("job")
    redis = shared_redis.client
    time = "2026-11-20T09:00:00.000+00:00"
    redis.hset(state, mapping={"clock": "", "epoch": "0123456789abcdef"})
    redis.rpush(projects, f'["prj_1", "old", "{time}", "dpl_1", "{{\\"name\\": \\"old\\"}}"]')
    redis.sadd(index, "id prj_1", "name old")
    redis.hset(deployments, "dpl_1", f'["dpl_1", "prj_1", "{time}", [["succeeded", null]]]')
    client = control_client_of(programs[0], "plain.job")
    assert names(client) == ["old"]
    assert client.get("/v1/deployments/dpl_1").json["status"] == "succeeded"
    assert client.post("/v1/projects", json={"name": "old"}).status_code == 409
    assert min(ttls_of(shared_redis, "job")) > DAY - 60


def test_reads_renew_worlds_once_a_minute(programs: list[Flask], shared_redis: RedisServer) -> None:
    client = control_client_of(programs[0], "one.job")
    names(client)
    shared_redis.client.config_resetstat()
    for _ in range(20):
        names(client)
    assert "cmdstat_expire" not in shared_redis.client.info("commandstats")


def test_a_world_that_makes_room_is_freed_unless_another_program_uses_it(
    programs: list[Flask], shared_redis: RedisServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 1)
    control_client_of(programs[0], "one.a").post("/v1/projects", json={"name": "a"})
    assert_problem(
        control_client_of(programs[0], "one.b").get("/v1/projects"), 507, "too_many_worlds"
    )
    clock.advance(3600)  # unused here for an hour, but used in Redis by another program
    assert names(control_client_of(programs[1], "one.a")) == ["a"]
    assert names(control_client_of(programs[0], "one.b")) == []
    assert ttls_of(shared_redis, "team-a/a") != {-2}
    clock.advance(3600)
    expire(shared_redis, "team-a/b", DAY - 3600)
    control_client_of(programs[0], "one.c").get("/v1/projects")
    assert ttls_of(shared_redis, "team-a/b") == {-2}


def test_an_expired_world_begins_as_at_first(
    programs: list[Flask], shared_redis: RedisServer
) -> None:
    client = control_client_of(programs[0], "one.job")
    client.post("/v1/projects", json={"name": "a"})
    client.post("/_stub/clock", json={"advance": 100})
    for key in keys_of("team-a/job"):
        shared_redis.client.delete(key)
    assert names(client) == []
    assert client.get("/_stub/clock").json["now"] == "2026-11-21T10:00:00.000Z"


def test_twenty_tenants_of_two_programs_do_not_meet(shared_redis: RedisServer) -> None:
    shared_redis.clear()
    tenants = [f"team-{number}" for number in range(20)]
    tokens = [f"{each}=secret-of-{each}" for each in tenants]
    apps = [make_stub(tokens=tokens, new_store=connect(shared_redis.url, 24)) for _ in "12"]

    def work(number: int) -> list[str]:
        tenant = tenants[number]
        for app in apps:
            for world in ("", ".a", ".b"):
                client = control_client_of(app, f"secret-of-{tenant}{world}")
                client.post("/v1/projects", json={"name": f"{tenant}{world}-{apps.index(app)}"})
        control_client_of(apps[0], f"secret-of-{tenant}.b").post("/_stub/reset")
        control_client_of(apps[1], f"secret-of-{tenant}").delete("/_stub/worlds?idle=80000")
        main, other = (
            control_client_of(apps[0], f"secret-of-{tenant}{each}") for each in ("", ".a")
        )
        return [*names(main), *names(other)]

    results = in_parallel([partial(work, number) for number in range(20)])
    for tenant, found in zip(tenants, results, strict=True):
        assert found == [f"{tenant}-0", f"{tenant}-1", f"{tenant}.a-0", f"{tenant}.a-1"]
