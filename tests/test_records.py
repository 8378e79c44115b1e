"""Statuses by age, and the cached list."""

import pytest

from records import Deployment, Stage
from store import MemoryStore
from tests.conftest import START, Clock


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


def test_an_unchanged_list_is_cached() -> None:
    store = MemoryStore()
    assert store.list_projects() is store.list_projects()
    assert store.list_projects().representation is store.list_projects().representation
