"""Worlds, reset, time, faults and preferences, as a test run meets them."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import CONTRACT, create_app
from stub import Options
from stub.contract import Contract
from stub.coverage import Coverage
from stub.faults import Faults
from stub.journal import Entry, Journal, MaskedRequest
from stub.seed import SAMPLE, read_seed
from stub.worlds import WorldClock, Worlds
from tests.conftest import (
    BEARER,
    START,
    Clock,
    assert_problem,
    client_of,
    control_client_of,
    in_parallel,
)

SAMPLE_NAMES = ["website", "billing", "search"]


@pytest.fixture
def stub(app: Flask) -> FlaskClient:
    return control_client_of(app)


@pytest.fixture
def world(app: Flask) -> Callable[[str], FlaskClient]:
    return lambda name: control_client_of(app, f"dev-token.{name}")


def names(client: FlaskClient) -> list[str]:
    return [project["name"] for project in client.get("/v1/projects").json["projects"]]


def status_of(client: FlaskClient, deployment_id: str) -> Any:
    return client.get(f"/v1/deployments/{deployment_id}").json["status"]


def everything(client: FlaskClient) -> list[bytes]:
    """All that a world shows of itself, but for the journal's times."""
    paths = ("/v1/projects", "/v1/deployments/dpl_x", "/_stub/faults")
    return [client.get(path).data for path in paths]


# Worlds


def test_a_world_begins_as_the_sample_and_is_its_own(
    stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    one, two = world("job-42"), world("job_43")
    one.post("/v1/projects", json={"name": "mine"})
    one.post("/_stub/clock", json={"advance": 100})
    one.post("/_stub/faults", json={"status": 503})
    assert names(two) == names(stub) == SAMPLE_NAMES
    assert one.get("/v1/projects").status_code == 503
    assert names(one) == [*SAMPLE_NAMES, "mine"]
    assert len(one.get("/_stub/requests").json["requests"]) == 3
    assert len(two.get("/_stub/requests").json["requests"]) == 1
    assert two.get("/_stub/coverage").json["operations"]["createProject"]["201"] == 0


def test_the_name_alone_names_the_world() -> None:
    app = create_app(tokens=["one", "two", "two.a"])
    control_client_of(app, "one.x").post("/v1/projects", json={"name": "mine"})
    assert names(control_client_of(app, "two.x")) == ["mine"]
    assert names(control_client_of(app, "two.a.x")) == ["mine"]
    assert names(control_client_of(app, "two.a")) == []


@pytest.mark.parametrize(
    "token",
    [
        "dev-token.",
        "dev-token..a",
        "dev-token.a.b",
        "dev-token.a b",
        "dev-token.é",
        "dev-token.a/b",
        "dev-token.a\n",
        f"dev-token.{65 * 'a'}",
        "dev.token",
        ".a",
        "a.a",
    ],
)
def test_what_names_no_world_is_an_invalid_token(app: Flask, token: str) -> None:
    client = client_of(app, f"Bearer {token}")
    assert_problem(client.get("/v1/projects"), 401, "token_invalid")


def test_1000_worlds_are_enough_and_a_bare_reset_frees_one(
    stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    for number in range(1000):
        assert world(str(number)).get("/v1/projects").status_code == 200
    for path in ("/v1/projects", "/v1/nope", "/_stub/requests"):
        assert_problem(world("more").get(path), 507, "too_many_worlds")
    seeded = world("more").post("/_stub/reset", json={})
    assert_problem(seeded, 507, "too_many_worlds")
    assert world("more").post("/_stub/reset").status_code == 204
    assert_problem(world("more").get("/v1/projects"), 507, "too_many_worlds")
    assert names(world("7")) == names(stub) == SAMPLE_NAMES
    assert world("7").post("/_stub/reset").status_code == 204
    assert names(world("more")) == SAMPLE_NAMES


def test_a_control_request_that_is_refused_makes_no_world(
    world: Callable[[str], FlaskClient],
) -> None:
    for number in range(999):
        assert world(str(number)).get("/v1/projects").status_code == 200
    for method, path, document in [
        ("PUT", "deployments/x", {"status": 1}),
        ("POST", "pact", {"state": "nope"}),
        ("POST", "pact", {"state": "a project exists"}),
        ("POST", "pact", {"state": "a deployment exists", "params": {"id": "x"}}),
        ("POST", "clock", {"advance": -1}),
        ("POST", "faults", {}),
        ("PUT", "grease", {}),
        ("POST", "reset", {"a": 1}),
    ]:
        response = world("refused").open(f"/_stub/{path}", method=method, json=document)
        assert response.status_code in (404, 422)
    assert names(world("more")) == SAMPLE_NAMES


def test_without_the_stub_there_is_the_contract_and_nothing_else() -> None:
    app = create_app(stub_options=None, seed=read_seed(SAMPLE))
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    assert rules == {"/v1/projects", "/v1/deployments/<deployment_id>", "/openapi.json"}
    client = client_of(app)
    for path in ("/_stub/health", "/_stub/openapi.json", "/_stub/reset"):
        bare = app.test_client()
        assert_problem(bare.get(path, headers=BEARER), 404, "not_found")
        assert_problem(bare.get(path), 401, "token_missing")
    assert_problem(client_of(app, "Bearer dev-token.a").get("/v1/projects"), 401, "token_invalid")
    assert client.get("/v1/projects", headers={"Prefer": "code=503"}).status_code == 200
    assert names(client) == SAMPLE_NAMES


# Reset


def test_reset_takes_a_world_back_to_its_start(stub: FlaskClient, clock: Clock) -> None:
    before = everything(stub)
    stub.post("/v1/projects", json={"name": "mine"})
    stub.put("/_stub/deployments/dpl_x", json={"status": "failed"})
    stub.post("/_stub/clock", json={"advance": 1000})
    stub.post("/_stub/faults", json={"status": 503, "times": None})
    response = stub.post("/_stub/reset")
    assert (response.status_code, response.data) == (204, b"")
    assert "Content-Type" not in response.headers
    assert stub.get("/_stub/requests").json == {"requests": [], "dropped": 0}
    assert stub.get("/_stub/coverage").json["met"] == 0
    assert everything(stub) == before
    created = stub.post("/v1/projects", json={"name": "a"}).json
    assert created["created_at"] == "2026-11-21T10:00:00.000Z"


def test_reset_with_a_seed_document_is_that_state_and_stays(
    stub: FlaskClient, world: Callable[[str], FlaskClient]
) -> None:
    named = world("w")
    document = {
        "projects": [{"name": "a", "id": "p"}],
        "deployments": [{"id": "d", "project_id": "p", "status": "canceled"}],
    }
    assert named.post("/_stub/reset", json=document).status_code == 204
    assert names(named) == ["a"]
    assert status_of(named, "d") == "canceled"
    assert names(stub) == SAMPLE_NAMES
    assert named.post("/_stub/reset", json={}).status_code == 204
    assert names(named) == []
    assert named.post("/_stub/reset").status_code == 204
    assert names(named) == SAMPLE_NAMES


def test_a_large_seed_is_taken_and_one_larger_is_not(stub: FlaskClient) -> None:
    projects = [{"name": str(number), "x": 60_000 * "y"} for number in range(200)]
    assert stub.post("/_stub/reset", json={"projects": projects}).status_code == 204
    assert len(names(stub)) == 200
    projects += projects
    response = stub.post("/_stub/reset", json={"projects": projects})
    assert_problem(response, 413, "body_too_large")
    assert len(names(stub)) == 200


def test_a_seed_of_more_projects_than_there_is_room_for_is_refused() -> None:
    stub = control_client_of(create_app(max_projects=1))
    document = {"projects": [{"name": "a"}, {"name": "b"}]}
    response = stub.post("/_stub/reset", json=document)
    assert assert_problem(response, 422, "invalid_body")["errors"][0]["pointer"] == "/projects"


def test_no_request_sees_a_mixture_of_before_and_after_a_reset(app: Flask) -> None:
    """Each state is one of two whole ones, and what was created was journalled beside it."""
    document = {
        "projects": [{"name": f"s{number}"} for number in range(20)],
    }
    first = {f"s{number}" for number in range(20)}
    mixed: list[Any] = []
    done = threading.Event()

    def look() -> None:
        client = control_client_of(app)
        while not done.is_set():
            seen = set(names(client)) - {"mine"}
            if seen not in (first, set(SAMPLE_NAMES)):
                mixed.append(seen)
            client.post("/v1/projects", json={"name": "mine"})

    def reset() -> None:
        client = control_client_of(app)
        try:
            for number in range(100):
                if number % 2:
                    client.post("/_stub/reset", json=document)
                else:
                    client.post("/_stub/reset")
        finally:
            done.set()

    assert in_parallel([reset, *(4 * [look])]) == 5 * [None]
    assert mixed == []
    client = control_client_of(app)
    entries = client.get("/_stub/requests?operation=createProject&status=201").json["requests"]
    assert len(entries) == names(client).count("mine")


# Deployments and time


def test_a_deployment_is_made_and_replaced(stub: FlaskClient, clock: Clock) -> None:
    path = "/_stub/deployments/dpl_x"
    timeline = [{"status": "queued", "seconds": 5}, {"status": "on_hold", "seconds": 0.5}]
    made = stub.put(path, json={"timeline": [*timeline, {"status": "failed"}]})
    assert made.status_code == 201
    assert made.json == {
        "id": "dpl_x",
        "project_id": None,
        "status": "queued",
        "created_at": "2026-11-21T10:00:00.000Z",
    }
    clock.advance(5.2)
    assert status_of(stub, "dpl_x") == "on_hold"
    clock.advance(1)
    assert status_of(stub, "dpl_x") == "failed"
    again = stub.put(path, json={"timeline": [*timeline, {"status": "failed"}]})
    assert (again.status_code, again.json["status"]) == (200, "queued")
    pinned = stub.put(path, json={"status": "canceled", "project_id": "prj_search"})
    assert (pinned.status_code, pinned.json["project_id"]) == (200, "prj_search")
    latest = {
        project["id"]: project["latest_deployment_id"]
        for project in client_of(stub.application).get("/v1/projects").json["projects"]
    }
    assert latest["prj_search"] == "dpl_x"


@pytest.mark.parametrize("deployment_id", ["a", "...", "~-._", 255 * "a", "A.b"])
def test_any_unreserved_id_will_do(stub: FlaskClient, deployment_id: str) -> None:
    response = stub.put(f"/_stub/deployments/{deployment_id}", json={"status": "failed"})
    assert response.status_code == 201
    assert status_of(stub, deployment_id) == "failed"


def test_the_clock_of_a_world_is_turned(
    stub: FlaskClient, world: Callable[[str], FlaskClient], clock: Clock
) -> None:
    created = stub.post("/v1/projects", json={"name": "a"}).json["latest_deployment_id"]
    response = stub.post("/_stub/clock", json={"advance": 2})
    assert (response.status_code, response.json) == (200, {"now": "2026-11-21T10:00:02.000Z"})
    assert status_of(stub, created) == "building"
    stub.post("/_stub/clock", json={"advance": 1.999})
    assert status_of(stub, created) == "building"
    stub.post("/_stub/clock", json={"advance": 0.001})
    assert status_of(stub, created) == "succeeded"
    now = world("w").post("/_stub/clock", json={"advance": 0}).json["now"]
    assert now == "2026-11-21T10:00:00.000Z"
    clock.advance(60)
    assert stub.post("/_stub/clock", json={"advance": 0}).json["now"] == "2026-11-21T10:01:04.000Z"


def test_a_clock_goes_ten_years_ahead_and_no_further(stub: FlaskClient) -> None:
    ten_years = 3653 * 86400
    assert stub.post("/_stub/clock", json={"advance": ten_years}).status_code == 200
    for more in (0.001, ten_years, 1e300, 10**400):
        response = stub.post("/_stub/clock", json={"advance": more})
        assert assert_problem(response, 422, "invalid_body")["errors"][0]["pointer"] == "/advance"
    response = stub.post("/_stub/clock", json={"x": 1, "advance": 1})
    errors = assert_problem(response, 422, "invalid_body")["errors"]
    assert [error["pointer"] for error in errors] == ["/x", "/advance"]
    response = stub.post("/_stub/clock", json={"advance": 0})
    assert response.json == {"now": "2036-11-21T10:00:00.000Z"}


# Faults


def test_a_fault_is_met_as_often_as_it_was_asked_for(stub: FlaskClient) -> None:
    asked = {"method": "GET", "path": "/v1/deployments/*", "times": 2, "status": 503}
    made = stub.post("/_stub/faults", json={**asked, "retry_after": 7})
    assert made.status_code == 201
    fault = {"id": made.json["id"], **asked, "retry_after": 7}
    assert made.json == {**fault, "remaining": 2}
    assert stub.get("/v1/projects").status_code == 200
    response = stub.get("/v1/deployments/dpl_failed")
    assert_problem(response, 503, "injected_fault")
    assert response.headers["Retry-After"] == "7"
    assert stub.get("/_stub/faults").json == {"faults": [{**fault, "remaining": 1}]}
    head = stub.head("/v1/deployments/a%2Fb")
    assert (head.status_code, head.data) == (503, b"")
    assert stub.get("/_stub/faults").json == {"faults": []}
    assert status_of(stub, "dpl_failed") == "failed"


def test_faults_are_tried_in_order_and_only_under_v1(stub: FlaskClient) -> None:
    for status in (500, 501):
        stub.post("/_stub/faults", json={"status": status, "path": "*", "times": None})
    stub.post("/_stub/faults", json={"status": 429, "method": "POST"})
    for path in ("/v1/projects", "/v1/nowhere", "/v1/projects/"):
        assert_problem(stub.get(path), 500, "injected_fault")
    assert stub.get("/elsewhere").status_code == 404
    assert stub.get("/openapi.json").status_code == 200
    assert [each["remaining"] for each in stub.get("/_stub/faults").json["faults"]] == [
        None,
        None,
        1,
    ]
    first = stub.get("/_stub/faults").json["faults"][0]["id"]
    assert stub.delete(f"/_stub/faults/{first}").status_code == 204
    assert stub.delete(f"/_stub/faults/{first}").status_code == 204
    assert_problem(stub.get("/v1/projects"), 501, "injected_fault")
    assert stub.delete("/_stub/faults").status_code == 204
    assert names(stub) == SAMPLE_NAMES


def test_a_path_is_matched_in_its_case_and_by_the_whole(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"status": 503, "path": "/v1/PROJECTS", "times": None})
    stub.post("/_stub/faults", json={"status": 503, "path": "/v1/project", "times": None})
    assert stub.get("/v1/projects").status_code == 200


def test_so_many_faults_and_no_more(stub: FlaskClient) -> None:
    for _ in range(1000):
        assert stub.post("/_stub/faults", json={"status": 503}).status_code == 201
    assert_problem(stub.post("/_stub/faults", json={"status": 503}), 422, "invalid_body")
    assert len(stub.get("/_stub/faults").json["faults"]) == 1000


def test_a_fault_comes_after_the_token_and_before_all_else(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"status": 409, "times": None})
    wrong = control_client_of(stub.application, "wrong")
    assert_problem(wrong.get("/v1/projects"), 401, "token_invalid")
    assert_problem(stub.post("/v1/projects", data=b"{"), 409, "injected_fault")
    assert_problem(stub.delete("/v1/projects"), 409, "injected_fault")
    stub.delete("/_stub/faults")
    assert names(stub) == SAMPLE_NAMES


def test_a_fault_of_401_or_405_has_the_headers_of_one(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"status": 401})
    stub.post("/_stub/faults", json={"status": 405})
    assert "Bearer" in stub.get("/v1/projects").headers["WWW-Authenticate"]
    assert stub.get("/v1/projects").headers["Allow"] == "GET, HEAD, POST"


def test_a_cut_answer_is_carried_out_and_broken_off(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"method": "POST", "cut": 5})
    response = stub.post("/v1/projects", json={"name": "a"})
    assert response.status_code == 201
    assert response.data == b'{"id"'
    assert int(response.headers["Content-Length"]) > 100
    assert names(stub) == [*SAMPLE_NAMES, "a"]
    stub.post("/_stub/faults", json={"cut": 0, "status": 502})
    assert stub.get("/v1/projects").data == b""
    stub.post("/_stub/faults", json={"cut": 10**6})
    assert names(stub) == [*SAMPLE_NAMES, "a"]


def test_a_delay_is_waited_for_after_the_request_is_carried_out(clock: Clock) -> None:
    waits: list[tuple[float, list[str]]] = []

    def sleep(seconds: float) -> None:
        (meanwhile,) = in_parallel([lambda: names(control_client_of(app))])
        waits.append((seconds, meanwhile))

    app = create_app(clock=clock, stub_options=Options(sleep=sleep))
    stub = control_client_of(app)
    stub.post("/_stub/faults", json={"delay": 0.5, "method": "POST"})
    stub.post("/_stub/faults", json={"delay": 30, "method": "POST", "status": 504})
    assert stub.post("/v1/projects", json={"name": "a"}).status_code == 201
    assert stub.post("/v1/projects", json={"name": "b"}).status_code == 504
    assert waits == [(0.5, ["a"]), (30, ["a"])]


def test_a_fault_is_met_exactly_so_often_under_many_clients(app: Flask) -> None:
    control_client_of(app).post("/_stub/faults", json={"status": 503, "times": 3})

    def ask() -> list[int]:
        client = control_client_of(app)
        return [client.get("/v1/projects").status_code for _ in range(5)]

    statuses = [status for each in in_parallel(16 * [ask]) for status in each]
    assert (statuses.count(503), statuses.count(200)) == (3, 77)


# Prefer


@pytest.mark.parametrize(
    ("prefer", "status", "code"),
    [
        ("code=409", 409, "name_taken"),
        ("code=401", 401, "token_invalid"),
        ("code=405", 405, "method_not_allowed"),
        ("code=422", 422, "invalid_body"),
        ("code=500", 500, "internal_error"),
        ("code=507", 507, "store_full"),
        ("code=404", 404, "injected_fault"),
        ("code=503", 503, "injected_fault"),
        ("code=599", 599, "injected_fault"),
        ('code="503"', 503, "injected_fault"),
        ("Code = 503", 503, "injected_fault"),
        ("respond-async, code=503", 503, "injected_fault"),
        ('wait=10; foo="a, code=500", CODE="503"; bar=1', 503, "injected_fault"),
        ("code=503, code=409", 503, "injected_fault"),
        ("code=200", 201, None),
        ("code=399, code=503", 201, None),
        ("code=600", 201, None),
        ("code", 201, None),
        ("code=", 201, None),
        ("code=5O3", 201, None),
        ("code=٥٠٣", 201, None),
        ("xcode=503", 201, None),
        ('x="code=503"', 201, None),
        ('"code=503"', 201, None),
        ('"code"=503', 201, None),
        ('code="503', 201, None),
        ("handling=strict", 201, None),
        ("", 201, None),
    ],
)
def test_one_request_may_prefer_an_outcome(
    stub: FlaskClient, prefer: str, status: int, code: str | None
) -> None:
    header = prefer.encode().decode("latin-1")
    response = stub.post("/v1/projects", json={"name": "a"}, headers={"Prefer": header})
    if code is None:
        assert response.status_code == status
        assert "Preference-Applied" not in response.headers
        return
    assert_problem(response, status, code)
    assert response.headers["Preference-Applied"] == f"code={status}"
    assert ("Allow" in response.headers) == (status == 405)
    challenge = response.headers.get("WWW-Authenticate", "")
    assert ('error="invalid_token"' in challenge) == (status == 401)
    assert names(stub) == SAMPLE_NAMES


def test_a_preferred_404_of_a_deployment_is_its_own(stub: FlaskClient) -> None:
    path, prefer = "/v1/deployments/dpl_failed", {"Prefer": "code=404"}
    assert_problem(stub.get(path, headers=prefer), 404, "deployment_not_found")
    assert_problem(stub.get("/v1/nowhere", headers=prefer), 404, "not_found")
    prefer = {"Prefer": "code=405"}
    refused = stub.delete("/v1/projects", headers=prefer)
    assert_problem(refused, 405, "method_not_allowed")
    assert (refused.headers["Allow"], "Preference-Applied" in refused.headers) == (
        "GET, HEAD, POST",
        True,
    )


def test_a_fault_wins_over_a_preference(stub: FlaskClient) -> None:
    stub.post("/_stub/faults", json={"delay": 0})
    preferred = stub.post("/v1/projects", json={"name": "a"}, headers={"Prefer": "code=409"})
    assert preferred.status_code == 201
    stub.post("/_stub/faults", json={"status": 503})
    prefer = {"Prefer": "code=409"}
    assert_problem(stub.get("/v1/projects", headers=prefer), 503, "injected_fault")


# What is refused


def bad_requests() -> Iterator[tuple[str, str, Any, list[str]]]:
    deployment = "/_stub/deployments/dpl_failed"
    yield from [
        ("PUT", deployment, [], [""]),
        ("PUT", deployment, {}, [""]),
        ("PUT", deployment, {"status": "failed", "timeline": [{"status": "a"}]}, [""]),
        ("PUT", deployment, {"status": "Failed"}, ["/status"]),
        ("PUT", deployment, {"status": 65 * "a"}, ["/status"]),
        ("PUT", deployment, {"status": "failed", "id": "x"}, ["/id"]),
        ("PUT", deployment, {"status": "failed", "project_id": 1}, ["/project_id"]),
        ("PUT", deployment, {"status": "failed", "project_id": "nope"}, ["/project_id"]),
        ("PUT", deployment, {"project_id": "nope", "x": 1}, ["/x", "/project_id", ""]),
        ("PUT", deployment, {"timeline": []}, ["/timeline"]),
        ("PUT", deployment, {"timeline": [{"status": "a", "seconds": True}, {"status": "b"}]},
         ["/timeline/0/seconds"]),
        ("PUT", "/_stub/deployments/a b", {"status": "failed"}, [""]),
        ("PUT", "/_stub/deployments/é", {"status": "failed"}, [""]),
        ("PUT", f"/_stub/deployments/{256 * 'a'}", {"status": "failed"}, [""]),
        ("POST", "/_stub/clock", [], [""]),
        ("POST", "/_stub/clock", {}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": -1}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": True}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": "1"}, ["/advance"]),
        ("POST", "/_stub/clock", {"advance": None, "x": 1}, ["/x", "/advance"]),
        ("POST", "/_stub/reset", [], [""]),
        ("POST", "/_stub/reset", {"project": []}, ["/project"]),
        ("POST", "/_stub/reset", {"projects": [{}]}, ["/projects/0/name"]),
        ("POST", "/_stub/faults", 1, [""]),
        ("POST", "/_stub/faults", {}, [""]),
        ("POST", "/_stub/faults", {"times": 2, "path": "/v1/*"}, [""]),
        ("POST", "/_stub/faults", {"status": 503, "dealy": 1}, ["/dealy"]),
        ("POST", "/_stub/pact", [], [""]),
        ("POST", "/_stub/pact", {}, ["/state"]),
        ("POST", "/_stub/pact", {"state": 1, "params": [], "action": "x"},
         ["/state", "/params", "/action"]),
        ("POST", "/_stub/pact", {"state": "", "action": {}}, ["/action"]),
        ("POST", "/_stub/pact", {"state": "", "action": 0}, ["/action"]),
        ("POST", "/_stub/pact", {"state": "a project exists"}, ["/params/name"]),
        ("POST", "/_stub/pact", {"state": "a project exists", "params": {"name": 1}},
         ["/params/name"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params": {"status": "X"}},
         ["/params/id", "/params/status"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params":
         {"id": "a", "status": "b", "project_id": "nope"}}, ["/params/project_id"]),
        ("POST", "/_stub/pact", {"state": "a deployment exists", "params":
         {"id": "a b", "status": "b", "project_id": "nope"}}, ["/params/id", "/params/project_id"]),
    ]  # fmt: skip
    for name, values in {
        "status": [399, 600, "503", None, True, 503.5],
        "retry_after": [-1, "1", True, None, 1.5],
        "delay": [-0.1, 30.1, "1", True, None],
        "cut": [-1, "1", True, None, 0.5],
        "times": [0, -1, "1", True, 1.5],
        "method": ["get", "", 1, None, "GET "],
        "path": ["", 1, None, 2049 * "a"],
    }.items():
        for value in values:
            document = {"status": 503, "delay": 1, name: value}
            yield "POST", "/_stub/faults", document, [f"/{name}"]


@pytest.mark.parametrize(("method", "path", "document", "pointers"), list(bad_requests()))
def test_a_bad_control_body_is_422_and_changes_nothing(
    stub: FlaskClient, method: str, path: str, document: Any, pointers: list[str]
) -> None:
    before = everything(stub)
    response = stub.open(path, method=method, json=document)
    problem = assert_problem(response, 422, "invalid_body")
    assert [error["pointer"] for error in problem["errors"]] == pointers
    assert everything(stub) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/_stub/deployments/x"),
        ("POST", "/_stub/clock"),
        ("POST", "/_stub/faults"),
        ("POST", "/_stub/reset"),
        ("POST", "/_stub/pact"),
    ],
)
def test_a_control_body_is_read_as_strictly_as_any(
    stub: FlaskClient, method: str, path: str
) -> None:
    def send(data: bytes, content_type: str = "application/json") -> Any:
        return stub.open(path, method=method, data=data, content_type=content_type)

    assert_problem(send(b"{}", "text/plain"), 415, "unsupported_media_type")
    for data in (b"{", b"\xff", b'{"status": "a", "status": "b"}', b"NaN", 99 * b"["):
        assert_problem(send(data), 400, "malformed_json")
    if path != "/_stub/reset":
        assert_problem(send(70_000 * b" "), 413, "body_too_large")
    assert_problem(stub.open(path, method="PATCH"), 405, "method_not_allowed")
    assert_problem(control_client_of(stub.application, "x").open(path), 401, "token_invalid")


@pytest.mark.parametrize("query", ["x=1", "status=abc", "status=", "status=20", "status=-1"])
def test_a_filter_that_does_not_exist_is_400(stub: FlaskClient, query: str) -> None:
    assert_problem(stub.get(f"/_stub/requests?{query}"), 400, "unknown_query")


# Races. Each window is widened, and each race is shown to go wrong without its lock.


class SlowToHash(str):
    def __hash__(self) -> int:
        time.sleep(0.0005)
        return super().__hash__()


class SlowToCompare(float):
    def __le__(self, other: float) -> bool:
        result = float(self) <= other
        time.sleep(0.0005)
        return result


class SlowToMeasure(deque[Any]):
    def __len__(self) -> int:
        time.sleep(0.0005)
        return super().__len__()


ENTRY = Entry(START, MaskedRequest("GET", "/", "", {}, ""), 200, None, None, None, 0, (), (), ())


def race_for_the_last_faults(unlock: Callable[[Any], None]) -> None:
    faults = Faults()
    unlock(faults)
    faults.add({"status": 503, "times": 5, "path": SlowToHash("*")})
    taken = in_parallel(8 * [lambda: faults.take("GET", "/v1/projects")])
    assert sum(fault is not None for fault in taken) == 5


def race_to_be_counted(unlock: Callable[[Any], None]) -> None:
    coverage = Coverage(Contract(json.loads(CONTRACT.read_bytes())))
    unlock(coverage)
    in_parallel(8 * [lambda: coverage.count(1, ENTRY, 200, SlowToHash("failed"))])
    assert coverage.document()["deployment_statuses"]["failed"] == 8


def race_for_a_number(unlock: Callable[[Any], None]) -> None:
    journal = Journal()
    unlock(journal)
    journal._entries = SlowToMeasure(maxlen=1000)
    assert sorted(in_parallel(8 * [lambda: journal.append(ENTRY)])) == list(range(1, 9))


def race_to_the_end_of_time(unlock: Callable[[Any], None]) -> None:
    clock = WorldClock(Clock())
    unlock(clock)
    ten_years = SlowToCompare(3653 * 86400)
    assert sum(in_parallel(8 * [lambda: clock.advance(ten_years)])) == 1


def race_into_a_new_world(unlock: Callable[[Any], None]) -> None:
    made = iter(range(100))

    def make(seed: Any) -> Any:
        time.sleep(0.0005)
        return next(made)

    worlds = Worlds(make)
    unlock(worlds)
    assert in_parallel(8 * [lambda: worlds.open("w")]) == 8 * [1]


RACES = [
    race_for_the_last_faults,
    race_to_be_counted,
    race_for_a_number,
    race_to_the_end_of_time,
    race_into_a_new_world,
]


@pytest.mark.parametrize("race", RACES)
def test_what_a_world_holds_is_changed_by_one_at_a_time(race: Callable[..., None]) -> None:
    for _ in range(3):
        race(lambda held: None)


@pytest.mark.parametrize("race", RACES)
def test_these_races_go_wrong_without_the_lock(race: Callable[..., None]) -> None:
    def unlock(held: Any) -> None:
        held._lock = nullcontext()

    def run_without_lock() -> None:
        for _ in range(60):
            race(unlock)

    with pytest.raises(AssertionError):
        run_without_lock()
