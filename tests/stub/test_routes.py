"""The control routes: deployments, and what each route rejects."""

from flask.testing import FlaskClient

from tests.conftest import Clock
from tests.stub.conftest import status_of


def test_a_deployment_is_made_and_replaced(stub: FlaskClient, clock: Clock) -> None:
    path = "/_stub/deployments/dpl_x"
    stages = [{"status": "queued", "seconds": 5}, {"status": "on_hold", "seconds": 0.5}]
    timeline = {"timeline": [*stages, {"status": "failed"}]}
    made = stub.put(path, json=timeline)
    assert made.status_code == 201
    assert made.json == {
        "id": "dpl_x",
        "project_id": None,
        "status": "queued",
        "created_at": "2026-11-21T10:00:00.000Z",
    }
    for seconds, status in ((5.2, "on_hold"), (1, "failed")):
        clock.advance(seconds)
        assert status_of(stub, "dpl_x") == status
    again = stub.put(path, json=timeline)
    assert (again.status_code, again.json["status"]) == (200, "queued")
    for document in ({"project_id": "prj_search"}, {"project_id": None}):  # which it keeps
        pinned = stub.put(path, json={"status": "canceled", **document})
        assert (pinned.status_code, pinned.json["project_id"]) == (200, "prj_search")
    latest = {p["id"]: p["latest_deployment_id"] for p in stub.get("/v1/projects").json["projects"]}
    assert latest["prj_search"] == "dpl_x"


def test_a_check_of_the_health_does_not_turn_the_clock(stub: FlaskClient) -> None:
    before = stub.get("/_stub/clock").json
    for path in ("/_stub/health", "/_stub/ready"):
        assert stub.get(path).json == {"status": "ok"}
    assert stub.get("/_stub/clock").json == before


def test_a_deployment_may_have_any_id_of_unreserved_characters(stub: FlaskClient) -> None:
    for deployment_id in ("a", "...", "~-._", 255 * "a"):
        response = stub.put(f"/_stub/deployments/{deployment_id}", json={"status": "failed"})
        assert response.status_code == 201
        assert status_of(stub, deployment_id) == "failed"
