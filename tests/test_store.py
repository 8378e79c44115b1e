"""The contract of a `Store`, which every implementation passes."""

import gc
import json
from datetime import timedelta
from functools import partial

import pytest

from records import EMPTY, Deployment, ProjectList, Records, Stage, timeline_of
from store import MemoryStore, NameTaken, StoreFull, UnknownProject
from stub.worlds import WorldStore
from tests.conftest import START, Clock, counting_ids
from tests.stores import (
    IMPLEMENTATIONS,
    MakeStore,
    implementation,
    project_and_deployment,
    records_of,
)


@pytest.fixture(params=IMPLEMENTATIONS)
def make_store(request: pytest.FixtureRequest, clock: Clock) -> MakeStore:
    return partial(implementation(request), clock=clock, new_id=counting_ids(), max_projects=3)


@pytest.fixture
def store(make_store: MakeStore) -> WorldStore:
    return make_store()


def test_a_new_store_is_empty(store: WorldStore) -> None:
    assert store.list_projects() == ()
    assert store.get_deployment("dpl_1") is None


def test_created_projects_are_listed_in_order_with_their_deployments(
    store: WorldStore, clock: Clock
) -> None:
    first = store.create_project("a", '{"name": "a"}')
    clock.advance(1)
    second = store.create_project("b", '{"name": "b"}')
    assert store.list_projects() == (first, second)
    for project in (first, second):
        deployment = store.get_deployment(project.latest_deployment_id)
        assert deployment is not None
        assert deployment.project_id == project.id
        assert deployment.created_at == project.created_at
        assert deployment.timeline == timeline_of(2.0)


def test_a_list_is_a_snapshot(store: WorldStore) -> None:
    before = store.list_projects()
    store.create_project("a", '{"name": "a"}')
    assert (len(before), len(store.list_projects())) == (0, 1)


def test_records_cannot_be_changed(store: WorldStore) -> None:
    project, deployment = project_and_deployment(1)
    store.reset(Records((project,), (deployment,)))
    for record in (*store.list_projects(), deployment, deployment.timeline[0]):
        with pytest.raises(AttributeError):
            setattr(record, record._fields[0], "other")


def test_an_unchanged_list_is_cached() -> None:
    store = MemoryStore()
    assert store.list_projects() is store.list_projects()
    assert store.list_projects().representation is store.list_projects().representation


def test_a_list_is_written_in_full_after_each_change(store: WorldStore) -> None:
    for number in range(3):
        store.create_project(f"p{number}", json.dumps({"name": f"p{number}"}))
        projects = store.list_projects()
        if number != 1:  # this list is never written
            written = json.loads(projects.representation)["projects"]
            assert [each["name"] for each in written] == ["p0", "p1", "p2"][: number + 1]
            assert [each["id"] for each in written] == [project.id for project in projects]
    store.put_deployment("x", (Stage("failed"),), projects[0].id)
    written = json.loads(store.list_projects().representation)["projects"]
    assert [each["latest_deployment_id"] == "x" for each in written] == [True, False, False]
    store.remove_projects()
    store.create_project("new", '{"name": "new"}')
    assert store.list_projects().representation.count(b'"name"') == 1


def test_two_lists_may_continue_the_same_one() -> None:
    """A list that is asked for while another is written does not write all projects again."""
    store, written = MemoryStore(), []

    class Sent(str):
        """The text of a project, which is stripped when the project is written."""

        def strip(self, chars: str | None = None) -> str:
            written.append(str(self))
            if self == '{"name": "c"}' and written.count(self) == 1:
                store.create_project("d", Sent('{"name": "d"}'))
                assert store.list_projects().representation.count(b'"name"') == 4
            return super().strip(chars)

    for count, name in enumerate("abc", 1):
        store.create_project(name, Sent(f'{{"name": "{name}"}}'))
        assert store.list_projects().representation.count(b'"name"') == count
    assert written.count('{"name": "a"}') == 1


def test_lists_that_nobody_has_are_freed() -> None:
    store = MemoryStore()
    for number in range(20):
        store.create_project(str(number), f'{{"name": "{number}"}}')
        assert store.list_projects().representation
    lists = [each for each in gc.get_objects() if type(each) is ProjectList]
    assert sum(len(each) > 0 and each[0] == store.list_projects()[0] for each in lists) == 1


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
    store.reset(EMPTY)
    assert store.put_deployment(None, (Stage("failed"),))[0].id == "dpl_1"


def test_the_list_is_oldest_first_when_the_clock_steps_back(
    store: WorldStore, clock: Clock
) -> None:
    store.create_project("a", '{"name": "a"}')
    assert len(store.list_projects().representation) > 0
    clock.advance(-3600)
    store.create_project("b", '{"name": "b"}')
    clock.advance(0.0004)  # within the same millisecond
    store.create_project("c", '{"name": "c"}')
    clock.advance(-0.0002)
    assert [project.name for project in store.list_projects()] == ["b", "c", "a"]
    listed = json.loads(store.list_projects().representation)["projects"]
    assert [project["name"] for project in listed] == ["b", "c", "a"]


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


def test_a_create_that_fails_changes_nothing(store: WorldStore) -> None:
    store.create_project("a", '{"name": "a"}')
    before = store.list_projects()
    with pytest.raises(NameTaken):
        store.create_project("a", '{"name": "a"}')
    for name in ("b", "c"):
        store.create_project(name, f'{{"name": "{name}"}}')
    with pytest.raises(StoreFull):
        store.create_project("d", '{"name": "d"}')
    with pytest.raises(NameTaken):
        store.create_project("c", '{"name": "c"}')
    assert store.list_projects()[:1] == before
    assert len(store.list_projects()) == 3


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
    assert store.records() == EMPTY
    store.add(records_of(4, 1))
    made = store.create_project("a", '{"name": "a"}')
    records = store.records()
    assert records.projects == store.list_projects()
    assert {each.id for each in records.deployments} == {"d1", "d4", made.latest_deployment_id}
    assert all(store.get_deployment(each.id) == each for each in records.deployments)


def test_a_store_begins_with_records(make_store: MakeStore) -> None:
    store = make_store(records=records_of(1))
    assert [project.id for project in store.list_projects()] == ["p1"]
    assert store.get_deployment("d1") is not None
    store.create_project("a", '{"name": "a"}')
    store.reset()
    assert [project.id for project in store.list_projects()] == ["p1"]


def test_a_status_depends_on_the_age_alone(clock: Clock) -> None:
    timeline = (Stage("a", 0), Stage("b", 1.5), Stage("c", 0.0), Stage("d", 2), Stage("e"))
    deployment = Deployment("d1", None, clock(), timeline)
    seen = []
    for _ in range(9):
        seen.append(deployment.status(clock()))
        clock.advance(0.5)
    assert "".join(seen) == "bbbddddee"
    assert deployment.status(START) == "b"


@pytest.mark.parametrize(
    ("seconds", "age"), [([0.1, 0.2], 0.3), ([0.7, 0.1], 0.8), (10 * [0.1], 1.0), ([1.1, 2.2], 3.3)]
)
def test_the_seconds_of_stages_add_up(clock: Clock, seconds: list[float], age: float) -> None:
    timeline = (*(Stage("running", each) for each in seconds), Stage("over"))
    deployment = Deployment("d1", None, clock(), timeline)
    clock.advance(age - 0.000001)
    assert deployment.status(clock()) == "running"
    clock.advance(0.000001)
    assert deployment.status(clock()) == "over"


def test_a_project_that_loses_an_older_deployment_keeps_its_latest(store: WorldStore) -> None:
    store.reset(records_of(1, 2))
    store.put_deployment("older", (Stage("failed"),), "p1")
    store.put_deployment("newer", (Stage("failed"),), "p1")
    before = len(store.records().deployments)
    store.put_deployment("older", (Stage("failed"),), "p2")
    latest = {each.id: each.latest_deployment_id for each in store.list_projects()}
    assert latest == {"p1": "newer", "p2": "older"}
    assert len(store.records().deployments) == before
