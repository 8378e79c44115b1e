"""Every store behaves as the model does."""

import pytest

from tests.stores import MakeStore

# One worker imports Hypothesis, in the test: every worker collects every test.
pytestmark = [pytest.mark.generated, pytest.mark.xdist_group("hypothesis")]


def test_a_store_behaves_as_the_model_does(implementation: MakeStore) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    from tests.walk import AgainstTheModel

    walk = type("Walk", (AgainstTheModel,), {"make": staticmethod(implementation)})
    run_state_machine_as_test(walk)
