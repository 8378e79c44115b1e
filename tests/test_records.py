"""Statuses by age, and lists that continue others."""

import gc

import pytest

from records import Deployment, ProjectList, Stage
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
