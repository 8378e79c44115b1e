"""The state of a world is changed by one request at a time."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from types import FrameType
from typing import Any

import pytest
from flask import Flask

from app import create_app
from stub import RejectedRequest, StubOptions
from tests.conftest import (
    ROOT,
    SAMPLE_SEED,
    Clock,
    control_client_of,
    in_parallel,
    names,
    seed_of,
)
from tests.stub.conftest import coverage, entries, in_thread, interrupted, stub_of


def slowly(module: str) -> Any:
    """A trace function that yields to other threads at each step of `stub.<module>`."""
    path = str(ROOT / "stub" / f"{module}.py")

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != path:
            return None
        frame.f_trace_opcodes = True
        if event == "line":
            time.sleep(0.0001)
        else:
            time.sleep(0)
        return trace

    return trace


def race(jobs: Sequence[Callable[[], Any]], module: str) -> list[Any]:
    """Run all at once, with every window between two steps of `stub.<module>` widened.

    Without it the obvious test is vacuous: it passes without the lock, too.
    """
    threading.settrace(slowly(module))
    try:
        results = in_parallel(jobs)
    finally:
        threading.settrace(None)
    assert not [result for result in results if isinstance(result, Exception)]
    return results


def race_for_the_last_faults() -> None:
    app = create_app()
    control_client_of(app).post("/_stub/faults", json={"status": 503, "times": 5})
    responses = race(8 * [lambda: control_client_of(app).get("/v1/projects")], "faults")
    statuses = [response.status_code for response in responses]
    assert sorted(statuses) == 3 * [200] + 5 * [503]


def race_to_add_the_last_faults() -> None:
    app = create_app()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stub.faults.MAX_FAULTS", 3)
        add = partial(post_json, app, "/_stub/faults", {"status": 503})
        statuses = [response.status_code for response in race(8 * [add], "faults")]
    assert sorted(statuses) == 3 * [201] + 5 * [422]


def race_to_count_rejections() -> None:
    app = create_app()
    rejection = RejectedRequest("GET", "/", "", 400, "malformed_request", "Why.")
    race(8 * [partial(stub_of(app).worlds.count_rejection, rejection)], "worlds")
    verdict = stub_of(app).judge()
    assert [each["count"] for each in verdict.document(0)["rejected_by_the_server"]] == [8]


def race_to_be_counted() -> None:
    app = create_app(seed=SAMPLE_SEED)
    path = "/v1/deployments/dpl_failed?a=1"
    race(8 * [lambda: control_client_of(app).get(path)], "coverage")
    client = control_client_of(app)
    shown = coverage(client)
    assert shown["operations"]["getDeployment"]["200"] == 8
    assert shown["deployment_statuses"]["failed"] == 8
    assert shown["unpromised"][0]["count"] == 8
    assert [entry["number"] for entry in entries(client)] == list(range(1, 9))


def race_to_be_counted_by_the_run() -> None:
    """A reset hands the counts of its world over while requests to it are counted."""
    app = create_app()
    get = partial(control_client_of(app).get, "/v1/projects?a=1")
    race([get, get, partial(control_client_of(app).post, "/_stub/reset"), get, get], "coverage")
    verdict = stub_of(app).judge()
    document = verdict.document(0)
    assert document["operations"]["listProjects"]["200"] == 4
    assert document["unpromised"][0]["count"] == 4


def race_to_judge_a_world_that_ends() -> None:
    """Its requests and its unused faults are told once, before a reset and after it."""
    app = create_app()
    client = control_client_of(app)
    client.get("/v1/projects")
    client.post("/_stub/faults", json={"status": 503})
    reads = []

    def read(_: int) -> None:
        reads.append(in_thread(lambda: stub_of(app).judge().document(0), 0.01))

    with interrupted(read, "worlds.py"):
        client.post("/_stub/reset")
    for thread, results in reads:
        thread.join()
        assert results[0]["operations"]["listProjects"]["200"] == 1
        assert len(results[0]["unused_faults"]) == 1


def race_for_a_number() -> None:
    app = create_app()
    paths = [f"/v1/projects?p{number}" for number in range(8)]
    race([partial(control_client_of(app).get, path) for path in paths], "journal")
    shown = coverage(control_client_of(app))["unpromised"]
    assert sorted(each["example"] for each in shown) == list(range(1, 9))


def race_to_read_the_journal() -> None:
    """A reader never sees a number without its entry."""
    app = create_app()
    client = control_client_of(app)
    client.get("/v1/deployments/d1")
    reads = []

    def read(_: int) -> None:
        reads.append(in_thread(lambda: entries(control_client_of(app)), 0.01))

    with interrupted(read, "journal.py"):
        client.get("/v1/deployments/d2")
    expected = [(1, "/v1/deployments/d1"), (2, "/v1/deployments/d2")]
    for thread, results in reads:
        thread.join()
        assert [(each["number"], each["path"]) for each in results[0]] in (expected[:1], expected)


def race_to_the_end_of_time() -> None:
    app = create_app()
    document = {"advance": 3653 * 86400}
    turn = partial(post_json, app, "/_stub/clock", document)
    statuses = [response.status_code for response in race(8 * [turn], "clock")]
    assert sorted(statuses) == [200] + 7 * [422]


def race_to_advance() -> None:
    """The clock takes the newest setting, which is that of all steps."""
    app = create_app(clock=Clock())
    client = control_client_of(app)
    race(4 * [partial(post_json, app, "/_stub/clock", {"advance": 1})], "clock")
    created = client.post("/v1/projects", json={"name": "a"}).json["created_at"]
    assert created == "2026-11-21T10:00:04.000Z"


def race_into_a_new_world() -> None:
    app = create_app()
    jobs = [
        partial(post_json, app, "/v1/projects", {"name": name}, "dev-token.w")
        for name in "abcdefgh"
    ]
    race(jobs, "worlds")
    assert sorted(names(control_client_of(app, "dev-token.w"))) == [*"abcdefgh"]


def race_for_a_view() -> None:
    app = create_app()
    jobs = [
        partial(control_client_of(app).get, path) for path in 2 * ["/v1/projects", "/_stub/console"]
    ]
    for response in race(jobs, "coverage")[1::2]:
        counts = response.json["coverage"]["operations"]["listProjects"]
        assert sum(counts.values()) == response.json["requests"]["last"]


def race_for_the_number_of_an_id() -> None:
    """With a seed an id is a function of its number. A project whose id is taken is not added."""
    states = {str(number): seed_of({"projects": [{"name": str(number)}]}) for number in range(8)}
    app = create_app(stub_options=StubOptions(ids_seed=1, states=states))
    race([partial(post_json, app, "/_stub/pact", {"state": state}) for state in states], "ids")
    assert len(names(control_client_of(app))) == 8


def post_json(app: Flask, path: str, document: Any, token: str = "dev-token") -> Any:
    return control_client_of(app, token).post(path, json=document)


RACES = [
    ("faults", race_for_the_last_faults),
    ("faults", race_to_add_the_last_faults),
    ("worlds", race_to_count_rejections),
    ("coverage", race_to_be_counted),
    ("coverage", race_to_be_counted_by_the_run),
    ("journal", race_for_a_number),
    ("journal", race_to_read_the_journal),
    ("clock", race_to_the_end_of_time),
    ("clock", race_to_advance),
    ("worlds", race_into_a_new_world),
    ("worlds", race_to_judge_a_world_that_ends),
    ("coverage", race_for_a_view),
    ("ids", race_for_the_number_of_an_id),
]


@pytest.mark.parametrize(("module", "run_race"), RACES)
def test_the_state_of_a_world_is_changed_by_one_at_a_time(
    module: str, run_race: Callable[[], None]
) -> None:
    run_race()


@pytest.mark.parametrize(("module", "run_race"), RACES)
def test_without_the_lock_every_race_fails(
    module: str, run_race: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {module, "journal"}:  # whose lock guards the coverage, too
        monkeypatch.setattr(f"stub.{name}.Lock", nullcontext)

    def race_often() -> None:
        for _ in range(60):
            run_race()

    with pytest.raises(AssertionError):
        race_often()
