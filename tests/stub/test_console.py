"""The console over HTTP: its files, and what the recorded table does not show of its view."""

from typing import Any

from flask.testing import FlaskClient

from tests.conftest import control_client_of, make_stub
from tests.contract import CREATED
from tests.stub.conftest import Clients


def view(client: FlaskClient) -> Any:
    return client.get("/_stub/console").json


def test_a_world_has_a_view_and_an_instance_until_a_reset(
    stub: FlaskClient, world: Clients
) -> None:
    client = world("a")
    client.get("/v1/projects")
    first = view(client)
    assert (first["world"], first["requests"]["last"]) == ("a", 1)
    assert view(stub)["requests"]["last"] == 0
    assert view(client)["instance"] == first["instance"] != view(stub)["instance"]
    client.post("/_stub/reset")
    assert view(client)["instance"] != first["instance"]


def test_each_part_of_the_view_has_a_limit() -> None:
    stub = control_client_of(make_stub())
    stub.put("/_stub/grease", json={"axes": ["ids"], "seed": 3})
    for number in range(60):
        name = f"{number:03}" + 97 * '"'
        assert stub.post("/v1/projects", json={"name": name}).status_code == CREATED
    for number in range(30):
        fault = {"method": 32 * "M", "path": "/v1/" + 250 * '"', "status": 502,
                 "body": 10_000 * "\u202e", "content_type": f"a/{126 * 'b'}"}  # fmt: skip
        assert stub.post("/_stub/faults", json=fault).status_code == 201
        stub.delete(f"/v1/{number}{500 * 'x'}")
        stub.get(f"/v1/projects?q{number}{300 * 'x'}=1")
    response = stub.get("/_stub/console")
    assert len(response.data) <= 100_000
    shown = response.json
    newest, faults = shown["projects"]["newest"], shown["faults"]
    assert (shown["projects"]["count"], len(newest)) == (60, 50)
    assert (faults["count"], len(faults["first"])) == (30, 20)
    assert faults["first"][0]["body"] == 120 * "\u202e" + "…"
    for kind in ("unpromised", "violations"):
        found = shown["coverage"][kind]
        assert (found["count"] > 20, len(found["first"])) == (True, 10)
