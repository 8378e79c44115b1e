"""Tenants: tokens with a name have worlds of their own, which come and go as they are used."""

import gc
import threading
import weakref
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from stub.tokens import WorldName
from tests.conftest import Clock, control_client_of, in_parallel, make_stub, names
from tests.contract import CREATED, assert_problem
from tests.stub.conftest import Clients, coverage, entries, verdict_of, worlds_of

TOKENS = ["team-a=one", "team-a=new-one", "team-b=two", "plain", "other", "dotted.name"]


@pytest.fixture
def app(clock: Clock) -> Flask:
    return make_stub(tokens=TOKENS, clock=clock)


@pytest.fixture
def of(app: Flask) -> Clients:
    return lambda token: control_client_of(app, token)


def listed(client: FlaskClient) -> list[str]:
    return [each["name"] for each in client.get("/_stub/worlds").json["worlds"]]


def test_a_world_shares_nothing_with_others(of: Clients) -> None:
    one = of("one.job")
    one.post("/v1/projects", json={"name": "mine"})
    one.post("/_stub/clock", json={"advance": 100})
    one.post("/_stub/faults", json={"status": 503})
    for other in map(of, ("one", "one.b", "two", "two.job", "plain", "plain.job")):
        assert names(other) == []
        assert other.get("/_stub/faults").json == {"faults": []}
        assert other.get("/_stub/clock").json["now"] == "2026-11-21T10:00:00.000Z"
        assert [entry["method"] for entry in entries(other)] == ["GET"]
        assert coverage(other)["operations"]["createProject"][str(CREATED)] == 0
        assert other.get("/_stub/verdict?fail_on=unused-faults").json["findings"] == []
        other.post("/_stub/reset", json={"projects": [{"name": "theirs"}]})
    for token in ("two", "plain"):
        of(token).delete("/_stub/worlds?idle=0")
    assert_problem(one.get("/v1/projects"), 503, "injected_fault")
    assert names(one) == ["mine"]


def test_tokens_of_one_tenant_share_its_worlds(of: Clients) -> None:
    of("one.job").post("/v1/projects", json={"name": "a"})
    of("plain.job").post("/v1/projects", json={"name": "b"})
    assert names(of("new-one.job")) == ["a"]
    assert names(of("other.job")) == names(of("dotted.name.job")) == ["b"]
    assert names(of("dotted.name")) == []


def test_a_tenant_lists_its_own_worlds(of: Clients) -> None:
    for token in ("one.a", "one.b", "two.c", "plain.d"):
        of(token).get("/v1/projects")
    assert [listed(of(token)) for token in ("one", "two.c", "plain")] == [
        ["", "a", "b"],
        ["", "c"],
        ["", "d"],
    ]
    assert of("one").get("/_stub/worlds").json["room"] == 998


def test_the_log_the_report_and_the_console_name_the_tenant(app: Flask) -> None:
    client = control_client_of(app, "one.job")
    client.get("/v1/projects?page=2")
    client.get("/v1/unknown")
    shown = client.get("/_stub/console").json
    assert (shown["tenant"], shown["world"]) == ("team-a", "job")
    document = verdict_of(app, ["unpromised", "violations"]).document(1)
    assert document["unpromised"][0]["world"] == "team-a/job"
    assert [each["first"]["world"] for each in document["findings"]] == 2 * ["team-a/job"]


def test_each_tenant_has_room_of_its_own(of: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 2)
    for token in ("one.a", "one.b", "two.a"):
        assert names(of(token)) == []
    assert_problem(of("new-one.c").get("/v1/projects?own=1"), 507, "too_many_worlds")
    assert [entry["query"] for entry in entries(of("one"))] == ["own=1"]
    assert entries(of("plain")) == []
    assert names(of("one")) == names(of("two.b")) == names(of("plain.a")) == []


@pytest.fixture
def two_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 2)


@pytest.mark.usefixtures("two_worlds")
def test_the_world_that_is_unused_for_longest_makes_room_after_an_hour(
    app: Flask, clock: Clock, of: Clients
) -> None:
    of("one.a").get("/v1/projects?page=1")
    of("one.a").post("/_stub/faults", json={"status": 503})
    of("one.b").get("/v1/projects")
    clock.advance(1)
    of("one.a").get("/_stub/faults")  # a use
    clock.advance(3598)
    problem = assert_problem(of("one.c").get("/v1/projects"), 507, "too_many_worlds")
    assert problem["detail"].startswith("There are 2 worlds, and each was used in the last hour. ")
    clock.advance(1)
    of("one").get("/_stub/worlds")  # no use of those that it lists
    of("one.c").get("/v1/projects")
    assert listed(of("one")) == ["", "a", "c"]
    clock.advance(3600)
    of("one.d").get("/v1/projects")
    assert listed(of("one")) == ["", "c", "d"]
    report = verdict_of(app, ["unused-faults"]).document(1)
    assert report["operations"]["listProjects"]["200"] == 4  # what has ended is counted
    assert report["unpromised"][0]["count"] == 1
    assert len(report["findings"]) == 1


@pytest.mark.usefixtures("two_worlds")
def test_the_time_after_which_a_world_makes_room_can_be_set(clock: Clock) -> None:
    app = make_stub(clock=clock, world_idle=10)
    for name in "ab":
        assert names(control_client_of(app, f"dev-token.{name}")) == []
    clock.advance(9)
    problem = control_client_of(app, "dev-token.c").post("/_stub/reset", json={})
    assert "in the last 10 seconds." in assert_problem(problem, 507, "too_many_worlds")["detail"]
    clock.advance(1)
    assert names(control_client_of(app, "dev-token.c")) == []


@pytest.mark.usefixtures("two_worlds")
def test_a_rejected_request_removes_no_world(app: Flask, clock: Clock, of: Clients) -> None:
    for token in ("one.a", "one.b"):
        of(token).get("/v1/projects")
    clock.advance(3600)
    client = control_client_of(app)
    client.environ_base["HTTP_AUTHORIZATION"] = "bearer one.c"
    assert client.get("/v1/projects").status_code == 401
    assert listed(of("one")) == ["", "a", "b"]
    assert [entry["status"] for entry in entries(of("one"))] == [401]


def test_worlds_are_freed_at_once_if_nobody_uses_them(of: Clients, clock: Clock) -> None:
    for token in ("one", "one.a", "one.b", "two.a"):
        of(token).post("/v1/projects", json={"name": "x"})
    clock.advance(60)
    of("one.b").get("/v1/projects")
    clock.advance(3)
    assert of("one").delete("/_stub/worlds?idle=64").status_code == 204
    assert listed(of("one")) == ["", "a", "b"]
    assert of("one").delete("/_stub/worlds?idle=63").status_code == 204
    assert listed(of("one")) == ["", "b"]
    assert of("one").delete("/_stub/worlds?idle=0").status_code == 204
    assert [listed(of(token)) for token in ("one", "two")] == [[""], ["", "a"]]
    assert names(of("one")) == ["x"]
    assert names(of("one.a")) == []


@pytest.mark.usefixtures("two_worlds")
def test_nothing_of_a_removed_world_is_kept(app: Flask, clock: Clock, of: Clients) -> None:
    def reset() -> None:
        of("one.a").post("/_stub/reset")

    def free() -> None:
        of("one").delete("/_stub/worlds?idle=0")

    def need_room() -> None:
        clock.advance(3600)
        of("one.b").get("/v1/projects")
        of("one.c").get("/v1/projects")

    for remove in (reset, free, need_room):
        of("one.a").post("/v1/projects", json={"name": "a"})
        world = weakref.ref(worlds_of(app).open(WorldName("team-a", "a")))
        remove()
        gc.collect()  # werkzeug's requests refer to themselves
        assert world() is None


def test_one_tenant_leaves_room_in_the_report_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stub.coverage.MAX_KINDS", 3)
    app = make_stub(tokens=TOKENS)
    for token, number in (("one", 5), ("two", 2)):
        for parameter in range(number):
            control_client_of(app, token).get(f"/v1/projects?{token}{parameter}=1")
    rows = verdict_of(app).document(0)["unpromised"]
    shown = {each["what"].split()[-1]: each["count"] for each in rows}
    assert shown == {"one0": 1, "one1": 1, "one2": 1, "others": 2, "two0": 1, "two1": 1}


def test_twenty_tenants_at_once_do_not_meet() -> None:
    tenants = [f"team-{number}" for number in range(20)]
    app = make_stub(tokens=[f"{each}=secret-of-{each}" for each in tenants])
    begun = threading.Barrier(len(tenants))

    def work(tenant: str) -> list[Any]:
        begun.wait()
        for world in ("", ".a", ".b"):
            client = control_client_of(app, f"secret-of-{tenant}{world}")
            for number in range(5):
                client.post("/v1/projects", json={"name": f"{tenant}-{number}"})
            client.post("/_stub/faults", json={"status": 418 if world else 503, "times": 1})
            client.get("/v1/projects")
        control_client_of(app, f"secret-of-{tenant}.b").post("/_stub/reset")
        main = control_client_of(app, f"secret-of-{tenant}")
        main.delete("/_stub/worlds?idle=100000")
        return [names(main), len(entries(main)), listed(main)]

    results = in_parallel([partial(work, tenant) for tenant in tenants])
    for tenant, found in zip(tenants, results, strict=True):
        assert found == [[f"{tenant}-{number}" for number in range(5)], 7, ["", "a"]]
