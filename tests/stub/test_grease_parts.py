"""Grease that is limited to parts of the contract, and what its variations are a function of."""

import copy
import itertools
import json
import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from store import random_id
from stub.seed import Seed
from tests.conftest import SAMPLE_SEED, client_of, control_client_of, counting_ids, seed_of
from tests.contract import V1, assert_invalid
from tests.stub.conftest import entries, in_thread, interrupted, stub_of
from tests.stub.greased import AXES, wire
from tests.stub.greased import greased_app as app_with

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
SIBLINGS = {"times": "times-odd", "times-odd": "times"}  # those that vary the same
SIBLINGS |= {"ids": "ids-encoded", "ids-encoded": "ids"}
BUT_IDS = [axis for axis in AXES if axis not in ("ids", "ids-encoded")]
KNOWN = {"id", "name", "created_at", "latest_deployment_id"}
KINDS = {"id": "{}s", "project_id": "projects", "latest_deployment_id": "deployments"}


def greased_app(
    *grease: str, seed: int = SEED, new_id: Any = None, records: Seed = SAMPLE_SEED
) -> Flask:
    return app_with(grease, seed, new_id=new_id or counting_ids(), seed=records)


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


def reset(*names: str) -> tuple[str, str, Any]:
    return "POST", "/_stub/reset", {"projects": [{"name": each} for each in names]}


GET_LIST = ("GET", "/v1/projects", None)
LIST = ("list-order", "ProjectList.projects")
RUNNING = ("status-values", "Deployment")
CODE = ("success-code", "createProject 201")
IDS_OF_PROJECTS = {("ids", "projects"), ("ids-encoded", "projects")}
IDS_OF_DEPLOYMENTS = {("ids", "deployments"), ("ids-encoded", "deployments")}
IDS = IDS_OF_PROJECTS | IDS_OF_DEPLOYMENTS
IN_WEBSITE = {"status": "queued", "project_id": "prj_website"}
MUST_HAVE: list[tuple[list[tuple[str, str, Any]], set[tuple[str, str]]]] = [
    ([GET_LIST], {LIST}),
    ([("GET", "/v1/deployments/dpl_failed", None)], set()),
    ([("GET", "/v1/deployments/dpl_building", None)], {RUNNING}),
    ([("GET", "/v1/deployments/nothing", None)], set()),
    ([("POST", "/v1/projects", {"name": "shop"})], {CODE} | IDS),
    ([("PUT", "/_stub/deployments/dpl_queued", IN_WEBSITE), GET_LIST], {LIST} | IDS_OF_DEPLOYMENTS),
    ([reset("shop"), GET_LIST], IDS),
    ([reset("shop", "blog"), GET_LIST], {LIST} | IDS),
]


@pytest.mark.parametrize(("requests", "expected"), MUST_HAVE)
def test_what_a_response_must_have_to_vary(
    requests: list[tuple[str, str, Any]], expected: set[tuple[str, str]]
) -> None:
    app = greased_app(*AXES)
    for method, path, document in requests:
        control_client_of(app).open(path, method=method, json=document)
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
    assert stub_of(app).parts.varied_pairs() == {}


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


# Each variation is a function of the seed, the axis, and the resource or the request


def look_at(axis: str, app: Flask) -> list[list[Any]]:
    found = seen(session(app))
    shown = [found[ASPECTS[axis], part] for part in possible_parts(axis)]
    # Other axes add strings, which have escapes too.
    return [[each[0] for each in texts] for texts in shown] if axis == "json-text" else shown


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_varies_alike_alone_and_among_others_but_not_from_another_seed(axis: str) -> None:
    alone = look_at(axis, greased_app(axis))
    others = [each for each in AXES if each != SIBLINGS.get(axis)]
    assert alone == look_at(axis, greased_app(*others))
    of_seeds = [look_at(axis, greased_app(axis, seed=seed)) for seed in range(1, 5)]
    assert axis == "success-code" or any(alone != each for each in of_seeds)


def test_random_ids_change_no_variation() -> None:
    for seed in range(3):
        apps = [greased_app(*AXES, seed=seed, new_id=random_id) for _ in range(2)]
        first, second = ([wire(response) for _, response in session(app)] for app in apps)
        assert first == second
    axes = [axis for axis in AXES if axis != "ids"]
    one, other = (seen(session(greased_app(*axes, new_id=random_id))) for _ in range(2))
    different = {key for key in one if one[key] != other[key]}
    assert different == {("ids", "projects"), ("ids", "deployments")}


def listed(client: FlaskClient) -> TestResponse:
    return client.get("/v1/projects")


def test_what_was_created_without_grease_varies_alike_once_it_is_on() -> None:
    late, early = client_of(greased_app()), client_of(greased_app(*BUT_IDS))
    for client in (late, early):
        client.post("/v1/projects", json={"name": "shop"})
    switch = {"axes": BUT_IDS, "seed": SEED}
    control_client_of(late.application).put("/_stub/grease", json=switch)
    assert wire(listed(late)) == wire(listed(early))


@pytest.mark.parametrize("where", ["start", "reset"])
def test_the_records_of_a_seed_vary_alike_and_unlike_what_is_created(where: str) -> None:
    document = {"projects": [{"name": "shop"}, {"name": "blog", "id": "mine"}, {"name": "wiki"}]}

    def extra(*axes: str) -> list[set[str]]:
        app = greased_app(
            *axes, new_id=random_id, records=seed_of(document if where == "start" else {})
        )
        control = control_client_of(app)
        if where == "reset":
            control.post("/_stub/reset", json=document)
        control.post("/v1/projects", json={"name": "news"})
        records = json.loads(listed(control).data)["projects"]
        return [each.keys() - KNOWN for each in sorted(records, key=lambda each: str(each["name"]))]

    assert extra("members") == extra(*AXES)
    for one, other in itertools.combinations(extra("members"), 2):
        assert one
        assert not one & other


def test_the_order_of_two_projects_does_not_depend_on_a_third() -> None:
    for seed in range(3):
        client = client_of(greased_app("list-order", seed=seed))
        before = [each["name"] for each in listed(client).json["projects"]]
        client.post("/v1/projects", json={"name": "late"})
        after = [each["name"] for each in listed(client).json["projects"]]
        assert [name for name in after if name != "late"] == before


# Stub-Grease


@pytest.mark.parametrize("axis", AXES)
def test_stub_grease_stands_on_what_varies_and_on_nothing_else(axis: str) -> None:
    for seed in range(2):
        for (_, response), (_, plain) in zip(
            session(greased_app(axis, seed=seed)), session(greased_app()), strict=True
        ):
            header = response.headers.pop("Stub-Grease", None)
            varied = f"seed={seed}; axes={axis}"
            assert header == (None if wire(response) == wire(plain) else varied)


def test_a_get_that_shows_a_greased_id_says_so_and_changes_nothing_else() -> None:
    client = client_of(greased_app("ids", seed=7))
    control = control_client_of(client.application)
    sent = '{"name": "n\\u0061me", "n": [1.10, -0, 1e2]}'
    created = client.post("/v1/projects", data=sent, content_type="application/json")
    project = json.loads(created.data)
    control.put("/_stub/deployments/mine", json={"status": "failed", "project_id": project["id"]})
    shows = ["/v1/projects", f"/v1/deployments/{project['latest_deployment_id']}"]
    shows.append("/v1/deployments/mine")
    shows_none = ["/v1/deployments/dpl_failed", "/v1/deployments/x"]
    shows_none.append(f"/v1/deployments/{project['id']}")
    before = [client.get(path).data for path in shows]
    for path in shows:
        assert client.get(path).headers["Stub-Grease"] == "seed=7; axes=ids", path
        assert client.head(path).headers["Stub-Grease"] == "seed=7; axes=ids", path
    for path in shows_none:
        assert "Stub-Grease" not in client.get(path).headers, path
    assert sent[1:-1] in client.get("/v1/projects").text
    counts = control.get("/_stub/coverage").json["grease"]
    assert counts["ids"] == 1 + 3 * len(shows) + 1
    control.put("/_stub/grease", json={"axes": ["success-code"]})
    assert client.get("/v1/projects").headers["Stub-Grease"] == "seed=7; axes=ids"
    control.put("/_stub/grease", json={"axes": []})
    assert [client.get(path).data for path in shows] == before
    for path in shows:
        assert client.get(path).headers["Stub-Grease"] == "seed=7; axes=ids", path


# A switch is one step


def test_nobody_sees_half_a_switch() -> None:
    control = control_client_of(greased_app("members"))
    before = control.get("/_stub/grease").json
    after = {"axes": ["times"], "seed": 9}
    seen: list[Any] = []

    def read(_: int) -> None:
        seen.extend(in_thread(lambda: control.get("/_stub/grease").json, 5)[1])

    with interrupted(read):
        response = control.put("/_stub/grease", json=after)
    assert response.json == after
    assert len(seen) > 5
    assert seen[0] == before
    assert all(each in (before, after) for each in seen)


def test_a_switch_without_a_seed_undoes_no_other_switch() -> None:
    control = control_client_of(greased_app())

    def seed_after_interruption(line: int) -> int | None:
        """The seed if another switch is sent before this line of a switch, if it is reached."""
        control.put("/_stub/grease", json={"axes": [], "seed": 7})
        others: list[threading.Thread] = []

        def switch_too(current: int) -> None:
            if current == line:
                other = {"axes": ["members"], "seed": 9}
                others.append(in_thread(lambda: control.put("/_stub/grease", json=other), 0.02)[0])

        with interrupted(switch_too):
            control.put("/_stub/grease", json={"axes": ["times"]})
        for each in others:
            each.join()
        seed: int = control.get("/_stub/grease").json["seed"]
        return seed if others else None

    for line in itertools.count():
        seed = seed_after_interruption(line)
        if seed is None:
            break
        assert seed == 9, line
    assert line > 5
