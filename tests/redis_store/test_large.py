"""Changes of all records: many are written in one step, and no other change is undone."""

import json
from collections.abc import Callable, Iterator

import pytest

from records import Deployment, Project, Records
from store import StoreUnavailable
from stub.worlds import WorldStore
from tests.conftest import START
from tests.stores import FAILED, records_of

pytestmark = pytest.mark.process


def test_many_records_are_written_as_in_memory(redis_stores: Callable[..., WorldStore]) -> None:
    store = redis_stores(records=records_of(5))
    store.add(records_of(*range(2500)))
    assert {each.id for each in store.list_projects()} == {f"p{number}" for number in range(2500)}
    free = tuple(Deployment(f"f{number}", None, START, FAILED) for number in range(2001))
    store.add(Records((), free))
    store.remove_projects()
    assert store.list_projects() == ()
    assert {*store.records().deployments} == {*free}


@pytest.mark.parametrize("times", [0, 1, 3, 1000])
def test_a_change_of_all_records_undoes_no_other(
    redis_stores: Callable[..., WorldStore], times: int
) -> None:
    one, other = redis_stores(), redis_stores()
    made: list[str] = []

    class Interrupting(tuple[Project, ...]):
        """Another program creates a project before these are read."""

        def __iter__(self) -> Iterator[Project]:
            if len(made) < times:
                made.append(f"made {len(made)}")
                other.create_project(made[-1], json.dumps({"name": made[-1]}))
            return super().__iter__()

    few = records_of(*range(10))
    records = Records(Interrupting(few.projects), few.deployments)
    if times == 1000:
        with pytest.raises(StoreUnavailable):
            one.add(records)
        few = Records()
    else:
        one.add(records)
    listed = [each.name for each in other.list_projects()]
    assert [name for name in listed if name in made] == made
    assert len(made) == min(times, 40)
    assert len(listed) == len(made) + len(few.projects)
