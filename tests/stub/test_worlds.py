"""Worlds come and go as they are used; the recorded table has what each shows."""

import gc
import weakref

import pytest
from flask import Flask
from flask.testing import FlaskClient

from store import StoreUnavailable
from stub.world.store import Records, WorldStore
from tests.conftest import control_client_of, make_stub, names
from tests.contract import assert_problem
from tests.stores import StoresOf
from tests.stub.conftest import Clients, worlds_of


@pytest.fixture
def app() -> Flask:
    return make_stub(max_worlds=2)


def listed(client: FlaskClient) -> list[str]:
    return [each["name"] for each in client.get("/_stub/worlds").json["worlds"]]


def test_the_least_recently_used_world_makes_room_and_never_the_main_one(
    stub: FlaskClient, world: Clients
) -> None:
    for client in (stub, world("a"), world("b")):
        client.post("/v1/projects", json={"name": "x"})
    world("a").get("/v1/projects")
    world("c").get("/_stub/clock")
    assert listed(stub) == ["", "a", "c"]
    assert names(stub) == ["x"]
    assert names(world("a")) == ["x"]
    world("d").post("/_stub/reset", json={})
    assert listed(stub) == ["", "a", "d"]
    assert names(world("b")) == []


def test_nothing_of_a_removed_world_is_kept(app: Flask, world: Clients) -> None:
    def reset() -> None:
        world("a").post("/_stub/reset")

    def need_room() -> None:
        for name in "bc":
            world(name).get("/v1/projects")

    for remove in (reset, need_room):
        world("a").post("/v1/projects", json={"name": "a"})
        removed = weakref.ref(worlds_of(app).open("a"))
        remove()
        gc.collect()  # werkzeug's requests refer to themselves
        assert removed() is None


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
