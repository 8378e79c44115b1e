"""Programs that share a Redis server."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from records import Deployment, Records, Stage
from redis_store import connect
from store import utc_now
from stub import StubOptions
from stub.clock import WorldClock
from stub.worlds import WorldStore
from tests.conftest import (
    SAMPLE_NAMES,
    Clock,
    client_of,
    control_client_of,
    in_parallel,
    names,
    seed_of,
)
from tests.program import run
from tests.redis_server import RedisServer, app_on
from tests.stores import records_of
from tests.wire import call

pytestmark = pytest.mark.process


def test_of_two_programs_that_create_one_name_one_does(two: list[FlaskClient]) -> None:
    for number in range(50):
        document = {"name": f"n{number}"}
        posts = [partial(client.post, "/v1/projects", json=document) for client in two]
        assert sorted(each.status_code for each in in_parallel(posts)) == [201, 409]
    first, second = (client.get("/v1/projects").data for client in two)
    assert first == second
    assert names(two[0]) == [*SAMPLE_NAMES, *(f"n{number}" for number in range(50))]


def test_the_records_survive_the_program(shared_redis: RedisServer, clock: Clock) -> None:
    shared_redis.clear()
    client = client_of(app_on(shared_redis.url, clock))
    text = '{"name": "shop", "n": [1.10, -0, 12345678901234567890], "o": {"z": "\\u0061"}}'
    client.post("/v1/projects", data=text, content_type="application/json")
    before = client.get("/v1/projects").data
    assert b'[1.10, -0, 12345678901234567890], "o": {"z": "\\u0061"}' in before
    assert client_of(app_on(shared_redis.url, clock)).get("/v1/projects").data == before


def test_a_socket_of_the_file_system_is_a_server_too(
    shared_redis: RedisServer, clock: Clock
) -> None:
    shared_redis.clear()
    client = client_of(app_on(f"unix://{shared_redis.socket}", clock))
    assert client.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert names(client_of(app_on(shared_redis.url, clock))) == [*SAMPLE_NAMES, "a"]


def test_without_the_stub_the_records_are_in_the_main_world(shared_redis: RedisServer) -> None:
    shared_redis.clear()

    def create(url: str) -> None:
        assert call(url, "/v1/projects", body=b'{"name": "a"}').status_code == 201

    def look(url: str) -> None:
        listed = call(url, "/v1/projects").json["projects"]
        assert [each["name"] for each in listed] == [*SAMPLE_NAMES, "a"]

    run("--store", shared_redis.url, "--no-stub", during=create)
    run("--store", shared_redis.url, during=look)


def test_a_change_by_one_program_is_seen_by_the_other(two: list[FlaskClient]) -> None:
    one, other = two
    for number, client in enumerate([one, other, one]):
        client.post("/v1/projects", json={"name": f"p{number}"})
        assert one.get("/v1/projects").data == other.get("/v1/projects").data
    one.put("/_stub/deployments/x", json={"status": "failed", "project_id": "prj_website"})
    assert other.get("/v1/deployments/x").json["status"] == "failed"
    assert b'"latest_deployment_id": "x"' in other.get("/v1/projects").data
    other.post("/_stub/reset", json={"projects": [{"name": "a"}]})
    assert names(one) == ["a"]
    one.post("/_stub/pact", json={"state": "no projects exist"})
    assert names(other) == []
    assert one.get("/_stub/state").data == other.get("/_stub/state").data


def test_the_clock_that_one_program_turned_is_that_of_the_other(
    two: list[FlaskClient], clock: Clock
) -> None:
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


def test_an_older_setting_of_a_clock_does_not_undo_a_newer_one(
    shared_redis: RedisServer,
) -> None:
    shared_redis.clear()
    clock = connect(shared_redis.url, threads=1).share_clock(WorldClock(Clock()), "w")
    assert clock.change(5, freeze=None)
    clock.remember("", b"")  # which was read before
    assert clock.advanced == 5


def test_a_clock_may_be_turned_before_its_world_begins(two: list[FlaskClient]) -> None:
    assert two[0].post("/_stub/clock", json={"advance": 60}).status_code == 200
    assert names(two[1]) == SAMPLE_NAMES
    made = two[1].post("/v1/projects", json={"name": "a"}).json
    assert made["created_at"] == "2026-11-21T10:01:00.000Z"


class HeldClock(Clock):
    """Tells the time, and before its caller uses it, something else happens."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def __call__(self) -> datetime:
        told, meanwhile, self.meanwhile = self.now, self.meanwhile, None
        if meanwhile:
            self.advance(0.5)
            meanwhile()
        return told


def test_what_another_program_created_meanwhile_precedes_a_provider_state(
    shared_redis: RedisServer,
) -> None:
    shared_redis.clear()
    clock = HeldClock()
    options = StubOptions(states={"shop": seed_of({"projects": [{"name": "late"}]})})
    app = create_app(
        clock=clock, new_store=connect(shared_redis.url, threads=4), stub_options=options
    )
    one, other = control_client_of(app), control_client_of(app_on(shared_redis.url, clock))
    assert names(one) == []

    def create_at_the_next_time() -> None:
        clock.meanwhile = lambda: other.post("/v1/projects", json={"name": "sooner"})

    clock.meanwhile = create_at_the_next_time  # the first time is that of a list
    assert one.post("/_stub/pact", json={"state": "shop"}).status_code == 200
    assert names(other) == ["sooner", "late"]


@pytest.mark.parametrize(("behind", "expected"), [(0.2, ["a", "b"]), (60, ["b", "a"])])
def test_a_clock_a_little_behind_another_lets_the_list_grow_at_its_end(
    shared_redis: RedisServer, behind: float, expected: list[str]
) -> None:
    shared_redis.clear()
    on_time, late = Clock(), Clock()
    late.advance(-behind)
    one, other = (control_client_of(app_on(shared_redis.url, clock)) for clock in (on_time, late))
    for client, name in ((one, "a"), (other, "b")):
        assert client.post("/v1/projects", json={"name": name}).status_code == 201
    assert names(one)[3:] == names(other)[3:] == expected


def test_a_list_grows_at_its_end_while_programs_create(shared_redis: RedisServer) -> None:
    shared_redis.clear()
    clients = [control_client_of(app_on(shared_redis.url, utc_now)) for _ in range(3)]
    done = threading.Event()

    def create(which: int) -> None:
        for number in range(150):
            clients[which].post("/v1/projects", json={"name": f"{which} {number}"})

    def read() -> None:
        previous: list[str] = []
        while not done.is_set():
            listed = names(clients[2])
            assert listed[: len(previous)] == previous
            previous = listed

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read)
        in_parallel([partial(create, which) for which in (0, 1)])
        done.set()
        reading.result()
    assert len(names(clients[2])) == 303


CHANGES: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", "/v1/projects", {"name": "late"}),
    "put": ("PUT", "/_stub/deployments/late", {"status": "failed"}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reset", [False, True])
def test_a_time_that_was_told_before_another_change_is_told_anew(
    shared_redis: RedisServer, change: str, reset: bool
) -> None:
    shared_redis.clear()
    clock, (method, path, document) = HeldClock(), CHANGES[change]
    one = control_client_of(app_on(shared_redis.url, clock))
    other = control_client_of(app_on(shared_redis.url, clock))
    one.get("/v1/projects")

    def change_sooner() -> None:
        project = {"name": "sooner"}
        if reset:
            other.post("/_stub/reset", json={"projects": [project]})
        else:
            other.post("/v1/projects", json=project)

    clock.meanwhile = change_sooner
    made = one.open(path, method=method, json=document)
    assert made.status_code < 300
    if change == "put":
        assert made.json["created_at"] == "2026-11-21T10:00:00.500Z"
    else:
        listed = one.get("/v1/projects").json["projects"]
        assert [project["name"] for project in listed[-2:]] == ["sooner", "late"]
        assert listed[-1]["created_at"] == "2026-11-21T10:00:00.500Z"


def test_added_deployments_are_dated_after_another_change(
    redis_stores: Callable[..., WorldStore],
) -> None:
    clock = HeldClock()
    one, other = (redis_stores(clock) for _ in range(2))
    one.list_projects()
    clock.meanwhile = lambda: other.create_project("sooner", '{"name": "sooner"}')
    one.add(Records((), (Deployment("late", None, None, (Stage("failed"),)),)))
    added = one.get_deployment("late")
    assert added
    assert added.created_at == clock.now


def test_a_bare_reset_removes_the_keys_of_a_world(
    two: list[FlaskClient], shared_redis: RedisServer
) -> None:
    one, other = (control_client_of(client.application, "dev-token.job-42") for client in two)
    assert one.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert names(other)[-1] == "a"
    assert shared_redis.client.keys("{project-stub:job-42}:*")
    other.post("/_stub/reset")
    assert shared_redis.client.keys("{project-stub:job-42}*") == []
    assert names(one) == SAMPLE_NAMES


def test_a_rejected_reset_leaves_the_records_alone(two: list[FlaskClient]) -> None:
    before = two[1].get("/v1/projects").data
    assert two[0].post("/_stub/reset", json={"projects": [{}]}).status_code == 422
    assert two[1].get("/v1/projects").data == before


def test_programs_that_begin_at_once_undo_nothing(redis_stores: Callable[..., WorldStore]) -> None:
    """Each finds no records and makes them, which takes long enough for the others' creates."""
    stores = [redis_stores(records=records_of(*range(2000))) for _ in range(6)]

    def create(number: int) -> None:
        stores[number].create_project(f"made {number}", f'{{"name": "made {number}"}}')

    assert in_parallel([partial(create, number) for number in range(6)]) == 6 * [None]
    listed = [project.name for project in stores[0].list_projects()]
    assert {name for name in listed if "made" in name} == {f"made {number}" for number in range(6)}
    assert len(listed) == 2006


def test_a_program_lists_the_worlds_that_it_has_met(
    shared_redis: RedisServer, clock: Clock
) -> None:
    shared_redis.clear()
    here, there = (app_on(shared_redis.url, clock) for _ in range(2))
    for app, name in ((here, "both"), (there, "both"), (there, "there")):
        client = control_client_of(app, f"dev-token.{name}")
        client.post("/v1/projects", json={"name": str(id(app))})
    main = {"name": "", "projects": 3, "requests": 0}
    both = {"name": "both", "projects": 5, "requests": 1}
    assert control_client_of(here).get("/_stub/worlds").json == {
        "worlds": [main, both], "room": 999
    }  # fmt: skip
