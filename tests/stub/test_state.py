"""GET /_stub/state: a reset with it brings back what there was."""

from flask.testing import FlaskClient

from tests.conftest import Clock, control_client_of, counting_ids, make_stub

ODD_PROJECTS = [
    b' { "x":1.50e+2,\n\t"name" :"spaced" , "y": -0 } ',
    b'{"name": "\\u0065scaped \\ud83d\\ude00", "slash": "\\/", "n": 12345678901234567890}',
    '{"name": "ünïcode 😀", "": {"id": 1, "created_at": [" "]}}'.encode(),
    b'{"n": ' + 308 * b"7" + b', "name": "long"}',
    b'{"name":"compact","team":"x"}',
    b'{ "name" : "spelled", "n":1.10, "u":"\\u00e9\\/" }',
    b'{"name": "large", "n": [' + b",".join(9000 * [b"1e308"]) + b"]}",
]


def statuses(client: FlaskClient) -> dict[str, str]:
    """The status of each deployment in the state."""
    ids = [each["id"] for each in client.get("/_stub/state").json["deployments"]]
    return {each: client.get(f"/v1/deployments/{each}").json["status"] for each in ids}


def restored(state: bytes, clock: Clock) -> FlaskClient:
    """A client of another app that was reset to a state."""
    client = control_client_of(make_stub(clock=clock, new_id=counting_ids()))
    response = client.post("/_stub/reset", data=state, content_type="application/json")
    assert response.status_code == 204
    return client


def test_a_reset_with_the_state_brings_back_the_values_of_the_list(
    stub: FlaskClient, clock: Clock
) -> None:
    for body in ODD_PROJECTS:
        stub.post("/v1/projects", data=body, content_type="application/json")
    stub.put("/_stub/deployments/of_none", json={"status": "odd"})
    for name in ("one", "two", "one"):
        of_website = {"status": "x", "project_id": "prj_website"}
        stub.put(f"/_stub/deployments/{name}", json=of_website)
    state = stub.get("/_stub/state")
    listed, seen = stub.get("/v1/projects").json, statuses(stub)
    assert len(listed["projects"]) == 3 + len(ODD_PROJECTS)
    other = restored(state.data, clock)
    assert other.get("/v1/projects").json == listed
    assert statuses(other) == seen
    assert other.get("/_stub/state").json == state.json


def test_a_stage_of_less_than_a_millisecond_comes_back() -> None:
    for seconds in (5e-324, 1.4e-6):
        clock = Clock()
        stub = control_client_of(make_stub(clock=clock, pace=seconds))
        stages = [{"status": status, "seconds": seconds} for status in "abc"]
        stub.put("/_stub/deployments/d", json={"timeline": [*stages, {"status": "end"}]})
        stub.post("/v1/projects", json={"name": "paced"})
        other = restored(stub.get("/_stub/state").data, clock)
        assert {*statuses(stub).values()} == {"a", "queued"}
        for _ in range(8):
            assert statuses(other) == statuses(stub)
            clock.advance(0.000001)
        assert {*statuses(stub).values()} == {"end", "succeeded"}
