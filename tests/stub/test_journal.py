"""What the journal keeps; the recorded table has what it shows."""

import tracemalloc
from typing import Any

from flask.testing import FlaskClient

from tests.conftest import control_client_of, make_stub
from tests.contract import assert_problem
from tests.stub.conftest import entries, verdict_of


def test_the_journals_of_all_worlds_have_one_bound() -> None:
    """The oldest entries of all worlds go first, and as few as needed."""
    app = make_stub(journal_bytes=400_000)
    small, large, ended = (control_client_of(app, f"dev-token.{name}") for name in "abc")

    def use(client: FlaskClient, count: int) -> Any:
        for _ in range(count):
            client.get("/v1/projects", headers={"X-Long": 7000 * "é"})
        return client.get("/_stub/requests").json

    use(ended, 10)
    ended.post("/_stub/reset")
    assert use(small, 10)["dropped"] == 0
    kept = [use(large, 100), use(small, 1)]
    counts = [len(each["requests"]) for each in kept]
    assert (counts[1], kept[1]["dropped"]) == (1, 10)
    assert counts[0] + kept[0]["dropped"] == 100
    assert kept[0]["requests"][-1]["number"] == 100
    assert 250_000 < sum(counts) * 7_000 < 400_000  # bytes of the long header
    dropped = 10 + use(large, 0)["dropped"]
    for _ in range(2):  # also when the world has ended
        assert verdict_of(app).document(0)["dropped"] == dropped
        large.post("/_stub/reset")
    assert use(small, 15)["dropped"] == 10  # as there is room now


def test_an_incomplete_body_is_recorded_as_empty(stub: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": "10"}
    response = stub.post(
        "/v1/projects", data=b"abc", content_type="application/json", environ_overrides=environ
    )
    assert_problem(response, 400, "malformed_request")
    assert [(entry["body"], entry["status"]) for entry in entries(stub)] == [("", 400)]


def test_an_entry_keeps_no_more_of_a_rejection_than_its_size_says() -> None:
    members = {f"member-{number}": number for number in range(1000)}
    stub = control_client_of(make_stub(strict=True, journal_bytes=400_000))
    assert_problem(stub.post("/v1/projects", json=members), 422, "invalid_body")
    tracemalloc.start()
    try:
        for _ in range(5):
            stub.post("/v1/projects", json=members)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 400_000
    assert entries(stub)[0]["reason"] == "/name is required"
