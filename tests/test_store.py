"""Statuses by age, and the contract of a `Store`, which every implementation passes."""

import json
from datetime import timedelta
from itertools import chain, count, cycle

import pytest

from records import Deployment, Stage
from store import NameTaken, StoreFull
from tests.conftest import START, Clock
from tests.stores import MakeStore, PlainStore, records_of

# The seconds of the stages but the last, and the stage of each age in seconds.
STAGES: list[tuple[list[float], dict[float, int]]] = [
    ([0, 1.5, 0, 2], {-86400: 0, 0: 1, 1.499999: 1, 1.5: 3, 3.499999: 3, 3.5: 4, 10**9: 4}),
    ([0.1, 0.2], {0.299999: 1, 0.3: 2}),  # which is less than their sum
    (10 * [0.1], {0.999999: 9, 1.0: 10}),
]


def test_a_status_depends_on_the_age_alone() -> None:
    for seconds, stages in STAGES:
        running = [Stage(str(index), each) for index, each in enumerate(seconds)]
        deployment = Deployment("d", None, START, (*running, Stage(str(len(seconds)))))
        for age, stage in stages.items():
            assert deployment.status(START + timedelta(seconds=age)) == str(stage)


def test_a_store_is_oldest_first_when_the_clock_steps_back_and_has_a_bound(
    plain_store: PlainStore, clock: Clock
) -> None:
    store = plain_store
    empty = store.list_projects()
    for name, seconds in (("a", -3599.9996), ("b", -0.0002), ("c", 0)):  # two in one millisecond
        project = store.create_project(name, f'{{"name": "{name}"}}')
        deployment = store.get_deployment(project.latest_deployment_id)
        assert deployment
        assert deployment.status(store.now()) == "queued"
        with pytest.raises(NameTaken):
            store.create_project(name, f'{{"name": "{name}"}}')
        clock.advance(seconds)
    with pytest.raises(StoreFull):
        store.create_project("d", '{"name": "d"}')
    listed = json.loads(store.list_projects().representation)["projects"]
    assert [project["name"] for project in listed] == ["b", "c", "a"]
    assert json.loads(empty.representation) == {"projects": []}  # a snapshot
    assert store.get_deployment("none") is None


def test_an_id_in_use_is_not_used_again(make_store: MakeStore) -> None:
    ids = {"prj": chain(50 * ["p1"], count()), "dpl": cycle(["d1", "x"])}
    store = make_store(records=records_of(1), ids=lambda prefix, *_: str(next(ids[prefix])))
    project = store.create_project("new", '{"name": "new"}')
    assert (project.id, project.latest_deployment_id) == ("0", "x")
    assert store.list_projects() == (*records_of(1).projects, project)


def test_a_store_is_full_when_all_ids_are_in_use(make_store: MakeStore) -> None:
    store = make_store(records=records_of(1), ids=lambda prefix, *_: f"{prefix[0]}1")
    with pytest.raises(StoreFull):
        store.create_project("new", '{"name": "new"}')
    assert store.list_projects() == records_of(1).projects
