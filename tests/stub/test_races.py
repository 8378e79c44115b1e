"""The state of a world is changed by one request at a time."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

import pytest
from flask import Flask

from tests.conftest import (
    ROOT,
    client_of,
    control_client_of,
    in_parallel,
    make_stub,
    names,
    seed_of,
)
from tests.stub.conftest import in_thread, interrupted, verdict_of, worlds_of


def slowly(module: str) -> Any:
    """A trace function that yields to other threads at each step of `stub.<module>`."""
    path = str(ROOT / "stub" / f"{module}.py")

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != path:
            return None
        frame.f_trace_opcodes = True
        time.sleep(0.0001 if event == "line" else 0.000001)
        return trace

    return trace


def race(jobs: Sequence[Callable[[], Any]], module: str) -> list[Any]:
    """Run all at once, with every window between two steps of `stub.<module>` widened: without it
    the obvious test passes without the lock, too.
    """
    previous = threading.gettrace()
    threading.settrace(slowly(module))
    try:
        results = in_parallel(jobs)
    finally:
        threading.settrace(previous)
    assert not [result for result in results if isinstance(result, Exception)]
    return results


def statuses(responses: list[Any]) -> list[int]:
    return sorted(response.status_code for response in responses)


def post_json(app: Flask, path: str, document: Any) -> Any:
    return control_client_of(app).post(path, json=document)


def race_for_the_last_faults(app: Flask) -> None:
    post_json(app, "/_stub/faults", {"status": 503, "times": 5})
    get = partial(control_client_of(app).get, "/v1/projects")
    assert statuses(race(8 * [get], "faults")) == 3 * [200] + 5 * [503]


def race_to_add_the_last_faults(app: Flask) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stub.faults.MAX_FAULTS", 3)
        add = partial(post_json, app, "/_stub/faults", {"status": 503})
        assert statuses(race(8 * [add], "faults")) == 3 * [201] + 5 * [422]


def race_to_count_rejections(app: Flask) -> None:
    rejection = ("GET", "/", "", 400, "malformed_request", "Why.")
    race(8 * [partial(worlds_of(app).common.rejections.count, *rejection)], "rejections")
    document = verdict_of(app).document(0)
    assert [each["count"] for each in document["rejected_by_the_server"]] == [8]


def race_to_be_counted_by_the_run(app: Flask) -> None:
    """The run counts the requests of all worlds, of one that a reset ends, too."""
    get = partial(control_client_of(app).get, "/v1/projects?a=1")
    race([get, get, partial(control_client_of(app).post, "/_stub/reset"), get, get], "journal")
    document = verdict_of(app).document(0)
    assert document["operations"]["listProjects"]["200"] == 4
    assert document["unpromised"][0]["count"] == 4


def race_to_judge_a_world_that_ends(app: Flask) -> None:
    """Its requests and its unused faults are told once, before a reset and after it."""
    client = control_client_of(app)
    client.get("/v1/projects")
    client.post("/_stub/faults", json={"status": 503})
    for found in read_meanwhile(
        lambda: verdict_of(app).document(0), lambda: client.post("/_stub/reset"), "worlds.py"
    ):
        assert found["operations"]["listProjects"]["200"] == 1
        assert len(found["unused_faults"]) == 1


def race_to_read_the_journal(app: Flask) -> None:
    """A reader never sees a number without its entry."""
    for found in read_meanwhile(
        lambda: control_client_of(app).get("/_stub/requests").json,
        lambda: control_client_of(app).get("/v1/projects"),
        "journal.py",
    ):
        assert len(found["requests"]) == found["last"]


def read_meanwhile(read: Callable[[], Any], call: Callable[[], Any], file: str) -> list[Any]:
    """What is read before each line of this file that a call runs."""
    reads = []
    with interrupted(lambda _: reads.append(in_thread(read, 0.02)), file):
        call()
    for thread, _ in reads:
        thread.join()
    return [result for _, results in reads for result in results]


def race_to_the_end_of_time(app: Flask) -> None:
    turn = partial(post_json, app, "/_stub/clock", {"advance": 3653 * 86400})
    assert statuses(race(8 * [turn], "clock")) == [200] + 7 * [422]


def race_into_a_new_world(app: Flask) -> None:
    for world in "abcd":
        client = control_client_of(app, f"dev-token.{world}")
        post = partial(client.post, "/v1/projects")
        race([partial(post, json={"name": name}) for name in "abcdefgh"], "worlds")
        assert sorted(names(client)) == [*"abcdefgh"]


def race_for_the_last_world(app: Flask) -> None:
    """A rejected request counts in the world that it meant, or else in the main one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stub.worlds.MAX_WORLDS", 1)
        clients = [client_of(app, f"bearer dev-token.{world}") for world in "abcdefgh"]
        responses = race([partial(each.get, "/v1/projects") for each in clients], "worlds")
        assert statuses(responses) == 8 * [401]
        worlds = control_client_of(app).get("/_stub/worlds").json["worlds"]
        assert [each["requests"] for each in worlds] == [7, 1]


def race_for_a_view(app: Flask) -> None:
    jobs = [
        partial(control_client_of(app).get, path) for path in 2 * ["/v1/projects", "/_stub/console"]
    ]
    for response in race(jobs, "journal")[1::2]:
        counts = response.json["coverage"]["operations"]["listProjects"]
        assert sum(counts.values()) == response.json["requests"]["last"]


STATES = {str(number): seed_of({"projects": [{"name": str(number)}]}) for number in range(8)}


def race_for_the_number_of_an_id(app: Flask) -> None:
    """With a seed an id is a function of its number. A project whose id is taken is not added."""
    race([partial(post_json, app, "/_stub/pact", {"state": state}) for state in STATES], "ids")
    assert len(names(control_client_of(app))) == 8


RACES = (
    race_for_the_last_faults,
    race_to_add_the_last_faults,
    race_to_count_rejections,
    race_to_be_counted_by_the_run,
    race_to_read_the_journal,
    race_to_the_end_of_time,
    race_into_a_new_world,
    race_for_the_last_world,
    race_to_judge_a_world_that_ends,
    race_for_a_view,
    race_for_the_number_of_an_id,
)


@pytest.mark.parametrize("run_race", RACES)
def test_the_state_of_a_world_is_changed_by_one_at_a_time(
    run_race: Callable[[Flask], None],
) -> None:
    run_race(make_stub(ids_seed=1, states=STATES))
