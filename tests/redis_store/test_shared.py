"""Programs that share a Redis server: what one changes, the others see, and none undoes."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from records import Timeline
from redis_store import RedisStores
from store import NameTaken, StoreUnavailable, random_id, utc_now
from tests.conftest import (
    SAMPLE_NAMES,
    START,
    Clock,
    control_client_of,
    counting_ids,
    make_stub,
    names,
)
from tests.redis_server import RedisServer
from tests.redis_store.conftest import JOB
from tests.stores import FAILED, make_shared

pytestmark = pytest.mark.process

DAY = 86400


def test_the_records_and_the_clock_are_those_of_the_other_program(
    one: FlaskClient, other: FlaskClient, redis: RedisServer, clock: Clock
) -> None:
    assert one.post("/_stub/clock", json={"advance": 60}).status_code == 200  # the world begins
    made = other.post("/v1/projects", json={"name": "a"}).json
    assert made["created_at"] == "2026-11-21T10:01:00.000Z"
    other.post("/_stub/clock", json={"advance": 1.25, "frozen": True, "tick": 1})
    clock.advance(60)
    path = f"/v1/deployments/{made['latest_deployment_id']}"
    polls = [each.get(path).json["status"] for each in (one, other, one)]
    assert polls == ["queued", "building", "building"]
    turned = {"now": "2026-11-21T10:01:04.250Z", "frozen": True, "tick": 1}
    assert [each.get("/_stub/clock").json for each in (one, other)] == [turned, turned]
    one.post("/_stub/reset")
    assert not redis.client.exists(JOB)
    assert other.get("/_stub/clock").json["tick"] == 0
    assert names(other) == SAMPLE_NAMES
    third = make_stub(freeze=START, stores=RedisStores(redis.url))
    shown = control_client_of(third, "dev-token.job").get("/_stub/clock").json
    assert shown["frozen"]  # a clock that nobody has turned is the program's own


# How often another program creates a project, with what name, before this one writes.
DISTURBED = [(39, "other", None), (40, "other", StoreUnavailable), (1, "mine", NameTaken)]


@pytest.mark.parametrize(("times", "name", "error"), DISTURBED)
def test_a_change_is_repeated_up_to_40_times_with_the_same_ids(
    redis_stores: RedisStores, times: int, name: str, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_shared(redis_stores, "", utc_now, lambda prefix, *_: random_id(prefix))
    made: list[str] = []

    def interrupt(_: str) -> Timeline:
        if len(made) < times:
            made.append(f"other {len(made)}" if name == "other" else name)
            other.create_project(made[-1], json.dumps({"name": made[-1]}))
        return FAILED

    one = make_shared(redis_stores, "", utc_now, counting_ids(), timeline_for=interrupt)
    if error:
        with pytest.raises(error):
            one.create_project("mine", '{"name": "mine"}')
    else:
        project = one.create_project("mine", '{"name": "mine"}')
        assert (project.id, project.latest_deployment_id) == ("prj_1", "dpl_2")
    assert len(made) == times
    listed = [each.name for each in other.list_projects()]
    assert listed == made + ([] if error else ["mine"])
    assert ("other programs changed it" in caplog.text) == (error is StoreUnavailable)


USES: list[tuple[str, str, Any]] = [
    ("GET", "/v1/projects", None),
    ("POST", "/v1/projects", {"name": "more"}),
    ("POST", "/_stub/clock", {"advance": 1}),
    ("POST", "/_stub/reset", {"projects": [{"name": "again"}]}),
]


def test_each_use_keeps_a_named_world_for_a_day_and_the_main_one_for_ever(
    one: FlaskClient, other: FlaskClient, redis: RedisServer
) -> None:
    main = control_client_of(one.application)
    for method, path, document in USES:
        assert one.open(path, method=method, json=document).status_code < 300
        assert redis.client.ttl(JOB) > DAY - 10
        redis.client.expire(JOB, 100)
        assert main.open(path, method=method, json=document).status_code < 300
        assert redis.client.ttl("project-stub:") == -1
    redis.client.expire(JOB, DAY - 30)
    assert names(other) == ["again"]
    assert redis.client.ttl(JOB) <= DAY - 30  # a read renews it once a minute
    redis.client.delete(JOB)
    assert names(other) == SAMPLE_NAMES


def test_the_worlds_of_other_programs_are_listed(programs: list[Flask]) -> None:
    control_client_of(programs[0], "dev-token.a").post("/v1/projects", json={"name": "a"})
    listed = control_client_of(programs[1]).get("/_stub/worlds").json["worlds"]
    assert listed == [
        {"name": "", "projects": 3, "requests": 0},
        {"name": "a", "projects": 4, "requests": 0},
    ]


def test_the_records_of_a_world_that_made_room_are_still_there(redis: RedisServer) -> None:
    program = make_stub(stores=RedisStores(redis.url), max_worlds=1)
    for name in "ab":
        client = control_client_of(program, f"dev-token.{name}")
        client.post("/v1/projects", json={"name": name})
    assert names(control_client_of(program, "dev-token.a")) == ["a"]
