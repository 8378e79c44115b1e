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
from store import MemoryStore
from stub import Options
from tests.conftest import (
    ROOT,
    SAMPLE_SEED,
    Clock,
    control_client_of,
    counting_ids,
    in_parallel,
    names,
)
from tests.stub.conftest import coverage, entries


def slowly(module: str) -> Any:
    """A trace function that yields to other threads at each step of `stub.<module>`."""
    path = str(ROOT / "stub" / f"{module}.py")

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != path:
            return None
        frame.f_trace_opcodes = True
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


def race_for_a_number() -> None:
    app = create_app()
    paths = [f"/v1/projects?p{number}" for number in range(8)]
    race([partial(control_client_of(app).get, path) for path in paths], "journal")
    shown = coverage(control_client_of(app))["unpromised"]
    assert sorted(each["example"] for each in shown) == list(range(1, 9))


def race_to_the_end_of_time() -> None:
    app = create_app()
    document = {"advance": 3653 * 86400}
    turn = partial(post_json, app, "/_stub/clock", document)
    statuses = [response.status_code for response in race(8 * [turn], "worlds")]
    assert sorted(statuses) == [200] + 7 * [422]


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
        partial(control_client_of(app).get, path) for path in 4 * ["/v1/projects", "/_stub/console"]
    ]
    for response in race(jobs, "coverage")[1::2]:
        counts = response.json["coverage"]["operations"]["listProjects"]
        assert sum(counts.values()) == response.json["requests"]["last"]


def race_for_the_number_of_an_id() -> None:
    """The members that grease adds to a project depend on the number of its id."""

    def greased() -> Flask:
        options = Options(grease=("members",), grease_seed=1)
        return create_app(clock=Clock(), new_id=counting_ids(), stub_options=options)

    def create_all(app: Flask) -> None:
        for name in "abcdef":
            post_json(app, "/v1/projects", {"name": name})

    app, serial = greased(), greased()
    create_all(serial)
    show = partial(control_client_of(app).get, "/v1/projects")
    race([partial(create_all, app), *3 * [show]], "grease")
    assert show().json == control_client_of(serial).get("/v1/projects").json


def post_json(app: Flask, path: str, document: Any, token: str = "dev-token") -> Any:
    return control_client_of(app, token).post(path, json=document)


def set_clock_in_any_case(store: Any, old: str, new: str) -> bool:
    """Forgets to compare, which is the lock of a clock."""
    store.__dict__["_clock_setting"] = new
    return True


RACES = [
    ("faults", race_for_the_last_faults),
    ("coverage", race_to_be_counted),
    ("journal", race_for_a_number),
    ("worlds", race_to_the_end_of_time),
    ("worlds", race_into_a_new_world),
    ("coverage", race_for_a_view),
    ("grease", race_for_the_number_of_an_id),
]


@pytest.mark.parametrize(("module", "run_race"), RACES)
def test_the_state_of_a_world_is_changed_by_one_at_a_time(
    module: str, run_race: Callable[[], None]
) -> None:
    for _ in range(3):
        run_race()


@pytest.mark.parametrize(("module", "run_race"), RACES)
def test_without_the_lock_every_race_fails(
    module: str, run_race: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in {module, "worlds"}:  # the lock of a world guards its journal and coverage, too
        monkeypatch.setattr(f"stub.{name}.Lock", nullcontext)
    monkeypatch.setattr(MemoryStore, "set_clock", set_clock_in_any_case)

    def race_often() -> None:
        for _ in range(60):
            run_race()

    with pytest.raises(AssertionError):
        race_often()
