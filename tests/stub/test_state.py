"""GET /_stub/state: a reset with it brings back what there was."""

import json
from typing import Any

from flask.testing import FlaskClient

from app import create_app
from tests.conftest import Clock, control_client_of, counting_ids

ODD_PROJECTS = [
    b'{"name": "plain"}',
    b' { "x":1.50e+2,\n\t"name" :"spaced" , "y": -0 } ',
    b'{"name": "\\u0065scaped \\ud83d\\ude00", "slash": "\\/", "n": 12345678901234567890}',
    '{"name": "ünïcode 😀", "": {"id": 1, "created_at": [" "]}}'.encode(),
    b'{"n": ' + 308 * b"7" + b', "name": "long"}',
]


def fill(client: FlaskClient) -> None:
    for body in ODD_PROJECTS:
        response = client.post("/v1/projects", data=body, content_type="application/json")
        assert response.status_code == 201


def statuses(client: FlaskClient) -> dict[str, str]:
    """The status of each deployment in the state."""
    state = client.get("/_stub/state").json
    paths = [f"/v1/deployments/{each['id']}" for each in state["deployments"]]
    return {path: client.get(path).json["status"] for path in paths}


def restored(state: bytes, clock: Clock) -> FlaskClient:
    """A client of another app that was reset to a state."""
    client = control_client_of(create_app(clock=clock))
    response = client.post("/_stub/reset", data=state, content_type="application/json")
    assert response.status_code == 204
    return client


def exact(data: bytes) -> Any:
    """A document with its numbers as text."""
    return json.loads(data, parse_int=str, parse_float=str)


def test_a_reset_with_the_state_brings_back_the_list_digit_by_digit(
    stub: FlaskClient, clock: Clock
) -> None:
    fill(stub)
    stub.put("/_stub/deployments/of_none", json={"status": "odd"})
    for name in ("one", "two", "one"):
        of_website = {"status": "x", "project_id": "prj_website"}
        stub.put(f"/_stub/deployments/{name}", json=of_website)
    state = stub.get("/_stub/state").data
    listed, seen = stub.get("/v1/projects").data, statuses(stub)
    other = restored(state, clock)
    assert exact(other.get("/v1/projects").data) == exact(listed)
    assert statuses(other) == seen
    assert exact(other.get("/_stub/state").data) == exact(state)


def test_a_deployment_has_the_status_that_it_had_and_will_have(
    stub: FlaskClient, clock: Clock
) -> None:
    fill(stub)
    timeline = [{"status": f"s{n}", "seconds": 10 * n} for n in range(4)] + [{"status": "end"}]
    stub.put("/_stub/deployments/moving", json={"timeline": timeline})
    stub.post("/_stub/clock", json={"advance": 12.5})
    clock.advance(1)
    state = stub.get("/_stub/state").data
    clock.advance(1000)
    other = restored(state, clock)
    seen = []
    for _ in range(8):
        seen.append(statuses(other)["/v1/deployments/moving"])
        other.post("/_stub/clock", json={"advance": 6.5})
    assert seen == ["s2", "s2", "s2", "s3", "s3", "s3", "s3", "s3"]
    assert statuses(other)["/v1/deployments/moving"] == "end"
    first = json.loads(state)["deployments"]
    moving = next(each for each in first if each["id"] == "moving")
    assert moving["timeline"][0] == {"status": "s2", "seconds": 16.5}
    assert "created_at" not in moving


def test_a_seed_keeps_the_order_and_the_digits_of_a_project() -> None:
    for project, sent in (
        ('{"name": "x", "id": "a"}', '"name": "x"}'),
        ('{"b":1.50e+2,\n"created_at":"2026-01-01T00:00:00Z","name":"x"}',
         '"b": 1.50e+2, "name": "x"}'),
        ('{"\\u0069d": "a", "name": "x", "c": {"id": -0}}', '"name": "x", "c": {"id": -0}}'),
        ('{"name": "é\\u00e9\\"1", "1": ["1", 1]}', '"name": "éé\\"1", "1": ["1", 1]}'),
    ):  # fmt: skip
        client = control_client_of(create_app(new_id=counting_ids()))
        data = f'{{"deployments": [], "projects": [ {project}\n] }}'
        client.post("/_stub/reset", data=data, content_type="application/json")
        assert client.get("/v1/projects").text.endswith(f'", {sent}]}}\n')


def test_what_was_created_comes_back_whatever_its_size(stub: FlaskClient) -> None:
    for body in (
        '{"name": "spaces"' + (64 * 1024 - 18) * " " + "}",
        '{"name":"numbers","x":[' + ",".join(13_000 * ["1e15"]) + "]}",
        '{"name": "' + 90 * "é" + '", "x": "' + 32_000 * "é" + '"}',
    ):
        created = stub.post("/v1/projects", data=body, content_type="application/json")
        assert created.status_code == 201
        listed, state = stub.get("/v1/projects").data, stub.get("/_stub/state").data
        reset = stub.post("/_stub/reset", data=state, content_type="application/json")
        assert (reset.status_code, exact(stub.get("/v1/projects").data)) == (204, exact(listed))


def test_a_stage_of_less_than_a_millisecond_comes_back() -> None:
    for seconds in (5e-324, 4e-7, 1.4e-6, 1.5e-6):
        clock = Clock()
        stub = control_client_of(create_app(clock=clock, pace=seconds))
        stages = [{"status": status, "seconds": seconds} for status in "abc"]
        stub.put("/_stub/deployments/d", json={"timeline": [*stages, {"status": "end"}]})
        stub.post("/v1/projects", json={"name": "paced"})
        other = restored(stub.get("/_stub/state").data, clock)
        assert {"a", "queued"} == {*statuses(stub).values()}
        for _ in range(8):
            assert statuses(other) == statuses(stub)
            clock.advance(0.000001)
        assert {"end", "succeeded"} == {*statuses(stub).values()}


def test_a_seed_may_be_as_deep_as_a_body() -> None:
    deep: Any = []
    for _ in range(30):
        deep = [deep]
    document = {"projects": [{"name": "a", "deep": deep}]}
    client = control_client_of(create_app())
    assert client.post("/_stub/reset", json=document).status_code == 204
    document["projects"][0]["deep"] = [deep]
    assert client.post("/_stub/reset", json=document).status_code == 400


def test_a_stage_of_very_many_seconds_is_exported(stub: FlaskClient) -> None:
    timeline = [{"status": "a", "seconds": 10**308}, {"status": "b"}]
    assert stub.put("/_stub/deployments/d", json={"timeline": timeline}).status_code == 201
    state = stub.get("/_stub/state")
    assert stub.post("/_stub/reset", json=state.json).status_code == 204
    assert stub.get("/v1/deployments/d").json["status"] == "a"
