"""Grease that is limited to parts of the contract, and what its variations are a function of."""

import itertools
import json
import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from store import random_id
from stub import Contract
from stub.grease.parts import Parts
from tests.conftest import SAMPLE_SEED, control_client_of, counting_ids, seed_of
from tests.contract import V1, assert_invalid
from tests.stub.conftest import entries, in_thread, interrupted, stub_of
from tests.stub.greased import AXES, greased_app, path_of, wire

SCHEMAS = V1.document["components"]["schemas"]
PARTS = Parts(Contract(V1.document), are_announced=True).by_axis
SIBLINGS = {"times": "times-odd", "times-odd": "times"}  # those that vary the same
SIBLINGS |= {"ids": "ids-encoded", "ids-encoded": "ids"}
ASPECTS = {"ids-encoded": "ids", **dict.fromkeys(("times", "times-odd", "error-text"), "value")}
KINDS = {"id": "{}s", "project_id": "projects", "latest_deployment_id": "deployments"}


def app_of(*grease: str, seed: int = 0, **options: Any) -> Flask:
    return greased_app(grease, seed, **{"new_id": counting_ids(), "seed": SAMPLE_SEED, **options})


def varied(app: Flask) -> set[tuple[str, str]]:
    return {(axis, part) for axis in AXES for part in stub_of(app).parts.varied_by(axis)}


def session(app: Flask) -> list[tuple[str, TestResponse]]:
    """Responses that have every part of the contract, each with the name of its own part."""
    client, found = control_client_of(app), []
    for name in ("shop", "blog"):
        created = client.post("/v1/projects", json={"name": name})
        latest = path_of(json.loads(created.data)["latest_deployment_id"])
        found += [("createProject 201", created), ("getDeployment 200", client.get(latest))]
    for path, item in V1.document["paths"].items():
        for method in ("get", "post"):
            for status in item.get(method, {"responses": ()})["responses"]:
                if (method, status) != ("post", "201"):
                    prefer = {"Prefer": f"code={status}"} if status > "4" else {}
                    at = path.replace("{id}", "dpl_failed")
                    response = client.open(at, method=method, headers=prefer)
                    found.append((f"{item[method]['operationId']} {status}", response))
    return [
        *found,
        ("createProject 422", client.post("/v1/projects", json={"name": 1})),
        ("404", client.get("/v1/nothing")),
        ("405", client.delete("/v1/projects")),
        ("401", app.test_client().get("/v1/nothing")),
    ]


def look(value: dict[str, Any], name: str) -> Iterator[tuple[Any, Any]]:
    """What an object of a schema shows, each with the aspect and the part that it belongs to."""
    known = SCHEMAS[name]["properties"]
    yield ("members", name), sorted(value.keys() - known.keys())
    yield ("member-order", name), [member for member in value if member in known]
    for member, each in value.items():
        if member in KINDS and each:
            yield ("ids", KINDS[member].format(name.lower())), each
        elif member == "status" and isinstance(each, str):
            yield ("status-values", name), each
        elif isinstance(each, list) and member in known:
            if member == "projects":
                yield ("list-order", f"{name}.{member}"), [one["name"] for one in each]
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
            (("json-text", part), (re.split(r"\S", text)[0], re.findall(r"\\u00[2-7]", text))),
            (("headers", part), [pair for pair in response.headers if pair[0][:2] == "X-"]),
            (("media-type", part), response.headers["Content-Type"]),
            (("success-code", part), response.status_code),
            *look(json.loads(text), "Problem" if is_error else schema or "Deployment"),
        ):
            found.setdefault(key, []).append(value)
    return found


@cache
def plainly() -> list[tuple[str, TestResponse]]:
    return session(app_of())


@pytest.mark.parametrize("axis", AXES)
def test_a_part_varies_alike_alone_and_among_others_and_nothing_else_does(axis: str) -> None:
    plain = seen(plainly())
    among = seen(session(app_of(*(each for each in AXES if each != SIBLINGS.get(axis)))))
    of_seeds = [seen(session(app_of(axis, seed=seed))) for seed in range(5)]
    assert axis == "success-code" or of_seeds[0] not in of_seeds[1:]
    # The order of an object of one member varies only beside `members`.
    for part in (each for each in PARTS[axis] if (axis, each) != ("member-order", "ProjectList")):
        app = app_of(f"{axis}@{part}")
        responses = session(app)
        alone, here = seen(responses), (ASPECTS.get(axis, axis), part)
        assert {key for key in plain if plain[key] != alone[key]} == {here}, part
        assert without_escapes(alone[here]) == without_escapes(among[here])
        assert varied(app) == {(axis, part)}
        for (_, response), (_, before) in zip(responses, plainly(), strict=True):
            header = response.headers.pop("Stub-Grease", None)
            is_varied = wire(response) != wire(before)
            assert header == (f"seed=0; axes={axis}" if is_varied else None)


def without_escapes(shown: list[Any]) -> list[Any]:
    """Other axes add strings to a text, which have escapes too."""
    return [each[0] if isinstance(each, tuple) else each for each in shown]


def test_the_parts_are_those_of_the_contract() -> None:
    assert PARTS["members"] == ["ProjectList", "Project", "Deployment", "Problem", "FieldError"]
    assert PARTS["times"] == ["Project.created_at", "Deployment.created_at"]
    assert PARTS["ids"] == ["projects", "deployments"]
    assert {"listProjects 200", "getDeployment 404", "404", "405"} <= {*PARTS["headers"]}
    app = app_of(*AXES)
    session(app)
    assert varied(app) == {(axis, part) for axis in AXES for part in PARTS[axis]}
    described = stub_of(app).parts.described.values()
    assert not [each for each in described if "fixed" in each["x-origin"]]


def test_a_list_of_one_record_and_a_deployment_at_its_end_do_not_vary() -> None:
    app = app_of("list-order", "status-values", "ids@deployments")
    control = control_client_of(app)
    control.post("/_stub/reset", json={"projects": [{"name": "shop"}]})
    control.put("/_stub/deployments/dpl_x", json={"status": "failed"})
    for path in ("/v1/projects", "/v1/deployments/dpl_x"):
        control.get(path)
    assert varied(app) == {("ids", "deployments")}


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
    app = app_of("times@Project.created_at")
    stub, other = control_client_of(app), control_client_of(app, "dev-token.w")
    initial = {"axes": ["times"], "seed": 0, "parts": ["Project.created_at"]}
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
NO_TIME = f"{NO_PART}Project.created_at, Deployment.created_at"
INVALID: list[tuple[Any, dict[str, str | None]]] = [
    ([], {"": None}),
    ({}, {"/axes": AXES_RULE}),
    ({"axes": "members"}, {"/axes": AXES_RULE}),
    ({"axes": [[]], "seed": "1", "x": 1}, {"/x": None, "/axes": AXES_RULE, "/seed": None}),
    ({"axes": ["member"], "seed": -1}, {"/axes": AXES_RULE, "/seed": None}),
    ({"axes": [], "seed": 1.5}, {"/seed": None}),
    ({"axes": ["times", "times-odd"], "parts": ["Project"]}, {"/parts": NO_TIME}),
    ({"axes": ["times"], "parts": "Project.created_at"}, {"/parts": NO_TIME}),
    ({"axes": ["times"], "parts": [["Project.created_at"]]}, {"/parts": NO_TIME}),
    ({"axes": ["times"], "parts": None}, {"/parts": NO_TIME}),
    ({"axes": [], "parts": ["Project"]}, {"/parts": f"{NO_PART}none"}),
]


def test_an_invalid_switch_is_422_and_changes_nothing() -> None:
    stub = control_client_of(app_of("times"))
    for document, expected in INVALID:
        errors = assert_invalid(stub.put("/_stub/grease", json=document), *expected)
        assert all(expected[each["pointer"]] in (None, each["detail"]) for each in errors)
        assert stub.get("/_stub/grease").json == {"axes": ["times"], "seed": 0}


def test_an_axis_without_a_part_has_all_of_them() -> None:
    stub = control_client_of(app_of("members@Project", "members"))
    assert stub.get("/_stub/grease").json == {"axes": ["members"], "seed": 0}
    stub = control_client_of(app_of("members@Project", "times"))
    assert stub.get("/_stub/grease").json["parts"] == ["Project", *PARTS["times"]]


def test_a_switch_without_a_seed_undoes_no_other_switch() -> None:
    control = control_client_of(app_of())

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


def test_random_ids_change_no_variation() -> None:
    for seed in range(3):
        apps = [app_of(*AXES, seed=seed, new_id=random_id) for _ in range(2)]
        first, second = ([wire(response) for _, response in session(app)] for app in apps)
        assert first == second
    axes = [axis for axis in AXES if axis != "ids"]
    one, other = (seen(session(app_of(*axes, new_id=random_id))) for _ in range(2))
    different = {key for key in one if one[key] != other[key]}
    assert different == {("ids", "projects"), ("ids", "deployments")}


def test_what_was_created_without_grease_varies_alike_once_it_is_on() -> None:
    axes = [axis for axis in AXES if axis not in ("ids", "ids-encoded")]
    late, early = control_client_of(app_of()), control_client_of(app_of(*axes))
    for client in (late, early):
        client.post("/v1/projects", json={"name": "shop"})
    late.put("/_stub/grease", json={"axes": axes})
    assert wire(late.get("/v1/projects")) == wire(early.get("/v1/projects"))


@pytest.mark.parametrize("where", ["start", "reset"])
def test_the_records_of_a_seed_vary_alike_and_unlike_what_is_created(where: str) -> None:
    document = {"projects": [{"name": "shop"}, {"name": "blog", "id": "mine"}, {"name": "wiki"}]}

    def extra() -> list[set[str]]:
        seed = seed_of(document if where == "start" else {})
        control = control_client_of(greased_app(("members",), 0, new_id=random_id, seed=seed))
        if where == "reset":
            control.post("/_stub/reset", json=document)
        control.post("/v1/projects", json={"name": "news"})
        records = control.get("/v1/projects").json["projects"]
        return [each.keys() - SCHEMAS["Project"]["properties"].keys() for each in records]

    assert extra() == extra()
    for one, other in itertools.combinations(extra(), 2):
        assert one
        assert not one & other


def test_the_order_of_two_projects_does_not_depend_on_a_third() -> None:
    for seed in range(3):
        client = control_client_of(app_of("list-order", seed=seed))
        before = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        client.post("/v1/projects", json={"name": "late"})
        after = [each["name"] for each in client.get("/v1/projects").json["projects"]]
        assert [name for name in after if name != "late"] == before


def test_a_get_that_shows_a_greased_id_says_so_and_changes_nothing_else() -> None:
    client = control_client_of(app_of("ids", seed=7))
    sent = '{"name": "n\\u0061me", "n": [1.10, -0, 1e2]}'
    created = client.post("/v1/projects", data=sent, content_type="application/json")
    project = json.loads(created.data)
    client.put("/_stub/deployments/mine", json={"status": "failed", "project_id": project["id"]})
    shows = ["/v1/projects", path_of(project["latest_deployment_id"]), path_of("mine")]
    shows_none = [path_of("dpl_failed"), path_of("x"), path_of(project["id"])]
    before = [client.get(path).data for path in shows]
    assert sent[1:-1].encode() in before[0]
    for axes in (["ids"], ["success-code"], []):
        client.put("/_stub/grease", json={"axes": axes})
        assert [client.get(path).data for path in shows] == before
        for path in shows:
            for response in (client.get(path), client.head(path)):
                assert response.headers["Stub-Grease"] == "seed=7; axes=ids", path
        for path in shows_none:
            assert "Stub-Grease" not in client.get(path).headers, path
