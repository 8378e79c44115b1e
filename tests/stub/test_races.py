"""What threads share is changed by one at a time.

Threads take turns at nearly every step here, and the windows between two steps are widened by what
is passed in: a slow clock, a slow hash, a slow number. Each test fails without the lock that it is
about.
"""

import threading
import time
from datetime import datetime
from functools import partial

from flask import Flask, Response, g

from stub.grease.axes import Grease, Switch
from stub.request.coverage import Coverage
from stub.request.entry import Entry, Recorded
from stub.request.faults import Faults
from stub.request.journal import Journal
from stub.world.clock import Setting, WorldClock
from stub.world.ids import Ids
from stub.world.worlds import MAIN
from tests.conftest import START, SlowText, control_client_of, in_parallel, make_stub, names, pause
from tests.stub.conftest import entries, race, verdict_of, worlds_of
from web.problems import InvalidBody

MANY = 8  # threads


def slow_clock() -> datetime:
    pause()
    return START


class SlowNumber(int):
    """A number of which a comparison takes a while, once it is made."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        is_it = super().__eq__(other)
        if is_it:
            time.sleep(0.1)  # in which the other threads come here, each with a whole request
        return is_it

    def __le__(self, other: int) -> bool:
        is_it = super().__le__(other)
        pause()
        return is_it


class SlowSum(int):
    """A number to which an addition takes a while."""

    def __add__(self, other: int) -> "SlowSum":
        pause()
        return SlowSum(int(self) + other)


def used_app() -> tuple[Flask, Entry]:
    """An app, and the entry of a request to it."""
    found: list[Entry] = []

    def log(response: Response) -> Response:
        found.append(g.store.recorded.entry)
        return response

    app = make_stub(log=log)
    control_client_of(app).get("/v1/projects")
    (entry,) = found
    return app, entry


def test_a_fault_is_met_as_often_as_requested() -> None:
    app = make_stub()
    worlds_of(app).open(MAIN).faults.add({"status": 503, "times": SlowNumber(5)})
    found = race(MANY * [partial(control_client_of(app).get, "/v1/projects")])
    assert sorted(each.status_code for each in found) == 3 * [200] + 5 * [503]


def test_no_more_faults_are_added_than_there_is_room_for() -> None:
    faults = Faults(SlowNumber(3))
    results = in_parallel(MANY * [partial(faults.add, {"status": 503})])
    assert [type(each) for each in results].count(InvalidBody) == MANY - 3
    assert len(faults.waiting) == 3


def test_each_entry_has_a_number_of_its_own() -> None:
    _, entry = used_app()
    journal = Journal()
    journal.last = SlowSum()
    numbers = race(MANY * [partial(journal.append, entry)])
    assert sorted(numbers) == [*range(1, MANY + 1)]


def test_each_kind_of_finding_is_counted() -> None:
    app, entry = used_app()
    coverage = Coverage(worlds_of(app).shared.contract, 10)
    recorded = Recorded("", 1, entry._replace(unpromised=(SlowText("what"),)))
    race(MANY * [partial(coverage.count, recorded)])
    assert [each.count for each in coverage.list_findings()] == [MANY]


def test_a_clock_is_advanced_by_each() -> None:
    clock = WorldClock(slow_clock, Setting())
    race(MANY * [partial(clock.change, 1)])
    assert clock.setting.advanced == MANY


def test_each_id_has_a_number_of_its_own() -> None:
    made = iter(range(MANY))

    def new_id(prefix: str) -> str:
        pause()
        return f"{prefix}_{next(made)}"

    ids = Ids(new_id, None, {}, Switch(Grease({}, 0)))
    found = race(MANY * [partial(ids, "prj")])
    assert sorted(map(ids.key, found)) == [f"#{number}" for number in range(1, MANY + 1)]


def test_a_world_is_made_once() -> None:
    app = make_stub(clock=slow_clock)
    client = control_client_of(app, "dev-token.new")
    posts = [partial(client.post, "/v1/projects", json={"name": name}) for name in "abcdefgh"]
    race(posts)
    assert sorted(names(client)) == [*"abcdefgh"]


def test_worlds_that_make_room_for_others_lose_no_request() -> None:
    app = make_stub(clock=slow_clock, max_worlds=2)
    clients = [control_client_of(app, f"dev-token.{world}") for world in "abcdefgh"]
    race(3 * [partial(each.get, "/v1/projects") for each in clients])
    counts = verdict_of(app).document(0)["operations"]["listProjects"]
    assert counts["200"] == 3 * MANY
    worlds = control_client_of(app).get("/_stub/worlds").json
    assert (len(worlds["worlds"]), worlds["room"]) == (3, 0)


def test_what_a_world_showed_is_reported_once_while_it_ends() -> None:
    app = make_stub()
    client = control_client_of(app)
    has_ended = threading.Event()

    def judge() -> None:
        while not has_ended.is_set():
            unused = worlds_of(app).list_unused_faults()
            assert len(unused) == 1

    def reset() -> None:
        try:
            client.post("/_stub/reset")
        finally:
            has_ended.set()

    for number in range(100):
        client.get(f"/v1/projects?page{number}=1")
    client.post("/_stub/faults", json={"status": 503})
    race([reset, judge, judge])
    assert verdict_of(app).document(0)["operations"]["listProjects"]["200"] == 100


def test_a_view_shows_the_coverage_of_the_requests_that_it_names() -> None:
    app, entry = used_app()
    world = worlds_of(app).open(MAIN)
    applied = entry.applied._replace(axes=(SlowText("headers"),))  # which are counted first
    slow = entry._replace(applied=applied)

    def record() -> None:
        for _ in range(MANY):
            world.record(slow)

    def view() -> None:
        for _ in range(4 * MANY):
            pause()  # in which requests come
            _, last, coverage = world.read_requests()
            assert sum(coverage["operations"]["listProjects"].values()) == last

    race([record, record, view])


def test_a_request_stays_in_the_world_that_it_entered() -> None:
    """A reset comes while a project is created: neither it nor its entry is in the new world."""

    def new_id(prefix: str) -> str:
        if prefix == "prj":
            in_parallel([partial(control_client_of(app).post, "/_stub/reset")])
        return f"{prefix}_1"

    app = make_stub(new_id=new_id)
    client = control_client_of(app)
    assert client.post("/v1/projects", json={"name": "mine"}).json["id"] == "prj_1"
    assert names(client) == []
    assert [each["method"] for each in entries(client)] == ["GET"]
    counts = verdict_of(app).document(0)["operations"]
    assert (counts["createProject"]["201"], counts["listProjects"]["200"]) == (1, 1)
