"""What the stub needs of a store beyond `Store`: the second part of the contract."""

import json
from datetime import timedelta
from functools import partial

import pytest

from records import NO_RECORDS, Deployment, Records, Stage
from store import MemoryStore, NameTaken, StoreFull, UnknownProject
from stub.worlds import WorldStore
from tests.conftest import START, Clock, counting_ids
from tests.stores import (
    WORLD_STORES,
    MakeStore,
    implementation,
    project_and_deployment,
    records_of,
)


@pytest.fixture(params=WORLD_STORES)
def make_store(request: pytest.FixtureRequest, clock: Clock) -> MakeStore:
    return partial(implementation(request), clock=clock, new_id=counting_ids(), max_projects=3)


@pytest.fixture
def store(make_store: MakeStore) -> WorldStore:
    return make_store()


def test_a_list_is_written_in_full_after_each_change(store: WorldStore) -> None:
    for name in "abc":
        store.create_project(name, json.dumps({"name": name}))
    projects = store.list_projects()
    assert projects.representation.count(b'"name"') == 3
    store.put_deployment("x", (Stage("failed"),), projects[0].id)
    written = json.loads(store.list_projects().representation)["projects"]
    assert [each["latest_deployment_id"] == "x" for each in written] == [True, False, False]
    store.remove_projects()
    store.create_project("new", '{"name": "new"}')
    assert store.list_projects().representation.count(b'"name"') == 1


def test_a_deployment_that_is_put_is_the_latest_of_its_project(
    store: WorldStore, clock: Clock
) -> None:
    project, deployment = project_and_deployment(1)
    store.reset(Records((project,), (deployment,)))
    before = store.list_projects()
    clock.advance(5)
    made, is_new = store.put_deployment("d2", (Stage("queued"),), "p1")
    assert is_new
    assert made == store.get_deployment("d2") == Deployment("d2", "p1", clock(), (Stage("queued"),))
    (changed,) = store.list_projects()
    assert (changed.latest_deployment_id, changed.created_at) == ("d2", START)
    assert b'"d2"' in changed.representation
    assert before[0].latest_deployment_id == "d1"
    assert store.put_deployment("d2", (Stage("failed"),)) == (
        Deployment("d2", "p1", clock(), (Stage("failed"),)),
        False,
    )
    with pytest.raises(UnknownProject):
        store.put_deployment("d3", (Stage("failed"),), "nope")
    assert store.get_deployment("d3") is None


def test_add_keeps_existing_records(store: WorldStore) -> None:
    (one, one_d), (two, two_d) = project_and_deployment(1), project_and_deployment(2)
    store.reset(records_of(1))
    same_name = two._replace(id="p9", name=one.name)
    projects = (same_name, one._replace(name="other"), two)
    store.add(Records(projects, (one_d._replace(project_id=None), two_d)))
    assert store.list_projects() == (one, two)
    assert store.get_deployment("d1") == one_d
    assert store.get_deployment("d2") == two_d


def test_a_project_whose_deployment_id_is_in_use_gets_another_deployment(store: WorldStore) -> None:
    store.reset(records_of(1))
    two, _ = project_and_deployment(2)
    store.add(Records((two._replace(latest_deployment_id="d1"),)))
    (latest,) = (each.latest_deployment_id for each in store.list_projects() if each.id == "p2")
    (one, other) = store.get_deployment("d1"), store.get_deployment(latest)
    assert one is not None
    assert other is not None
    assert (one.project_id, other.project_id) == ("p1", "p2")


def test_a_project_that_loses_its_latest_deployment_gets_another(store: WorldStore) -> None:
    store.reset(records_of(1, 2))
    store.put_deployment("d1", (Stage("failed"),), "p2")
    latest = {each.id: each.latest_deployment_id for each in store.list_projects()}
    assert latest["p2"] == "d1"
    deployment = store.get_deployment(latest["p1"])
    assert deployment is not None
    assert deployment.project_id == "p1"


def test_deployments_of_no_project_have_a_bound(store: WorldStore) -> None:
    store.reset(records_of(1))
    for number in range(3):
        store.put_deployment(f"x{number}", (Stage("failed"),))
    with pytest.raises(StoreFull):
        store.put_deployment("x3", (Stage("failed"),))
    assert store.get_deployment("x3") is None
    assert store.put_deployment("x2", (Stage("queued"),))[1] is False
    made = store.create_project("b", '{"name": "b"}')
    with pytest.raises(StoreFull):  # it would queue another for the first project
        store.put_deployment("d1", (Stage("failed"),), made.id)
    assert store.list_projects()[0].latest_deployment_id == "d1"
    assert store.create_project("a", '{"name": "a"}').name == "a"


def test_a_rejected_call_takes_no_id(store: WorldStore) -> None:
    store.reset(records_of(1))
    for number in range(3):
        store.put_deployment(f"x{number}", (Stage("failed"),))
    with pytest.raises(StoreFull):
        store.put_deployment(None, (Stage("failed"),))
    store.reset(NO_RECORDS)
    assert store.put_deployment(None, (Stage("failed"),))[0].id == "dpl_1"


def test_stores_share_the_records_that_they_start_with(clock: Clock) -> None:
    records = records_of(1, 2)
    one, other = (MemoryStore(clock, counting_ids()) for _ in range(2))
    one.reset(records)
    other.reset(records)
    assert one.list_projects() is other.list_projects()
    one.create_project("a", '{"name": "a"}')
    one.put_deployment("d1", (Stage("queued"),))
    one.remove_projects()
    assert other.list_projects() == records.projects
    assert other.get_deployment("d1") == records.deployments[0]


def test_added_projects_are_listed_by_age(store: WorldStore) -> None:
    for number in (0, 3, 1):
        store.add(records_of(number))
    assert [project.id for project in store.list_projects()] == ["p3", "p0", "p1"]


def test_projects_that_the_caller_dated_have_the_time_of_the_change(
    store: WorldStore, clock: Clock
) -> None:
    old, new = (project_and_deployment(number)[0] for number in (3, 0))
    assert (old.created_at, new.created_at) == (START - timedelta(days=1), START)
    clock.advance(5)
    between = store.create_project("between", '{"name": "between"}')
    store.add(Records((old, new)), START)
    listed = store.list_projects()
    assert [each.name for each in listed] == [old.name, "between", new.name]
    assert listed[2].created_at == between.created_at


def test_add_adds_all_or_none(store: WorldStore) -> None:
    store.create_project("a", '{"name": "a"}')
    with pytest.raises(StoreFull):
        store.add(records_of(0, 1, 2))
    assert [project.name for project in store.list_projects()] == ["a"]
    assert store.get_deployment("d0") is None
    store.add(records_of(0, 1))
    store.add(records_of(0, 1))
    assert len(store.list_projects()) == 3
    with pytest.raises(NameTaken):
        store.create_project("n0", '{"name": "n0"}')


def test_removing_the_projects_removes_their_deployments(store: WorldStore) -> None:
    made = store.create_project("a", '{"name": "a"}')
    store.put_deployment("of_none", (Stage("failed"),))
    store.put_deployment("of_a", (Stage("failed"),), made.id)
    store.remove_projects()
    assert store.list_projects() == ()
    assert store.get_deployment("of_none") is not None
    for gone in ("of_a", made.latest_deployment_id):
        assert store.get_deployment(gone) is None
    assert store.create_project("a", '{"name": "a"}').name == "a"


def test_reset_replaces_everything(store: WorldStore) -> None:
    old = store.create_project("a", '{"name": "a"}')
    project, deployment = project_and_deployment(1)
    store.reset(Records((project,), (deployment,)))
    assert store.list_projects() == (project,)
    assert store.get_deployment("d1") == deployment
    assert store.get_deployment(old.latest_deployment_id) is None
    store.create_project("a", '{"name": "a"}')
    with pytest.raises(NameTaken):
        store.create_project("n1", '{"name": "n1"}')
    store.reset(Records())
    assert store.list_projects() == ()


def test_undated_deployments_begin_when_they_come(store: WorldStore, clock: Clock) -> None:
    undated = [Deployment(f"u{number}", None, None, (Stage("failed"),)) for number in range(2)]
    store.reset(Records((), (undated[0],)))
    clock.advance(5)
    store.add(Records((), (undated[1],)))
    clock.advance(5)
    expected = {
        undated[0]._replace(created_at=START),
        undated[1]._replace(created_at=START + timedelta(seconds=5)),
    }
    assert {store.get_deployment("u0"), store.get_deployment("u1")} == expected
    assert {*store.records().deployments} == expected


def test_the_records_are_all_there_is(store: WorldStore) -> None:
    assert store.records() == NO_RECORDS
    store.add(records_of(4, 1))
    made = store.create_project("a", '{"name": "a"}')
    records = store.records()
    assert records.projects == store.list_projects()
    assert {each.id for each in records.deployments} == {"d1", "d4", made.latest_deployment_id}
    assert all(store.get_deployment(each.id) == each for each in records.deployments)


def test_a_project_that_loses_an_older_deployment_keeps_its_latest(store: WorldStore) -> None:
    store.reset(records_of(1, 2))
    store.put_deployment("older", (Stage("failed"),), "p1")
    store.put_deployment("newer", (Stage("failed"),), "p1")
    before = len(store.records().deployments)
    store.put_deployment("older", (Stage("failed"),), "p2")
    latest = {each.id: each.latest_deployment_id for each in store.list_projects()}
    assert latest == {"p1": "newer", "p2": "older"}
    assert len(store.records().deployments) == before


def test_a_bare_reset_brings_the_first_records_back(make_store: MakeStore) -> None:
    store = make_store(records=records_of(1))
    store.create_project("a", '{"name": "a"}')
    store.reset()
    assert [project.id for project in store.list_projects()] == ["p1"]
