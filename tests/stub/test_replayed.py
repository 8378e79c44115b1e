"""The stub responds as recorded to a large table of requests, in memory and over Redis."""

import pytest

from redis_store import RedisStores
from tests.replayed import SCENARIOS, play, read


@pytest.mark.parametrize("name", SCENARIOS)
def test_responses_are_those_that_were_recorded(name: str) -> None:
    lines = read(name)
    for played, recorded in zip(play(lines), lines, strict=True):
        assert played == recorded


@pytest.mark.process
@pytest.mark.parametrize("name", SCENARIOS)
def test_responses_over_redis_are_those_that_were_recorded(
    name: str, redis_stores: RedisStores
) -> None:
    lines = read(name)
    for played, recorded in zip(play(lines, stores=redis_stores), lines, strict=True):
        assert played == recorded
