"""What the journal keeps; the recorded table has what it shows."""

import tracemalloc

from tests.conftest import control_client_of, make_stub
from tests.contract import assert_problem
from tests.stub.conftest import entries, verdict_of


def test_the_report_counts_the_dropped_entries_also_of_a_world_that_ended() -> None:
    app = make_stub(journal_bytes=10_000)
    client = control_client_of(app, "dev-token.a")
    for _ in range(9):
        client.get("/v1/projects")
    dropped = client.get("/_stub/requests").json["dropped"]
    assert dropped > 0
    for _ in range(2):
        assert verdict_of(app).document(0)["dropped"] == dropped
        client.post("/_stub/reset")


def test_an_entry_keeps_no_more_of_a_rejection_than_its_size_says() -> None:
    members = {f"member-{number}": number for number in range(500)}
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
