"""Grease that is limited to parts of the contract, and what its variations are a function of."""

import copy
import itertools
import json
import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from store import random_id
from stub import Contract
from stub.grease.parts import Parts
from tests.conftest import SAMPLE_SEED, client_of, control_client_of, counting_ids, seed_of
from tests.contract import V1, assert_invalid
from tests.stub.conftest import entries, in_thread, interrupted, stub_of
from tests.stub.greased import AXES, path_of, wire
from tests.stub.greased import greased_app as app_with

SEED = 0
SCHEMAS = V1.document["components"]["schemas"]
PARTS = Parts(Contract(V1.document), are_announced=True).by_axis
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
BUT_IDS = [axis for axis in AXES if ASPECTS[axis] != "ids"]
KINDS = {"id": "{}s", "project_id": "projects", "latest_deployment_id": "deployments"}


def greased_app(*grease: str, seed: int = SEED, **options: Any) -> Flask:
    return app_with(grease, seed, **{"new_id": counting_ids(), "seed": SAMPLE_SEED, **options})


def varied(app: Flask) -> set[tuple[str, str]]:
    return {(axis, part) for axis in AXES for part in stub_of(app).parts.varied_by(axis)}


def session(app: Flask) -> list[tuple[str, TestResponse]]:
    """Responses that have every part of the contract, each with the name of its own part."""
    return list(responses_of(app.test_client(), app.test_client()))


def responses_of(client: FlaskClient, anonymous: FlaskClient) -> Iterator[tuple[str, TestResponse]]:
    client.environ_base["HTTP_AUTHORIZATION"] = "Bearer dev-token"
    for name in ("shop", "blog"):
        created = client.post("/v1/projects", json={"name": name})
        yield "createProject 201", created
        latest = json.loads(created.data)["latest_deployment_id"]
        yield "getDeployment 200", client.get(path_of(latest))
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


def look(value: dict[str, Any], name: str) -> Iterator[tuple[Any, Any]]:
    """What an object of a schema shows, each with the aspect and the part that it belongs to."""
    known = SCHEMAS[name]["properties"]
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
            items = known[member]["items"]["$ref"].rpartition("/")[2]
            for one in sorted(each, key=lambda one: str(one.get("name"))):
                yield from look(one, items)
        elif member in known:
            yield ("value", f"{name}.{member}"), each


def seen(responses: list[tuple[str, TestResponse]]) -> dict[tuple[str, str], list[Any]]:
    """What a client sees in a session, by aspect and part."""
    found: dict[tuple[str, str], list[Any]] = {}
    for part, response in responses:
        text = response.get_data(as_text=True)
        is_error = "problem" in response.headers["Content-Type"].lower()
        schema = {"listProjects 200": "ProjectList", "createProject 201": "Project"}.get(part)
        for key, value in (
            (("text", part), (re.split(r"\S", text)[0], re.findall(r"\\u00[2-7]", text))),
            (("headers", part), [pair for pair in response.headers if pair[0][:2] == "X-"]),
            (("media type", part), response.headers["Content-Type"]),
            (("status code", part), response.status_code),
            *look(json.loads(text), "Problem" if is_error else schema or "Deployment"),
        ):
            found.setdefault(key, []).append(value)
    return found


@cache
def plainly() -> list[tuple[str, TestResponse]]:
    return session(greased_app())


@pytest.mark.parametrize("axis", AXES)
def test_each_part_alone_varies_as_among_all_parts_and_nothing_else_does(axis: str) -> None:
    plain, app = seen(plainly()), greased_app(axis)
    among = seen(session(app))
    assert varied(app) == {(axis, part) for part in PARTS[axis]} - {ALONE}
    for _, part in varied(app):
        app = greased_app(f"{axis}@{part}")
        responses = session(app)
        alone, here = seen(responses), (ASPECTS[axis], part)
        assert {key for key in plain if plain[key] != alone[key]} == {here}, part
        assert alone[here] == among[here]
        assert varied(app) == {(axis, part)}
        for (_, response), (_, before) in zip(responses, plainly(), strict=True):
            header = response.headers.get("Stub-Grease")
            response.headers.pop("Stub-Grease", None)
            is_varied = wire(response) != wire(before)
            assert header == (f"seed={SEED}; axes={axis}" if is_varied else None)


def test_the_parts_are_those_of_the_contract() -> None:
    assert PARTS["members"] == ["ProjectList", "Project", "Deployment", "Problem", "FieldError"]
    assert PARTS["times"] == ["Project.created_at", "Deployment.created_at"]
    assert PARTS["ids"] == ["projects", "deployments"]
    assert {"listProjects 200", "getDeployment 404", "404", "405"} <= {*PARTS["headers"]}
    app = greased_app(*AXES)
    session(app)
    assert varied(app) == {(axis, part) for axis in AXES for part in PARTS[axis]}
    described = stub_of(app).parts.described.values()
    assert not [each for each in described if "fixed" in each["x-origin"]]


def test_a_new_schema_and_a_new_operation_have_parts() -> None:
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
    operation = {"operationId": "getTeam", "responses": {"200": {"x-grease": ["headers"]}}}
    document["paths"]["/v1/teams/{id}"] = {"get": operation}
    parts = Parts(Contract(document), are_announced=True)
    new = {(axis, part) for axis in AXES for part in parts.by_axis[axis] if part not in PARTS[axis]}
    assert new == {
        *(("members", "Team"), ("members", "Team.owner"), ("error-text", "Team.motto")),
        *(("times", "Moment"), ("ids", "teams"), ("headers", "getTeam 200")),
    }


LIST = ("list-order", "ProjectList.projects")
RUNNING = ("status-values", "Deployment")
CODE = ("success-code", "createProject 201")
IDS_OF_DEPLOYMENTS = {("ids", "deployments"), ("ids-encoded", "deployments")}
IDS = {("ids", "projects"), ("ids-encoded", "projects")} | IDS_OF_DEPLOYMENTS
PUT = ("/_stub/deployments/dpl_queued", {"status": "queued", "project_id": "prj_website"})
RESET_1 = ("/_stub/reset", {"projects": [{"name": "shop"}]})
RESET_2 = ("/_stub/reset", {"projects": [{"name": "shop"}, {"name": "blog"}]})
MUST_HAVE: list[tuple[list[tuple[str, Any]], set[tuple[str, str]]]] = [
    ([("/v1/projects", None)], {LIST}),
    ([("/v1/deployments/dpl_failed", None)], set()),
    ([("/v1/deployments/dpl_building", None)], {RUNNING}),
    ([("/v1/deployments/nothing", None)], set()),
    ([("/v1/projects", {"name": "shop"})], {CODE} | IDS),
    ([PUT, ("/v1/projects", None)], {LIST} | IDS_OF_DEPLOYMENTS),
    ([RESET_1, ("/v1/projects", None)], IDS),
    ([RESET_2, ("/v1/projects", None)], {LIST} | IDS),
]


def test_what_a_response_must_have_to_vary() -> None:
    for requests, expected in MUST_HAVE:
        app = greased_app(*AXES)
        for path, document in requests:
            method = "GET" if document is None else "PUT" if "deployments" in path else "POST"
            control_client_of(app).open(path, method=method, json=document)
        assert varied(app) & ({LIST, RUNNING, CODE} | IDS) == expected


# The switch

SOME = {"axes": ["members", "times"], "seed": 9, "parts": ["Project", "Deployment"]}
NOWHERE = {"axes": ["members"], "seed": 9, "parts": []}
SWITCHES: list[tuple[Any, Any]] = [
    ({"axes": ["times", "members", "times"], "seed": 9}, {"axes": ["members", "times"], "seed": 9}),
    ({"axes": ["times", "members"], "parts": ["Deployment", "Project", "Project"]}, SOME),
    ({"axes": ["members"], "parts": []}, NOWHERE),
    ({"axes": ["ids", "members"], "seed": 3}, {"axes": ["members", "ids"], "seed": 3}),
    ({"axes": []}, {"axes": [], "seed": 3}),
]


def test_grease_is_switched_for_one_world_and_a_reset_restores_that_of_the_start() -> None:
    app = greased_app("times@Project.created_at")
    stub, other = control_client_of(app), control_client_of(app, "dev-token.w")
    initial = {"axes": ["times"], "seed": SEED, "parts": ["Project.created_at"]}
    assert stub.get("/_stub/grease").json == initial
    for document, expected in SWITCHES:
        switched = stub.put("/_stub/grease", json=document)
        assert (switched.status_code, switched.json) == (200, expected)
        assert stub.get("/_stub/grease").json == expected
        assert other.get("/_stub/grease").json == initial
        stub.get("/v1/projects")
        is_varied = document["axes"] and expected != NOWHERE
        assert ("members" in entries(stub)[-1]["grease"]) == bool(is_varied)
        assert ("times" in entries(stub)[-1]["grease"]) == (document == SWITCHES[0][0])
    stub.post("/_stub/reset")
    assert stub.get("/_stub/grease").json == initial
    other.get("/v1/projects")
    assert varied(app) >= {("members", "Project"), ("times", "Project.created_at")}


AXES_RULE = f"must be an array of {', '.join(AXES)}"
NO_PART = "must be an array of parts that these axes vary: "
INVALID: list[tuple[Any, dict[str, str | None]]] = [
    ([], {"": None}),
    ({}, {"/axes": AXES_RULE}),
    ({"axes": "members"}, {"/axes": AXES_RULE}),
    ({"axes": ["member"]}, {"/axes": AXES_RULE}),
    ({"axes": [[]], "seed": "1", "x": 1}, {"/x": None, "/axes": AXES_RULE, "/seed": None}),
    ({"axes": [], "seed": -1}, {"/seed": None}),
    ({"axes": [], "seed": True}, {"/seed": None}),
    ({"axes": [], "seed": 1.5}, {"/seed": None}),
    (
        {"axes": ["times", "times-odd"], "parts": ["Project"]},
        {"/parts": f"{NO_PART}Project.created_at, Deployment.created_at"},
    ),
    ({"axes": ["list-order"], "parts": LIST[1]}, {"/parts": NO_PART + LIST[1]}),
    ({"axes": ["list-order"], "parts": [[LIST[1]]]}, {"/parts": NO_PART + LIST[1]}),
    ({"axes": ["list-order"], "parts": None}, {"/parts": NO_PART + LIST[1]}),
    ({"axes": [], "parts": ["Project"]}, {"/parts": f"{NO_PART}none"}),
]


def test_an_invalid_switch_is_422_and_changes_nothing() -> None:
    stub = control_client_of(greased_app("times"))
    for document, expected in INVALID:
        errors = assert_invalid(stub.put("/_stub/grease", json=document), *expected)
        assert all(expected[each["pointer"]] in (None, each["detail"]) for each in errors)
        assert stub.get("/_stub/grease").json == {"axes": ["times"], "seed": SEED}


def test_an_axis_without_a_part_has_all_of_them() -> None:
    stub = control_client_of(greased_app("members@Project", "members"))
    assert stub.get("/_stub/grease").json == {"axes": ["members"], "seed": SEED}
    stub = control_client_of(greased_app("members@Project", "times"))
    assert stub.get("/_stub/grease").json["parts"] == ["Project", *PARTS["times"]]


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

    seeds = list(itertools.takewhile(bool, map(seed_after_interruption, itertools.count())))
    assert len(seeds) > 5
    assert {*seeds} == {9}


# Each variation is a function of the seed, the axis, the part, and the resource or the request


def look_at(axis: str, app: Flask) -> list[list[Any]]:
    found = seen(session(app))
    shown = [found[ASPECTS[axis], part] for part in PARTS[axis]]
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
    assert {key for key in one if one[key] != other[key]} == {
        *(("ids", "projects"), ("ids", "deployments"))
    }


def test_what_was_created_without_grease_varies_alike_once_it_is_on() -> None:
    late, early = client_of(greased_app()), client_of(greased_app(*BUT_IDS))
    for client in (late, early):
        client.post("/v1/projects", json={"name": "shop"})
    switch = {"axes": BUT_IDS, "seed": SEED}
    control_client_of(late.application).put("/_stub/grease", json=switch)
    assert wire(late.get("/v1/projects")) == wire(early.get("/v1/projects"))


@pytest.mark.parametrize("where", ["start", "reset"])
def test_the_records_of_a_seed_vary_alike_and_unlike_what_is_created(where: str) -> None:
    document = {"projects": [{"name": "shop"}, {"name": "blog", "id": "mine"}, {"name": "wiki"}]}

    def extra(*axes: str) -> list[set[str]]:
        seed = seed_of(document if where == "start" else {})
        control = control_client_of(app_with(axes, SEED, new_id=random_id, seed=seed))
        if where == "reset":
            control.post("/_stub/reset", json=document)
        control.post("/v1/projects", json={"name": "news"})
        records = json.loads(control.get("/v1/projects").data)["projects"]
        known = SCHEMAS["Project"]["properties"].keys()
        return [each.keys() - known for each in sorted(records, key=lambda each: str(each["name"]))]

    assert extra("members") == extra(*AXES)
    for one, other in itertools.combinations(extra("members"), 2):
        assert one
        assert not one & other


def test_the_order_of_two_projects_does_not_depend_on_a_third() -> None:
    for seed in range(3):
        client = client_of(greased_app("list-order", seed=seed))
        before = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        client.post("/v1/projects", json={"name": "late"})
        after = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        assert [name for name in after if name != "late"] == before


def test_a_get_that_shows_a_greased_id_says_so_and_changes_nothing_else() -> None:
    client = client_of(greased_app("ids", seed=7))
    control = control_client_of(client.application)
    sent = '{"name": "n\\u0061me", "n": [1.10, -0, 1e2]}'
    created = client.post("/v1/projects", data=sent, content_type="application/json")
    project = json.loads(created.data)
    control.put("/_stub/deployments/mine", json={"status": "failed", "project_id": project["id"]})
    shows = ["/v1/projects", path_of(project["latest_deployment_id"]), path_of("mine")]
    shows_none = [path_of("dpl_failed"), path_of("x"), path_of(project["id"])]
    before = [client.get(path).data for path in shows]
    assert sent[1:-1].encode() in before[0]
    for axes in (["ids"], ["success-code"], []):
        control.put("/_stub/grease", json={"axes": axes})
        assert [client.get(path).data for path in shows] == before
        for path in shows:
            for response in (client.get(path), client.head(path)):
                assert response.headers["Stub-Grease"] == "seed=7; axes=ids", path
        for path in shows_none:
            assert "Stub-Grease" not in client.get(path).headers, path
