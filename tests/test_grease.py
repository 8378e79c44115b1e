"""Grease: what the contract marks as free varies, axis by axis, and nothing else does."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from stub import Options
from stub.grease import AXES, TIER_1
from stub.seed import SAMPLE, read_seed
from tests.conftest import (
    Clock,
    assert_problem,
    client_of,
    control_client_of,
    counting_ids,
    program,
)
from tests.contract import V1
from tests.test_cli import refused

SENT = (
    '{"name": "n\\u0061me", "n": [1.10, -0, 1e2, 12345678901234567890], "o": {"z": 1, "a": "\\/"}}'
)


def greased(axes: tuple[str, ...], seed: int, **options: Any) -> FlaskClient:
    """A client that holds each answer, varied or not, against the contract."""
    options = {"clock": Clock(), "new_id": counting_ids(), "seed": read_seed(SAMPLE), **options}
    return client_of(create_app(stub_options=Options(grease=axes, grease_seed=seed), **options))


def create(client: FlaskClient) -> Any:
    return client.post("/v1/projects", data=SENT, content_type="application/json")


def shown(response: Any) -> Any:
    return json.loads(response.data)


def media_type(response: Any) -> Any:
    return response.mimetype.lower()


# Brittle clients, each leaning on one accident: they raise when it is another.


def closed_model(client: FlaskClient) -> None:
    deployment = shown(client.get("/v1/deployments/dpl_failed"))
    assert {*deployment} == {"id", "project_id", "status", "created_at"}


def closed_list(client: FlaskClient) -> None:
    assert {*shown(client.get("/v1/projects"))} == {"projects"}


def known_members_in_order(client: FlaskClient) -> None:
    known = ["id", "project_id", "status", "created_at"]
    members = shown(client.get("/v1/deployments/dpl_failed"))
    assert [name for name in members if name in known] == known


def text_as_it_was(client: FlaskClient) -> None:
    text = client.get("/v1/deployments/dpl_failed").text
    assert re.search(r'"id": "dpl_failed"[,}]', text) or not text.startswith("{")
    assert text.startswith("{")


def known_headers(client: FlaskClient) -> None:
    headers = {*client.get("/v1/projects").headers.keys()} - {"Stub-Grease"}
    assert headers == {"Content-Type", "Cache-Control", "Content-Length"}


def pattern_of_ids(client: FlaskClient) -> None:
    assert re.fullmatch(r"prj_\w+", shown(create(client))["id"])


def format_of_times(client: FlaskClient) -> None:
    moment = shown(client.get("/v1/deployments/dpl_failed"))["created_at"]
    datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%fZ")
    assert len(moment) == 24


def newest_last(client: FlaskClient) -> None:
    listed = [project["id"] for project in shown(client.get("/v1/projects"))["projects"]]
    assert listed == ["prj_website", "prj_billing", "prj_search"]


def closed_set_of_statuses(client: FlaskClient) -> None:
    status = shown(client.get("/v1/deployments/dpl_building"))["status"]
    assert status in ("queued", "building", "succeeded", "failed", "canceled")


def exact_201(client: FlaskClient) -> None:
    assert create(client).status_code == 201


def text_of_errors(client: FlaskClient) -> None:
    problem = shown(client.get("/v1/deployments/x"))
    assert (problem["title"], problem["detail"][:13]) == ("Not Found", "No deployment")


def exact_media_type(client: FlaskClient) -> None:
    assert client.get("/v1/projects").headers["Content-Type"] == "application/json"


BRITTLE: list[tuple[str, Callable[[FlaskClient], None]]] = [
    ("members", closed_model),
    ("members", closed_list),
    ("member-order", known_members_in_order),
    ("json-text", text_as_it_was),
    ("headers", known_headers),
    ("ids", pattern_of_ids),
    ("times", format_of_times),
    ("list-order", newest_last),
    ("status-values", closed_set_of_statuses),
    ("success-code", exact_201),
    ("error-text", text_of_errors),
    ("media-type", exact_media_type),
]


@pytest.mark.parametrize(("axis", "client_code"), BRITTLE)
def test_a_brittle_client_is_broken_by_its_own_axis_and_by_no_other(
    axis: str, client_code: Callable[[FlaskClient], None]
) -> None:
    broken = []
    others = tuple(each for each in AXES if each != axis)
    for seed in range(10):
        client_code(greased(others if client_code is not text_as_it_was else (), seed))
        try:
            client_code(greased((axis,), seed))
        except (AssertionError, ValueError):
            broken.append(seed)
    assert broken
    for other in others:
        client_code(greased((other,), 3))


def tolerant_session(client: FlaskClient, clock: Clock) -> None:
    """A client that leans on nothing but the interface and on what the contract promises."""
    sent = json.loads(SENT)
    response = create(client)
    assert response.status_code in (200, 201)
    assert media_type(response) == "application/json"
    project = shown(response)
    assert {name: project[name] for name in sent} == sent
    listed = {each["id"]: each for each in shown(client.get("/v1/projects"))["projects"]}
    assert {name: listed[project["id"]][name] for name in sent} == sent
    assert "12345678901234567890" in client.get("/v1/projects").text
    for spelled in ("1.10", "-0", "1e2"):
        assert spelled in client.get("/v1/projects").text
    path = f"/v1/deployments/{project['latest_deployment_id']}"
    status, looks = None, 0
    while status not in ("succeeded", "failed", "canceled"):
        deployment = shown(client.get(path))
        status = deployment["status"]
        assert deployment["project_id"] == project["id"]
        moment = deployment["created_at"].upper().replace("Z", "+00:00")
        moment = re.sub(r"\.(\d{3})\d*", r".\1", moment)
        assert datetime.fromisoformat(moment) == datetime.fromisoformat("2026-11-21T10:00:00+00:00")
        clock.advance(2)
        looks += 1
    assert looks == 3
    response = client.get("/v1/deployments/x")
    assert media_type(response) == "application/problem+json"
    assert (response.status_code, shown(response)["status"]) == (404, 404)
    assert shown(response)["code"] == "deployment_not_found"
    again = create(client)
    assert (again.status_code, shown(again)["code"]) == (409, "name_taken")
    assert shown(client.get("/v1/deployments/dpl_failed"))["status"] == "failed"


@pytest.mark.parametrize("seed", range(40))
def test_a_tolerant_client_passes_under_all_axes(seed: int) -> None:
    clock = Clock()
    tolerant_session(greased(AXES, seed, clock=clock), clock)


@pytest.mark.parametrize("axis", AXES)
def test_a_tolerant_client_passes_under_each_axis_alone(axis: str) -> None:
    clock = Clock()
    tolerant_session(greased((axis,), 5, clock=clock), clock)


def everything(client: FlaskClient) -> list[tuple[int, list[Any], bytes]]:
    answers = [
        create(client),
        client.get("/v1/projects"),
        *(client.get(f"/v1/deployments/{name}") for name in ("dpl_failed", "dpl_queued", "x")),
        client.get("/v1/nowhere"),
        client.put("/v1/projects"),
    ]
    return [(each.status_code, list(each.headers), each.data) for each in answers]


def test_the_same_seed_gives_the_same_answers_whatever_was_asked_before() -> None:
    first = everything(greased(AXES, 7))
    assert everything(greased(AXES, 7)) == first
    assert everything(greased(AXES, 8)) != first
    client = greased(AXES, 7)
    for path in ("/v1/deployments/dpl_queued", "/v1/projects", "/v1/nowhere"):
        for _ in range(3):
            client.get(path)
    assert everything(client) == first


def test_an_axis_varies_the_same_alone_and_among_others() -> None:
    path = "/v1/deployments/dpl_building"
    known = ("id", "project_id", "status", "created_at")
    for seed in range(5):
        among = greased(AXES, seed).get(path)
        looks: dict[str, Callable[[Any], Any]] = {
            "times": lambda it: shown(it)["created_at"],
            "status-values": lambda it: shown(it)["status"],
            "member-order": lambda it: [name for name in shown(it) if name in known],
            "members": lambda it: {k: v for k, v in shown(it).items() if k not in known},
            "media-type": lambda it: it.headers["Content-Type"],
            "headers": lambda it: [pair for pair in it.headers if pair[0].startswith("X-")],
        }
        for axis, seen in looks.items():
            assert seen(greased((axis,), seed).get(path)) == seen(among), axis


def test_head_is_answered_as_get() -> None:
    client = greased(AXES, 3)
    for path in ("/v1/projects", "/v1/deployments/x"):
        get, head = client.get(path), client.head(path)
        assert head.headers == get.headers
        assert int(head.headers["Content-Length"]) == len(get.data)


def test_an_id_is_unreserved_and_works_on_when_grease_is_off() -> None:
    for seed in range(20):
        client = greased(("ids",), seed)
        project = shown(create(client))
        for given in (project["id"], project["latest_deployment_id"]):
            assert re.fullmatch(r"[A-Za-z0-9._~-]{1,255}", given)
            assert given not in (".", "..")
        control = control_client_of(client.application)
        control.put("/_stub/grease", json={"axes": []})
        deployment = control.get(f"/v1/deployments/{project['latest_deployment_id']}").json
        assert deployment["project_id"] == project["id"]
        assert (
            control.put("/_stub/deployments/mine", json={"status": "failed"}).json["id"] == "mine"
        )


def test_off_nothing_varies_and_what_varies_says_so() -> None:
    off = greased((), 7)
    plain = everything(off)
    assert all("Stub-Grease" not in dict(headers) for _, headers, _ in plain)
    assert SENT[1:] in off.get("/v1/projects").text
    response = create(greased(("ids", "members"), 7))
    assert response.headers["Stub-Grease"] == "seed=7; axes=members,ids"
    assert greased(("ids",), 7).get("/v1/projects").headers.get("Stub-Grease") is None


def test_only_v1_varies() -> None:
    client, off = greased(AXES, 7), greased((), 7)
    for path in ("/openapi.json", "/_stub/health", "/_stub/faults", "/nowhere", "/_stub/nowhere"):
        here, there = client.get(path), off.get(path)
        assert (here.data, here.headers) == (there.data, there.headers)


def test_grease_is_switched_for_one_world() -> None:
    app = create_app(stub_options=Options(grease=TIER_1, grease_seed=7))
    stub, other = control_client_of(app), control_client_of(app, "dev-token.w")
    assert stub.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}
    switched = stub.put("/_stub/grease", json={"axes": ["times", "members", "times"], "seed": 9})
    assert (switched.status_code, switched.json) == (200, {"axes": ["members", "times"], "seed": 9})
    assert stub.get("/_stub/grease").json == switched.json
    assert other.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}
    stub.put("/_stub/grease", json={"axes": []})
    assert stub.get("/_stub/grease").json == {"axes": [], "seed": 9}
    assert stub.get("/v1/projects").json == {"projects": []}
    stub.post("/_stub/reset")
    assert stub.get("/_stub/grease").json == {"axes": list(TIER_1), "seed": 7}


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ([], [""]),
        ({}, ["/axes"]),
        ({"axes": "members"}, ["/axes"]),
        ({"axes": ["member"]}, ["/axes"]),
        ({"axes": [[]], "seed": "1", "x": 1}, ["/x", "/axes", "/seed"]),
        ({"axes": [], "seed": -1}, ["/seed"]),
        ({"axes": [], "seed": True}, ["/seed"]),
        ({"axes": [], "seed": 1.5}, ["/seed"]),
    ],
)
def test_a_bad_switch_is_422_and_changes_nothing(document: Any, pointers: list[str]) -> None:
    stub = control_client_of(create_app(stub_options=Options(grease=("times",), grease_seed=7)))
    response = stub.put("/_stub/grease", json=document)
    problem = assert_problem(response, 422, "invalid_body")
    assert [error["pointer"] for error in problem["errors"]] == pointers
    if "/axes" in pointers:
        told = next(error for error in problem["errors"] if error["pointer"] == "/axes")
        assert all(axis in told["detail"] for axis in AXES)
    assert stub.get("/_stub/grease").json == {"axes": ["times"], "seed": 7}


def test_the_journal_and_the_coverage_tell_what_was_applied() -> None:
    client = greased(("members", "success-code", "ids"), 7)
    stub = control_client_of(client.application)
    create(client)
    client.get("/v1/projects")
    first, second = stub.get("/_stub/requests").json["requests"]
    assert (first["grease"], first["status"]) == (["members", "ids", "success-code"], 200)
    assert second["grease"] == ["members"]
    told = stub.get("/_stub/coverage").json
    assert told["grease"] == dict.fromkeys(AXES, 0) | {"members": 2, "ids": 1, "success-code": 1}
    assert told["operations"]["createProject"]["201"] == 1
    assert "200" not in told["operations"]["createProject"]


def parts_with_origin(part: Any) -> list[Any]:
    """Every part of the contract that tells its origin."""
    found = []
    if isinstance(part, dict):
        found += [part] if "x-origin" in part else []
        found += [each for value in part.values() for each in parts_with_origin(value)]
    elif isinstance(part, list):
        found += [each for value in part for each in parts_with_origin(value)]
    return found


def test_what_is_fixed_bears_no_axis_and_each_axis_is_somewhere() -> None:
    parts = parts_with_origin(V1.document)
    named = {axis for part in parts for axis in part.get("x-grease", ())}
    assert named == {*AXES}
    assert not [part for part in parts if "fixed" in part["x-origin"] and "x-grease" in part]


def test_what_the_contract_does_not_name_does_not_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    import app

    document = json.dumps(V1.document).replace('"x-grease": ["times"]', '"x-grease": []')
    document = document.replace('"json-text", ', "")

    class Contract:
        def read_bytes(self) -> bytes:
            return document.encode()

    monkeypatch.setattr(app, "CONTRACT", Contract())
    assert everything(greased(("times", "json-text"), 7)) == everything(greased((), 7))


def test_the_program_says_that_it_varies() -> None:
    with program("--grease", "--grease-seed", "7") as (process, url):
        process.terminate()
        stderr = process.communicate(timeout=10)[1]
    said = "responses vary on purpose: --grease members,member-order,json-text,headers,ids,times"
    assert f"{said} --grease-seed 7\n" in stderr
    assert url
    with program("--grease", "list-order,members") as (process, url):
        process.terminate()
        stderr = process.communicate(timeout=10)[1]
    assert re.search(r"--grease members,list-order --grease-seed \d+\n", stderr)
    assert "'nope' is no axis: they are members, " in refused("--grease", "members,nope")
