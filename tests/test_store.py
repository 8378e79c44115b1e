"""Statuses by age, and the contract of a `Store`, which every implementation passes."""

import json
from datetime import timedelta
from itertools import chain, count, cycle

import pytest

from records import Deployment, Stage
from store import StoreFull
from tests.conftest import START, Clock
from tests.stores import FAILED, MakeStore, PlainStore, records_of


def test_a_status_depends_on_the_age_alone() -> None:
    timeline = (Stage("a", 0), Stage("b", 1.5), Stage("c", 0.0), Stage("d", 2), Stage("e"))
    deployment = Deployment("d1", None, START, timeline)
    statuses = [deployment.status(START + timedelta(seconds=half / 2)) for half in range(9)]
    assert "".join(statuses) == "bbbddddee"
    assert deployment.status(START - timedelta(days=1)) == "a"


def test_the_seconds_of_stages_add_up() -> None:
    for seconds, age in (([0.1, 0.2], 0.3), ([0.7, 0.1], 0.8), (10 * [0.1], 1.0)):
        timeline = (*(Stage("running", each) for each in seconds), Stage("over"))
        deployment = Deployment("d1", None, START, timeline)
        assert deployment.status(START + timedelta(seconds=age - 0.000001)) == "running"
        assert deployment.status(START + timedelta(seconds=age)) == "over"


def test_a_list_is_a_snapshot(plain_store: PlainStore) -> None:
    store = plain_store
    before = store.list_projects()
    store.create_project("a", '{"name": "a"}')
    assert (len(before), len(store.list_projects())) == (0, 1)


def test_the_list_is_oldest_first_when_the_clock_steps_back(
    plain_store: PlainStore, clock: Clock
) -> None:
    store = plain_store
    store.create_project("a", '{"name": "a"}')
    assert len(store.list_projects().representation) > 0
    clock.advance(-3599.9996)
    store.create_project("b", '{"name": "b"}')
    clock.advance(-0.0002)  # within the same millisecond
    store.create_project("c", '{"name": "c"}')
    assert [project.name for project in store.list_projects()] == ["b", "c", "a"]
    listed = json.loads(store.list_projects().representation)["projects"]
    assert [project["name"] for project in listed] == ["b", "c", "a"]


def test_an_id_in_use_is_not_used_again(make_store: MakeStore) -> None:
    ids = {"prj": chain(50 * ["p1"], count()), "dpl": cycle(["d1", "x"])}
    store = make_store(records=records_of(1), ids=lambda prefix, *_: str(next(ids[prefix])))
    project = store.create_project("new", '{"name": "new"}')
    assert not {project.id, project.latest_deployment_id} & {"p1", "d1"}
    assert store.list_projects() == (*records_of(1).projects, project)


def test_a_store_is_full_when_all_ids_are_in_use(make_store: MakeStore) -> None:
    store = make_store(records=records_of(1), ids=lambda prefix, *_: f"{prefix[0]}1")
    with pytest.raises(StoreFull):
        store.create_project("new", '{"name": "new"}')
    assert store.list_projects() == records_of(1).projects


def test_deployments_beyond_the_latest_have_as_much_room_as_projects(make_store: MakeStore) -> None:
    store = make_store(records=records_of(1, 2))
    for number in range(3):
        store.put_deployment(f"x{number}", FAILED)
    for deployment_id, project_id in (("x3", None), ("d1", "p2")):  # p1 would have to get one
        with pytest.raises(StoreFull):
            store.put_deployment(deployment_id, FAILED, project_id)
    assert store.put_deployment("x0", FAILED)[1] is False
