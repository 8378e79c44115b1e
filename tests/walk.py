"""A random walk that compares a store with that in memory; its module imports Hypothesis."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from store import NameTaken, StoreFull
from stub.store import StubStore, UnknownProject, WorldStore
from tests import generated  # noqa: F401  sets Hypothesis up
from tests.conftest import Clock
from tests.stores import DEFAULTS, FAILED, ids_counted_by_prefix, records_of


def outcome(act: Callable[[StubStore], Any], store: StubStore) -> Any:
    try:
        return act(store)
    except (NameTaken, StoreFull, UnknownProject) as error:
        return type(error)


class AgainstTheModel(RuleBasedStateMachine):
    """A store behaves as that in memory does with the same clock and ids."""

    make: Callable[..., StubStore]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        ids = ids_counted_by_prefix()
        self.store = self.make(clock=self.clock, ids=ids, max_projects=3)
        options = {**DEFAULTS, "max_projects": 3}
        self.model = WorldStore(self.clock, ids_counted_by_prefix(), **options)

    def both(self, act: Callable[[StubStore], Any]) -> None:
        assert outcome(act, self.store) == outcome(act, self.model)

    @initialize()
    def begin(self) -> None:
        self.reset([0, 1])

    @rule(name=st.sampled_from(["a", "n0", "n2"]))
    def create(self, name: str) -> None:
        self.both(lambda store: store.create_project(name, f'{{"name": "{name}"}}'))

    @rule(numbers=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True))
    def add(self, numbers: list[int]) -> None:
        self.both(lambda store: store.add(records_of(*numbers)))

    @rule()
    def remove_projects(self) -> None:
        self.both(lambda store: store.remove_projects())

    @rule(
        deployment_id=st.sampled_from([None, "d0", "d1", "d2"]),
        project_id=st.sampled_from([None, "p0", "p1", "prj_1"]),
    )
    def put(self, deployment_id: str | None, project_id: str | None) -> None:
        self.both(lambda store: store.put_deployment(deployment_id, FAILED, project_id))

    @rule(seconds=st.integers(-5, 5))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(numbers=st.lists(st.integers(0, 3), unique=True))
    def reset(self, numbers: list[int]) -> None:
        self.both(lambda store: store.reset(records_of(*numbers)))

    @rule(numbers=st.lists(st.integers(0, 3), unique=True))
    def restore(self, numbers: list[int]) -> None:
        self.both(lambda store: store.restore(records_of(*numbers)))

    @invariant()
    def they_agree(self) -> None:
        self.both(lambda store: store.records())
        self.both(lambda store: store.list_projects().representation)
        for deployment_id in ("d0", "d4"):
            self.both(methodcaller("get_deployment", deployment_id))
