"""Programs that share a Redis server: what one changes, the others see, and none undoes."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
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


def test_a_change_that_others_come_between_is_made_again_with_the_same_ids(
    redis: RedisServer,
) -> None:
    pauses: list[float] = []
    made: list[str] = []

    def come_between(_: str) -> Timeline:
        if len(made) < 50:
            made.append(f"other {len(made)}")
            other.create_project(made[-1], json.dumps({"name": made[-1]}))
        return FAILED

    stores, others = (RedisStores(redis.url, sleep=pauses.append) for _ in range(2))
    other = make_shared(others, "", utc_now, lambda prefix, *_: random_id(prefix))
    one = make_shared(stores, "", utc_now, counting_ids(), timeline_for=come_between)
    project = one.create_project("mine", '{"name": "mine"}')
    assert (project.id, project.latest_deployment_id) == ("prj_1", "dpl_2")
    assert [each.name for each in other.list_projects()] == [*made, "mine"]
    assert len(pauses) >= len(made) == 50
    assert all(0 <= pause < 1 for pause in pauses)


def test_a_change_is_unavailable_when_its_patience_is_over(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    def in_a_thread() -> None:
        with ThreadPoolExecutor() as pool:
            errors.append(pool.submit(one.remove_projects).exception())

    def come_between() -> None:
        other.create_project(random_id("name"), '{"name": "x"}')

    def interrupt(_: str) -> Timeline:
        hooks.pop()()
        return FAILED

    errors: list[BaseException | None] = []
    hooks = [come_between, in_a_thread]
    other = make_shared(RedisStores(redis.url), "", utc_now, lambda prefix, *_: random_id(prefix))
    impatient = RedisStores(redis.url, patience=0)
    one = make_shared(impatient, "", utc_now, counting_ids(), timeline_for=interrupt)
    one.create_project("first", '{"name": "first"}')
    with pytest.raises(StoreUnavailable) as raised:
        one.create_project("second", '{"name": "second"}')
    assert [type(error) for error in errors] == [StoreUnavailable]
    assert caplog.messages == [
        "project-stub: was not used: requests before this one took too long",
        "project-stub: was not changed: other programs changed it meanwhile",
    ]
    assert caplog.messages == [str(errors[0]), str(raised.value)]


def test_changes_that_wait_for_one_another_are_all_made(redis_stores: RedisStores) -> None:
    def create(name: str) -> str:
        return one.create_project(name, json.dumps({"name": name})).name

    def start_others(name: str) -> Timeline:
        if name == "first":
            others.extend(pool.submit(create, f"p{number % 16}") for number in range(32))
        return FAILED

    others: list[Future[str]] = []
    one = make_shared(redis_stores, "", utc_now, counting_ids(), timeline_for=start_others)
    with ThreadPoolExecutor(32) as pool:
        create("first")
    errors = [each.exception() for each in others]
    assert [type(error) for error in errors if error] == 16 * [NameTaken]
    made = [each.result() for each in others if not each.exception()]
    assert {*made} == {f"p{number}" for number in range(16)}
    assert {project.name for project in one.list_projects()} == {"first", *made}


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
