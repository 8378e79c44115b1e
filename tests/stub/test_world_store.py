"""What the stub needs of a store beyond `Store`: the second part of the contract."""

from datetime import timedelta

from records import Deployment, Stage
from stub.world.store import AT_START, Records, StubStore
from tests.conftest import START, Clock
from tests.stores import MakeStore, records_of


def test_a_change_of_a_store_leaves_the_records_that_it_started_with(make_store: MakeStore) -> None:
    records = records_of(1, 2)
    one, other = (make_store(records=records) for _ in range(2))
    one.create_project("a", '{"name": "a"}')
    one.put_deployment("d1", (Stage("queued"),))
    one.remove_projects()
    assert other.list_projects() == records.projects
    assert other.get_deployment("d1") == records.deployments[0]


def test_undated_deployments_begin_when_they_come(store: StubStore, clock: Clock) -> None:
    undated = [Deployment(f"u{number}", None, AT_START, (Stage("failed"),)) for number in range(2)]
    store.reset(Records((), (undated[0],)))
    clock.advance(5)
    assert store.now() == START + timedelta(seconds=5)
    store.add(Records((), (undated[1],)))
    clock.advance(5)
    expected = {
        undated[0]._replace(created_at=START),
        undated[1]._replace(created_at=START + timedelta(seconds=5)),
    }
    assert {store.get_deployment("u0"), store.get_deployment("u1")} == expected
    assert {*store.records().deployments} == expected
