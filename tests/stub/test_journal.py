"""What the journal keeps; the recorded table has what it shows."""

from flask.testing import FlaskClient

from tests.stub.conftest import entries


def test_a_world_keeps_its_last_1000_requests_and_counts_each(stub: FlaskClient) -> None:
    for _ in range(1001):
        stub.get("/v1/projects")
    assert [each["number"] for each in entries(stub)] == [*range(2, 1002)]
    assert stub.get("/_stub/coverage").json["operations"]["listProjects"]["200"] == 1001
