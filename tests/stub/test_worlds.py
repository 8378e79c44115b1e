"""Worlds: each begins as the sample and shares nothing."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from records import Records
from store import MemoryStore, StoreUnavailable
from tests.conftest import (
    SAMPLE_NAMES,
    Clock,
    client_of,
    control_client_of,
    names,
    seed_of,
)
from tests.contract import assert_invalid, assert_problem
from tests.stub.conftest import entries, in_thread, interrupted, snapshot, status_of, stub_of


def test_a_world_begins_as_the_sample_and_is_its_own(
    stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    one, two = world("job-42"), world("job_43")
    one.post("/v1/projects", json={"name": "mine"})
    one.post("/_stub/clock", json={"advance": 100})
    one.post("/_stub/faults", json={"status": 503})
    assert names(two) == names(stub) == SAMPLE_NAMES
    assert_problem(one.get("/v1/projects"), 503, "injected_fault")
    assert names(one) == [*SAMPLE_NAMES, "mine"]
    assert len(one.get("/_stub/requests").json["requests"]) == 3
    assert len(two.get("/_stub/requests").json["requests"]) == 1
    assert two.get("/_stub/coverage").json["operations"]["createProject"]["201"] == 0


def test_tokens_share_the_world_of_a_name() -> None:
    app = create_app(tokens=["one", "two", "three.a"])
    control_client_of(app, "one.x").post("/v1/projects", json={"name": "mine"})
    assert names(control_client_of(app, "two.x")) == ["mine"]
    assert names(control_client_of(app, "three.a.x")) == ["mine"]
    assert names(control_client_of(app, "three.a")) == []


def test_an_invalid_world_name_is_an_invalid_token(app: Flask) -> None:
    for token in (
        "dev-token.", "dev-token..a", "dev-token.a.b", "dev-token.a b", "dev-token.é",
        "dev-token.a/b", "dev-token.a\n", f"dev-token.{65 * 'a'}", "dev.token", ".a", "a.a",
    ):  # fmt: skip
        client = client_of(app, f"Bearer {token}")
        assert_problem(client.get("/v1/projects"), 401, "token_invalid")


def test_worlds_have_a_bound_and_a_bare_reset_frees_one(
    full_app: Flask, stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    for path in ("/v1/projects", "/v1/nope", "/_stub/requests"):
        assert_problem(world("more").get(path), 507, "too_many_worlds")
    seeded = world("more").post("/_stub/reset", json={})
    assert_problem(seeded, 507, "too_many_worlds")
    assert world("more").post("/_stub/reset").status_code == 204
    assert_problem(world("more").get("/v1/projects"), 507, "too_many_worlds")
    assert names(world("3")) == names(stub) == SAMPLE_NAMES
    assert world("3").post("/_stub/reset").status_code == 204
    assert names(world("more")) == SAMPLE_NAMES


def test_a_failed_reset_makes_no_world(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(MemoryStore):
        def reset(self, records: Records | None = None) -> None:
            if records is not None:
                raise StoreUnavailable
            super().reset()

    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 1)
    app = create_app(new_store=Failing)
    for name in ("one", "two"):
        response = control_client_of(app, f"dev-token.{name}").post("/_stub/reset", json={})
        assert_problem(response, 503, "store_unavailable")
    assert names(control_client_of(app, "dev-token.three")) == []


INVALID = [
    ("PUT", "deployments/x", {"status": 1}, "/status"),
    ("POST", "pact", {"state": "a project exists", "params": {"name": 1}}, "/params/name"),
    ("POST", "pact", {"state": "a deployment exists", "params": {"status": 1}}, "/params/status"),
    ("POST", "clock", {"advance": -1}, "/advance"),
    ("POST", "faults", {}, ""),
    ("PUT", "grease", {}, "/axes"),
    ("POST", "reset", {"a": 1}, "/a"),
]


def test_an_invalid_control_request_makes_no_world(app: Flask, stub: FlaskClient) -> None:
    invalid = control_client_of(app, "dev-token.invalid")
    assert_problem(invalid.post("/_stub/pact", json={"state": "nope"}), 404, "not_found")
    for method, path, document, pointer in INVALID:
        response = invalid.open(f"/_stub/{path}", method=method, json=document)
        assert_invalid(response, pointer)
    assert [each["name"] for each in listed(stub)["worlds"]] == [""]


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
    app = create_app()
    created = {"operation": "createProject", "status": 201}

    def reset_before(line: int) -> bool:
        """Reset a world before this line of a request; return whether the line was reached."""
        client = control_client_of(app, f"dev-token.{line}")
        resets: list[Any] = []

        def interrupt(current: int) -> None:
            if current == line:
                resets.extend(in_thread(lambda: client.post("/_stub/reset"), 20)[1])

        with interrupted(interrupt, "steps.py"):
            assert client.post("/v1/projects", json={"name": "mine"}).status_code == 201
        found = [{name: entry[name] for name in created} for entry in entries(client)]
        assert found == [created] * names(client).count("mine"), line
        return bool(resets)

    requests = next(line for line in itertools.count() if not reset_before(line)) + 1
    assert requests > 20
    verdict = stub_of(app).judge()
    assert verdict.document(0)["operations"]["createProject"]["201"] == requests


def test_a_clock_is_advanced_for_one_world(
    stub: FlaskClient, world: Callable[[str], FlaskClient], clock: Clock
) -> None:
    created = stub.post("/v1/projects", json={"name": "a"}).json["latest_deployment_id"]
    response = stub.post("/_stub/clock", json={"advance": 2})
    assert response.json == {"now": "2026-11-21T10:00:02.000Z", "frozen": False}
    assert status_of(stub, created) == "building"
    stub.post("/_stub/clock", json={"advance": 1.999})
    assert status_of(stub, created) == "building"
    stub.post("/_stub/clock", json={"advance": 0.001})
    assert status_of(stub, created) == "succeeded"
    now = world("w").post("/_stub/clock", json={"advance": 0}).json["now"]
    assert now == "2026-11-21T10:00:00.000Z"
    clock.advance(60)
    assert stub.post("/_stub/clock", json={"advance": 0}).json["now"] == "2026-11-21T10:01:04.000Z"


def test_a_clock_is_advanced_by_at_most_ten_years(stub: FlaskClient) -> None:
    ten_years = 3653 * 86400
    assert stub.post("/_stub/clock", json={"advance": ten_years}).status_code == 200
    for more in (0.001, ten_years, 1e300, 10**308):
        assert_invalid(stub.post("/_stub/clock", json={"advance": more}), "/advance")
    response = stub.post("/_stub/clock", json={"x": 1, "advance": 1})
    assert_invalid(response, "/x")
    response = stub.post("/_stub/clock", json={"advance": 0})
    assert response.json["now"] == "2036-11-21T10:00:00.000Z"


def test_a_malformed_header_counts_in_the_world_that_it_names() -> None:
    for header in (
        "bearer dev-token.job",
        "Bearer  dev-token.job",
        "Bearer\tdev-token.job",
        "Bearer dev-token.job, again",
        'Bearer token="dev-token.job"',
        "dev-token.job",
        "bearer sec=.job",
    ):
        app = create_app(tokens=["dev-token", "sec="])
        assert client_of(app, header).get("/v1/projects").status_code == 401
        for token, count in (("dev-token", 0), ("dev-token.job", 1)):
            assert len(entries(control_client_of(app, token))) == count, header


def test_a_malformed_header_counts_in_the_main_world_when_there_is_no_room(
    full_app: Flask,
) -> None:
    control_client_of(full_app).post("/_stub/reset")
    for header in ("bearer dev-token.job", "bearer unknown.job", "Bearer dev-token.a/b"):
        assert client_of(full_app, header).get("/v1/projects").status_code == 401
    statuses = [entry["status"] for entry in entries(control_client_of(full_app))]
    assert statuses == [401, 401, 401]


def listed(client: FlaskClient) -> Any:
    return client.get("/_stub/worlds").json


def test_the_worlds_are_listed(stub: FlaskClient, world: Callable[[str], FlaskClient]) -> None:
    main = {"name": "", "projects": 3, "requests": 0}
    assert listed(world("unused")) == {"worlds": [main], "room": 1000}
    for name in ("b", "a", "b"):
        world(name).post("/v1/projects", json={"name": "shop"})
    world("a").delete("/_stub/requests")
    world("0").post("/_stub/reset", json={})
    assert listed(stub) == {
        "worlds": [
            main,
            {"name": "0", "projects": 0, "requests": 0},
            {"name": "a", "projects": 4, "requests": 1},
            {"name": "b", "projects": 4, "requests": 2},
        ],
        "room": 997,
    }
    stub.get("/v1/projects")
    stub.post("/_stub/reset")
    world("b").post("/_stub/reset")
    assert [each["name"] for each in listed(stub)["worlds"]] == ["", "0", "a"]
    assert (listed(stub)["worlds"][0], listed(stub)["room"]) == (main, 998)


def test_the_list_of_worlds_needs_a_token_and_has_none() -> None:
    app = create_app(tokens=["dev-token", "job-5"])
    control_client_of(app, "dev-token.job-5").get("/v1/projects")
    assert_problem(app.test_client().get("/_stub/worlds"), 401, "token_missing")
    assert [each["name"] for each in listed(control_client_of(app))["worlds"]] == ["", "***"]


def test_a_moving_deployment_of_the_seed_starts_with_its_world(clock: Clock) -> None:
    timeline = [{"status": "queued", "seconds": 5}, {"status": "failed"}]
    document = {"projects": [{"name": "a"}], "deployments": [{"id": "d", "timeline": timeline}]}
    app = create_app(clock=clock, seed=seed_of(document))

    def seen(token: str) -> list[str]:
        client = control_client_of(app, token)
        (project,) = client.get("/v1/projects").json["projects"]
        ids = ("d", project["latest_deployment_id"])
        return [client.get(f"/v1/deployments/{each}").json["status"] for each in ids]

    assert seen("dev-token") == ["queued", "queued"]
    clock.advance(6)
    assert seen("dev-token") == ["failed", "succeeded"]
    assert seen("dev-token.new") == ["queued", "queued"]
    control_client_of(app).post("/_stub/reset")
    assert seen("dev-token") == ["queued", "queued"]
