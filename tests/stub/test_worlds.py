"""Worlds: each begins as the sample and shares nothing."""

import itertools
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from store import StoreUnavailable
from stub.store import Records, WorldStore
from tests.conftest import (
    SAMPLE_NAMES,
    Clock,
    client_of,
    control_client_of,
    make_stub,
    names,
    seed_of,
)
from tests.contract import CREATED, assert_invalid, assert_problem
from tests.stores import StoresOf
from tests.stub.conftest import (
    Clients,
    entries,
    in_thread,
    interrupted,
    snapshot,
    status_of,
    verdict_of,
)


def listed(client: FlaskClient) -> Any:
    return client.get("/_stub/worlds").json


def test_worlds_have_a_bound_and_a_reset_frees_one(full_app: Flask, world: Clients) -> None:
    for path in ("/v1/projects", "/v1/nope", "/_stub/requests"):
        assert_problem(world("more").get(path), 507, "too_many_worlds")
    assert_problem(world("more").post("/_stub/reset", json={}), 507, "too_many_worlds")
    assert world("more").post("/_stub/reset").status_code == 204
    assert_problem(world("more").get("/v1/projects"), 507, "too_many_worlds")
    assert names(world("3")) == SAMPLE_NAMES
    assert world("3").post("/_stub/reset").status_code == 204
    assert names(world("more")) == SAMPLE_NAMES


def test_a_failed_reset_makes_no_world() -> None:
    class Failing(WorldStore):
        def reset(self, records: Records | None = None) -> None:
            if records is not None:
                raise StoreUnavailable
            super().reset()

    app = make_stub(stores=StoresOf(Failing))
    response = control_client_of(app, "dev-token.one").post("/_stub/reset", json={})
    assert_problem(response, 503, "store_unavailable")
    assert [each["name"] for each in listed(control_client_of(app))["worlds"]] == [""]


def test_reset_takes_a_world_back_to_its_start(stub: FlaskClient, clock: Clock) -> None:
    before = snapshot(stub)
    stub.post("/v1/projects", json={"name": "mine"})
    stub.put("/_stub/deployments/dpl_x", json={"status": "failed"})
    stub.post("/_stub/clock", json={"advance": 1000})
    stub.post("/_stub/faults", json={"status": 503, "times": None})
    response = stub.post("/_stub/reset")
    assert (response.status_code, response.data) == (204, b"")
    assert "Content-Type" not in response.headers
    assert response.headers["Cache-Control"] == "no-store"
    assert stub.get("/_stub/requests").json == {"requests": [], "last": 0, "dropped": 0}
    assert stub.get("/_stub/coverage").json["met"] == 0
    assert snapshot(stub) == before
    created = stub.post("/v1/projects", json={"name": "a"}).json
    assert created["created_at"] == "2026-11-21T10:00:00.000Z"


def test_a_request_stays_in_the_world_that_it_entered() -> None:
    """A reset comes before each step of a request: it is in the new world whole, or not at all."""
    app = make_stub()
    created = {"operation": "createProject", "status": CREATED}

    def reset_before(line: int) -> bool:
        """Reset a world before this line of a request; return whether the line was reached."""
        client = control_client_of(app, f"dev-token.{line}")
        resets: list[Any] = []

        def interrupt(current: int) -> None:
            if current == line:
                resets.extend(in_thread(lambda: client.post("/_stub/reset"), 20)[1])

        with interrupted(interrupt, "steps.py"):
            assert client.post("/v1/projects", json={"name": "mine"}).status_code == CREATED
        found = [{name: entry[name] for name in created} for entry in entries(client)]
        assert found == [created] * names(client).count("mine"), line
        return bool(resets)

    requests = next(line for line in itertools.count() if not reset_before(line)) + 1
    assert requests > 20
    verdict = verdict_of(app)
    assert verdict.document(0)["operations"]["createProject"][str(CREATED)] == requests


def test_a_clock_can_be_frozen_advanced_and_released(stub: FlaskClient, clock: Clock) -> None:
    def turn(**document: Any) -> tuple[str, bool]:
        shown = stub.post("/_stub/clock", json=document).json
        assert stub.get("/_stub/clock").json == shown
        return shown["now"][11:19], shown["frozen"]

    assert turn(frozen=True) == ("10:00:00", True)
    clock.advance(100)
    assert turn(advance=5) == ("10:00:05", True)
    assert turn(advance=0.996, frozen=True) == ("10:00:05", True)
    assert turn(advance=1.004, frozen=False) == ("10:00:07", False)
    clock.advance(10)
    assert turn() == ("10:00:17", False)
    assert turn(advance=3, frozen=True) == ("10:00:20", True)


def test_a_clock_is_advanced_by_at_most_ten_years(stub: FlaskClient) -> None:
    ten_years = 3653 * 86400
    assert stub.post("/_stub/clock", json={"advance": ten_years}).status_code == 200
    assert_invalid(stub.post("/_stub/clock", json={"advance": 0.001}), "/advance")
    assert stub.get("/_stub/clock").json["now"] == "2036-11-21T10:00:00.000Z"


def test_a_malformed_header_counts_in_the_world_that_it_names(full_app: Flask) -> None:
    for header, world in (
        ("bearer dev-token.4", ".4"),
        ("Bearer  dev-token.4", ".4"),
        ("Bearer dev-token.4, again", ".4"),
        ('Bearer token="dev-token.4"', ".4"),
        ("dev-token.4", ".4"),
        ("bearer dev-token.more", ""),
        ("bearer unknown.4", ""),
        ("Bearer dev-token.a/b", ""),
    ):
        clients = {each: control_client_of(full_app, f"dev-token{each}") for each in ("", ".4")}
        before = {each: len(entries(client)) for each, client in clients.items()}
        assert client_of(full_app, header).get("/v1/projects").status_code == 401
        after = {each: len(entries(client)) for each, client in clients.items()}
        assert after == before | {world: before[world] + 1}, header


def test_a_world_behind_an_equals_sign_counts_what_names_it() -> None:
    app = make_stub(tokens=["abc=="])
    assert client_of(app, "bearer abc==.job").get("/v1/projects").status_code == 401
    found = [len(entries(control_client_of(app, each))) for each in ("abc==", "abc==.job")]
    assert found == [0, 1]


def test_the_worlds_are_listed(stub: FlaskClient, world: Clients) -> None:
    main = {"name": "", "projects": 3, "requests": 0}
    assert listed(world("unused")) == {"worlds": [main], "room": 1000}
    for name in ("b", "a", "b"):
        world(name).post("/v1/projects", json={"name": "shop"})
    world("a").delete("/_stub/requests")
    world("0").post("/_stub/reset", json={})
    others = [("0", 0, 0), ("a", 4, 1), ("b", 4, 2)]
    assert listed(stub) == {
        "worlds": [main, *(dict(zip(main, each, strict=True)) for each in others)],
        "room": 997,
    }
    for client in (stub, world("b")):
        client.post("/_stub/reset")
    assert [each["name"] for each in listed(stub)["worlds"]] == ["", "0", "a"]
    assert listed(stub)["room"] == 998


def test_a_moving_deployment_of_the_seed_starts_with_its_world(clock: Clock) -> None:
    timeline = [{"status": "queued", "seconds": 5}, {"status": "failed"}]
    document = {"deployments": [{"id": "d", "timeline": timeline}]}
    app = make_stub(clock=clock, seed=seed_of(document))
    main, other = control_client_of(app), control_client_of(app, "dev-token.new")
    assert status_of(main, "d") == "queued"
    clock.advance(6)
    assert [status_of(each, "d") for each in (main, other)] == ["failed", "queued"]
    main.post("/_stub/reset")
    assert status_of(main, "d") == "queued"
