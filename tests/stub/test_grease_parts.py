"""Grease that is limited to parts of the contract, and the parts that responses had."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from stub import StubOptions
from tests.conftest import SAMPLE_SEED, START, client_of, control_client_of, counting_ids
from tests.contract import V1, assert_invalid
from tests.stub.conftest import entries, stub_of
from tests.stub.greased import AXES

SEED = 0
# A list of projects has one member, so its order varies only beside `members`.
ALONE = ("member-order", "ProjectList")
ASPECTS = {
    "members": "unknown members",
    "member-order": "order of members",
    "json-text": "text",
    "headers": "headers",
    "ids": "ids",
    "ids-encoded": "ids",
    "times": "value",
    "times-odd": "value",
    "error-text": "value",
    "list-order": "order of records",
    "status-values": "status",
    "success-code": "status code",
    "media-type": "media type",
}
KINDS = {"id": "{}s", "project_id": "projects", "latest_deployment_id": "deployments"}


def greased_app(*grease: str, announces: bool = False) -> Flask:
    options = StubOptions(grease=grease, grease_seed=SEED, announces_grease=announces)
    return create_app(
        clock=lambda: START, new_id=counting_ids(), seed=SAMPLE_SEED, stub_options=options
    )


def possible_parts(axis: str) -> list[str]:
    """The parts that an axis has: a request with another part is told them."""
    request = {"axes": [axis], "parts": [""]}
    (error,) = assert_invalid(
        control_client_of(create_app()).put("/_stub/grease", json=request), "/parts"
    )
    return error["detail"].partition(": ")[2].split(", ")


@cache
def all_pairs() -> tuple[tuple[str, str], ...]:
    return tuple((axis, part) for axis in AXES for part in possible_parts(axis))


def session(app: Flask) -> list[tuple[str, TestResponse]]:
    """Responses that have every part of the contract, each with the name of its own part."""
    return list(responses_of(app.test_client(), app.test_client()))


def responses_of(client: FlaskClient, anonymous: FlaskClient) -> Iterator[tuple[str, TestResponse]]:
    client.environ_base["HTTP_AUTHORIZATION"] = "Bearer dev-token"
    for name in ("shop", "blog"):
        created = client.post("/v1/projects", json={"name": name})
        yield "createProject 201", created
        latest = json.loads(created.data)["latest_deployment_id"]
        yield "getDeployment 200", client.get(f"/v1/deployments/{quote(latest, safe='')}")
    yield "getDeployment 200", client.get("/v1/deployments/dpl_failed")
    yield "listProjects 200", client.get("/v1/projects")
    yield "createProject 422", client.post("/v1/projects", json={"name": 1})
    for path, item in V1.document["paths"].items():
        for method in ("get", "post"):
            for status in item.get(method, {}).get("responses", {}):
                if status[0] in "45":
                    part = f"{item[method]['operationId']} {status}"
                    prefer = {"Prefer": f"code={status}"}
                    yield part, client.open(path, method=method, headers=prefer)
    yield "404", client.get("/v1/nothing")
    yield "405", client.delete("/v1/projects")
    yield "401", anonymous.get("/v1/nothing")


def resolved(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = schema["$ref"].rpartition("/")[2]
    return name, V1.document["components"]["schemas"][name]


def look(value: dict[str, Any], name: str, schema: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """What an object shows, each with the aspect and the part that it belongs to."""
    known = schema["properties"]
    yield ("unknown members", name), sorted(value.keys() - known.keys())
    yield ("order of members", name), [member for member in value if member in known]
    for member, each in value.items():
        if member in KINDS and each:
            yield ("ids", KINDS[member].format(name.lower())), each
        elif member == "status" and isinstance(each, str):
            yield ("status", name), each
        elif isinstance(each, list) and member in known:
            if member == "projects":
                yield ("order of records", f"{name}.{member}"), [one["name"] for one in each]
            for one in sorted(each, key=lambda one: str(one.get("name"))):
                yield from look(one, *resolved(known[member]["items"]))
        elif member in known:
            yield ("value", f"{name}.{member}"), each


def seen(responses: list[tuple[str, TestResponse]]) -> dict[tuple[str, str], list[Any]]:
    """What a client sees in a session, by aspect and part."""
    found: dict[tuple[str, str], list[Any]] = {}
    for part, response in responses:
        text = response.get_data(as_text=True)
        is_error = "problem" in response.headers["Content-Type"].lower()
        schema = {"listProjects 200": "ProjectList", "createProject 201": "Project"}.get(part)
        name = "Problem" if is_error else schema or "Deployment"
        for key, value in (
            (("text", part), (re.split(r"\S", text)[0], re.findall(r"\\u00[2-7]", text))),
            (("headers", part), [pair for pair in response.headers if pair[0][:2] == "X-"]),
            (("media type", part), response.headers["Content-Type"]),
            (("status code", part), response.status_code),
            *look(json.loads(text), *resolved({"$ref": f"/{name}"})),
        ):
            found.setdefault(key, []).append(value)
    return found


@cache
def plainly() -> dict[tuple[str, str], list[Any]]:
    return seen(session(greased_app()))


@pytest.mark.parametrize("axis", AXES)
def test_each_part_alone_varies_as_among_all_parts_and_nothing_else_does(axis: str) -> None:
    plain = plainly()
    app = greased_app(axis)
    among, counted = seen(session(app)), stub_of(app).parts.varied_pairs()
    for part in possible_parts(axis):
        if (axis, part) == ALONE:
            continue
        app = greased_app(f"{axis}@{part}")
        responses = session(app)
        alone = seen(responses)
        here = (ASPECTS[axis], part)
        assert {key for key in plain if plain[key] != alone[key]} == {here}, part
        assert alone[here] == among[here]
        times = sum(axis in entry["grease"] for entry in entries(control_client_of(app)))
        assert stub_of(app).parts.varied_pairs() == {(axis, part): times}
        assert counted[axis, part] == times


def test_every_pair_of_the_contract_is_varied() -> None:
    app = greased_app(*AXES)
    session(app)
    assert {*stub_of(app).parts.varied_pairs()} == {*all_pairs()}


def test_the_parts_are_those_of_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    assert possible_parts("members") == [
        *("ProjectList", "Project", "Deployment", "Problem", "FieldError")
    ]
    assert possible_parts("times") == ["Project.created_at", "Deployment.created_at"]
    assert possible_parts("ids") == ["projects", "deployments"]
    assert {"listProjects 200", "getDeployment 404", "404", "405"} <= {*possible_parts("headers")}
    document = copy.deepcopy(V1.document)
    team = {
        "x-grease": ["members"],
        "properties": {
            "id": {"x-grease": ["ids"]},
            "motto": {"x-grease": ["error-text"]},
            "owner": {"x-grease": ["members"], "properties": {}},
            "founded": {"$ref": "#/components/schemas/Moment"},
        },
    }
    document["components"]["schemas"] |= {"Team": team, "Moment": {"x-grease": ["times"]}}
    content = {"application/json": {"schema": {"x-grease": ["members"], "properties": {}}}}
    response = {"x-grease": ["headers"], "content": content}
    operation = {"operationId": "getTeam", "responses": {"200": response}}
    document["paths"]["/v1/teams/{id}"] = {"get": operation}
    monkeypatch.setattr("app.get_data", lambda *_: json.dumps(document).encode())
    assert {"Team", "Team.owner", "getTeam 200"} <= {*possible_parts("members")}
    assert "Team.motto" in possible_parts("error-text")
    assert "Moment" in possible_parts("times")
    assert "teams" in possible_parts("ids")
    assert "getTeam 200" in possible_parts("headers")


def test_a_response_varies_along_each_axis_in_its_own_parts() -> None:
    axes = ("members@ProjectList", "times@Project.created_at", "headers")
    client = client_of(greased_app(*axes, announces=True))
    listed = client.get("/v1/projects")
    assert listed.headers["Stub-Grease"] == f"seed={SEED}; axes=members,headers,times"
    assert stub_of(client.application).parts.varied_pairs() == {
        ("members", "ProjectList"): 1,
        ("times", "Project.created_at"): 1,
        ("headers", "listProjects 200"): 1,
    }
    client.get("/v1/deployments/dpl_failed")
    stub = control_client_of(client.application)
    assert stub.get("/_stub/requests").json["requests"][1]["grease"] == ["headers"]
    assert stub.get("/_stub/coverage").json["grease"]["members"] == 1


def create(stub: FlaskClient) -> None:
    stub.post("/v1/projects", json={"name": "shop"})


def with_an_own_id(stub: FlaskClient) -> None:
    stub.put("/_stub/deployments/mine", json={"status": "queued"})
    stub.get("/v1/deployments/mine")


def with_pact(stub: FlaskClient) -> None:
    made: Any = stub.post("/_stub/pact", json={"state": "a deployment exists"}).json
    stub.get(f"/v1/deployments/{quote(made['id'], safe='')}")


def with_a_put_in_place_of_another(stub: FlaskClient) -> None:
    stub.put(
        "/_stub/deployments/dpl_queued", json={"status": "queued", "project_id": "prj_website"}
    )
    stub.get("/v1/projects")


def with_one_project(stub: FlaskClient) -> None:
    stub.post("/_stub/reset", json={"projects": [{"name": "shop"}]})
    stub.get("/v1/projects")


def with_two_projects(stub: FlaskClient) -> None:
    stub.post("/_stub/reset", json={"projects": [{"name": "shop"}, {"name": "blog"}]})
    stub.get("/v1/projects")


IDS_OF_PROJECTS = {(axis, "projects") for axis in ("ids", "ids-encoded")}
IDS_OF_DEPLOYMENTS = {(axis, "deployments") for axis in ("ids", "ids-encoded")}
IDS = IDS_OF_PROJECTS | IDS_OF_DEPLOYMENTS
RUNNING = ("status-values", "Deployment")
LIST = ("list-order", "ProjectList.projects")
CODE = ("success-code", "createProject 201")


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        (lambda stub: stub.get("/v1/projects"), {LIST}),
        (lambda stub: stub.get("/v1/deployments/dpl_failed"), set()),
        (lambda stub: stub.get("/v1/deployments/dpl_building"), {RUNNING}),
        (lambda stub: stub.get("/v1/deployments/nothing"), set()),
        (create, {CODE} | IDS),
        (with_an_own_id, {RUNNING}),
        (with_pact, IDS_OF_DEPLOYMENTS),
        (with_a_put_in_place_of_another, {LIST} | IDS_OF_DEPLOYMENTS),
        (with_one_project, IDS),
        (with_two_projects, {LIST} | IDS),
    ],
)
def test_what_a_response_must_have_to_vary(requests: Any, expected: set[tuple[str, str]]) -> None:
    app = greased_app(*AXES)
    requests(control_client_of(app))
    special = {LIST, RUNNING, CODE} | IDS
    assert special.intersection(stub_of(app).parts.varied_pairs()) == expected


def test_a_success_code_varies_a_response_only_if_it_changes_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = copy.deepcopy(V1.document)
    for item in document["paths"].values():
        item["get"]["responses"]["200"]["x-grease"] = ["success-code"]
    document["components"]["responses"]["NotFound"]["x-grease"] = ["success-code"]
    monkeypatch.setattr("app.get_data", lambda *_: json.dumps(document).encode())
    app = greased_app("success-code")
    stub = control_client_of(app)
    stub.get("/v1/projects")
    assert entries(stub)[-1]["grease"] == []
    assert stub.get("/v1/nothing").status_code == 200
    pair = ("success-code", "404")
    assert stub_of(app).parts.varied_pairs() == {pair: 1}


def test_a_fault_with_a_body_of_its_own_is_not_varied() -> None:
    app = greased_app("members")
    stub = control_client_of(app)
    stub.post("/_stub/faults", json={"status": 404, "body": "{}"})
    stub.get("/v1/projects")
    assert stub_of(app).parts.varied_pairs() == Counter()


def test_the_parts_of_all_worlds_and_resets_are_counted() -> None:
    app = greased_app("members@Project")
    stub, other = control_client_of(app), control_client_of(app, "dev-token.w")
    for client in (stub, other):
        client.get("/v1/projects")
        client.post("/_stub/reset")
        client.get("/v1/projects")
    assert stub_of(app).parts.varied_pairs() == {("members", "Project"): 4}


def test_a_switch_replaces_the_parts_and_a_reset_restores_those_of_the_start() -> None:
    app = greased_app("times@Project.created_at")
    stub = control_client_of(app)
    initial = {"axes": ["times"], "seed": SEED, "parts": ["Project.created_at"]}
    assert stub.get("/_stub/grease").json == initial
    parts = ["Deployment", "Project", "Project"]
    switched = stub.put("/_stub/grease", json={"axes": ["times", "members"], "parts": parts})
    expected = {"axes": ["members", "times"], "seed": SEED, "parts": ["Project", "Deployment"]}
    assert switched.json == stub.get("/_stub/grease").json == expected
    stub.get("/v1/projects")
    assert stub_of(app).parts.varied_pairs() == {("members", "Project"): 1}
    everywhere = {"axes": ["members"], "seed": SEED}
    assert stub.put("/_stub/grease", json={"axes": ["members"]}).json == everywhere
    nowhere = {"axes": ["members"], "seed": SEED, "parts": []}
    assert stub.put("/_stub/grease", json={"axes": ["members"], "parts": []}).json == nowhere
    stub.get("/v1/projects")
    assert entries(stub)[-1]["grease"] == []
    stub.post("/_stub/reset")
    assert stub.get("/_stub/grease").json == initial


@pytest.mark.parametrize(
    ("axes", "parts", "there_are"),
    [
        (["times"], ["Project"], "Project.created_at, Deployment.created_at"),
        (["ids", "list-order"], ["project"], "projects, deployments, ProjectList.projects"),
        (["list-order"], "ProjectList.projects", "ProjectList.projects"),
        (["list-order"], [["ProjectList.projects"]], "ProjectList.projects"),
        (["list-order"], None, "ProjectList.projects"),
        ([], ["Project"], "none"),
    ],
)
def test_an_invalid_part_is_422_and_changes_nothing(axes: Any, parts: Any, there_are: str) -> None:
    stub = control_client_of(greased_app("times"))
    response = stub.put("/_stub/grease", json={"axes": axes, "parts": parts})
    (error,) = assert_invalid(response, "/parts")
    assert error["detail"] == f"must be an array of parts that these axes vary: {there_are}"
    assert stub.get("/_stub/grease").json == {"axes": ["times"], "seed": SEED}


def test_an_axis_without_a_part_has_all_of_them() -> None:
    stub = control_client_of(greased_app("members@Project", "members"))
    assert stub.get("/_stub/grease").json == {"axes": ["members"], "seed": SEED}
    stub = control_client_of(greased_app("members@Project", "times"))
    assert stub.get("/_stub/grease").json["parts"] == ["Project", *possible_parts("times")]
