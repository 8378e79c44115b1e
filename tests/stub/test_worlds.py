"""Worlds come and go as they are used; the recorded table has what each shows."""

import gc
import weakref

import pytest
from flask import Flask
from flask.testing import FlaskClient

from store import StoreUnavailable
from stub.store import Records, WorldStore
from stub.tokens import WorldName
from tests.conftest import Clock, control_client_of, make_stub, names
from tests.contract import assert_problem
from tests.stores import StoresOf
from tests.stub.conftest import Clients, verdict_of, worlds_of


@pytest.fixture
def app(clock: Clock) -> Flask:
    tokens = ["team-a=one", "team-b=two"]
    return make_stub(tokens=tokens, clock=clock, max_worlds=2, max_faults=2)


@pytest.fixture
def of(app: Flask) -> Clients:
    return lambda token: control_client_of(app, token)


def listed(client: FlaskClient) -> list[str]:
    return [each["name"] for each in client.get("/_stub/worlds").json["worlds"]]


def test_the_report_names_the_tenant(app: Flask, of: Clients) -> None:
    client = of("one.job")
    client.get("/v1/projects?page=2")
    client.get("/v1/unknown")
    document = verdict_of(app, ["unpromised", "violations"]).document(1)
    assert document["unpromised"][0]["world"] == "team-a/job"
    assert [each["first"]["world"] for each in document["findings"]] == 2 * ["team-a/job"]


def test_the_report_has_only_the_last_unused_faults_of_worlds_that_ended(
    app: Flask, of: Clients
) -> None:
    for status in (501, 502, 503):
        of("one.a").post("/_stub/faults", json={"status": status})
        of("one.a").post("/_stub/reset")
    unused = verdict_of(app).document(0)["unused_faults"]
    assert [each["what"][-3:] for each in unused] == ["502", "503"]


def test_worlds_are_freed_at_once_if_nobody_uses_them(of: Clients, clock: Clock) -> None:
    for token in ("one", "one.a", "one.b", "two.a"):
        of(token).post("/v1/projects", json={"name": "x"})
    clock.advance(60)
    of("one.b").get("/v1/projects")
    clock.advance(3)
    for idle, left in ((64, ["", "a", "b"]), (63, ["", "b"]), (0, [""])):
        assert of("one").delete(f"/_stub/worlds?idle={idle}").status_code == 204
        assert listed(of("one")) == left
    assert listed(of("two")) == ["", "a"]
    assert names(of("one")) == ["x"]
    assert names(of("one.a")) == []


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


def test_a_failed_reset_makes_no_world() -> None:
    class Failing(WorldStore):
        def reset(self, records: Records | None = None) -> None:
            if records is not None:
                raise StoreUnavailable
            super().reset()

    app = make_stub(stores=StoresOf(Failing))
    response = control_client_of(app, "dev-token.one").post("/_stub/reset", json={})
    assert_problem(response, 503, "store_unavailable")
    assert listed(control_client_of(app)) == [""]


def test_a_reset_makes_no_world_if_another_took_the_last_room_meanwhile() -> None:
    def new_id(prefix: str) -> str:
        control_client_of(full, "dev-token.other").get("/v1/projects")
        return f"{prefix}_1"

    full = make_stub(max_worlds=1, new_id=new_id)
    client = control_client_of(full, "dev-token.one")
    response = client.post("/_stub/reset", json={"projects": [{"name": "a"}]})
    assert_problem(response, 507, "too_many_worlds")
    assert listed(control_client_of(full)) == ["", "other"]
