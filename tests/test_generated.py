"""Schemathesis makes requests of both contracts up, and holds the responses against them.

A run makes the same requests each time, many where CI is set. The import takes seconds, so the
tests do it: every worker collects every test.
"""

from typing import Any

import pytest

from tests.conftest import BEARER, IN_CI, ROOT, SAMPLE_SEED, make_stub
from tests.contract import STUB, V1, Contract

# One worker imports Schemathesis.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("schemathesis")]

# What a schema cannot say, by operation. Each description names it.
BEYOND_A_SCHEMA = {
    "reset": "ids and names that are unique, projects of the document, the last stage",
    "putDeployment": "a project that exists, the last stage",
    "switchGrease": "parts that have one of the axes",
    "turnClock": "what is left of the ten years",
    "changeState": "params that are those of the state",
}
# Pact sends members of its own. Of an empty list in a query, nothing is sent.
TAKES_MORE = ("changeState", "listRequests")
CASES = {V1: 60, STUB: 20}
OPERATIONS = [
    pytest.param(contract, method, path, id=f"{method} {path}")
    for contract in CASES
    for method, path, _ in contract.operations()
]


def test_what_a_schema_cannot_say_is_described_and_declared() -> None:
    named = set()
    for _, _, operation in STUB.operations():
        if "422" in operation["responses"] and "422" in operation.get("description", ""):
            named.add(operation["operationId"])
    assert named == {*BEYOND_A_SCHEMA, "addFault"}  # the last one of 1,000 only


@pytest.fixture(scope="module")
def schemas() -> dict[Contract, Any]:
    import hypothesis.configuration
    from schemathesis.openapi import from_wsgi

    hypothesis.configuration.set_hypothesis_home_dir(ROOT / ".pytest_cache" / "hypothesis")
    v1 = make_stub(seed=SAMPLE_SEED, pace=0, max_projects=10**6)
    control = make_stub(sleep=lambda _: None)
    return {V1: from_wsgi("/openapi.json", v1), STUB: from_wsgi("/_stub/openapi.json", control)}


@pytest.mark.parametrize(("contract", "method", "path"), OPERATIONS)
def test_schemathesis_finds_no_violation(
    schemas: dict[Contract, Any], contract: Contract, method: str, path: str
) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.strategies import one_of
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    exceptions = {positive_data_acceptance: BEYOND_A_SCHEMA, negative_data_rejection: TAKES_MORE}
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    made_up = [schemas[contract][path][method].as_strategy(generation_mode=mode) for mode in modes]

    @settings(
        max_examples=CASES[contract] if IN_CI else CASES[contract] // 10,
        deadline=None,  # a busy machine is no failure
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),  # to explain would trace each line
        suppress_health_check=list(HealthCheck),
    )
    @given(one_of(made_up))
    def check(case: Any) -> None:
        name = case.operation.definition.raw["operationId"]
        excluded = [each for each, names in exceptions.items() if name in names]
        case.call_and_validate(headers=BEARER, excluded_checks=excluded)

    check()
