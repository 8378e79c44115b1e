"""Every other store behaves as that in memory."""

import pytest

from tests.stores import STORES, MakeStore

# Hypothesis is imported in the test: every worker collects every test.
pytestmark = pytest.mark.generated


@pytest.mark.parametrize("implementation", STORES[1:], indirect=True)
def test_a_store_behaves_as_that_in_memory(implementation: MakeStore) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    from tests.generated import cases
    from tests.walk import AgainstTheModel

    walk = type("Walk", (AgainstTheModel,), {"make": staticmethod(implementation)})
    run_state_machine_as_test(walk, settings=cases(40))
