"""A random walk that compares a store with the model."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from records import Stage
from store import NameTaken, StoreFull, UnknownProject
from stub.worlds import WorldStore
from tests import generated  # noqa: F401  sets Hypothesis up
from tests.conftest import Clock
from tests.stores import (
    STORES,
    MakeStore,
    PlainStore,
    ids_counted_by_prefix,
    implementation,
    records_of,
)

pytestmark = pytest.mark.generated


def outcome(act: Callable[[WorldStore], Any], store: WorldStore) -> Any:
    try:
        return act(store)
    except (NameTaken, StoreFull, UnknownProject) as error:
        return type(error)


class AgainstTheModel(RuleBasedStateMachine):
    """A store behaves as the model does with the same clock and ids."""

    make: Callable[..., WorldStore]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        ids = ids_counted_by_prefix()
        self.store = self.make(clock=self.clock, new_id=ids, max_projects=4)
        self.model = PlainStore(self.clock, ids_counted_by_prefix(), max_projects=4)

    def both(self, act: Callable[[WorldStore], Any]) -> None:
        assert outcome(act, self.store) == outcome(act, self.model)

    @rule(name=st.sampled_from("abcdef"))
    def create(self, name: str) -> None:
        self.both(lambda store: store.create_project(name, f'{{"name": "{name}"}}'))

    @rule(numbers=st.lists(st.integers(0, 5), unique=True, max_size=3))
    def add(self, numbers: list[int]) -> None:
        self.both(lambda store: store.add(records_of(*numbers)))

    @rule()
    def remove_projects(self) -> None:
        self.both(lambda store: store.remove_projects())

    @rule(
        number=st.none() | st.integers(0, 3),
        project_id=st.none() | st.sampled_from(["p0", "p1", "prj_1"]),
    )
    def put(self, number: int | None, project_id: str | None) -> None:
        deployment_id = None if number is None else f"d{number}"
        timeline = (Stage("failed"),)
        self.both(lambda store: store.put_deployment(deployment_id, timeline, project_id))

    # Whole seconds: on Redis a clock that is less than one behind another change has its time.
    @rule(seconds=st.integers(-5, 5))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(numbers=st.lists(st.integers(0, 5), unique=True, max_size=4))
    def reset(self, numbers: list[int]) -> None:
        self.both(lambda store: store.reset(records_of(*numbers)))

    @invariant()
    def records_agree(self) -> None:
        self.both(lambda store: store.list_projects())
        self.both(lambda store: store.list_projects().representation)
        self.both(lambda store: {*store.records().deployments})
        self.both(lambda store: store.records().projects)

    @invariant()
    def deployments_agree(self) -> None:
        latest = [project.latest_deployment_id for project in self.model.list_projects()]
        for each in (*latest, "d0", "d1", "d2", "d3", "d4"):
            self.both(methodcaller("get_deployment", each))


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest) -> MakeStore:
    return implementation(request)


def test_a_store_behaves_as_the_model_does(make: MakeStore) -> None:
    walk = type("Walk", (AgainstTheModel,), {"make": staticmethod(make)})
    run_state_machine_as_test(walk)
