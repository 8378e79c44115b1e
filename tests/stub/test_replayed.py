"""The stub responds as recorded to a large table of requests, in memory and over Redis."""

from typing import Any

import pytest
from flask import Flask

from redis_store import RedisStores
from redis_store.document import version_of
from tests.redis_server import RedisServer
from tests.replayed import SCENARIOS, play, read


@pytest.mark.parametrize("name", SCENARIOS)
def test_responses_are_those_that_were_recorded(name: str) -> None:
    lines = read(name)
    for played, recorded in zip(play(lines), lines, strict=True):
        assert played == recorded


@pytest.mark.process
@pytest.mark.parametrize("name", SCENARIOS)
def test_responses_over_redis_are_those_that_were_recorded(
    name: str, shared_redis: RedisServer, redis_stores: RedisStores
) -> None:
    redis = shared_redis.client

    def rewrite() -> None:
        """Change each new document by a space, so that the program reads what it has written."""
        for key in redis.scan_iter():
            text: Any = redis.hget(key, "document")
            if not text.endswith(b" "):
                text += b" "
                redis.hset(key, mapping={"version": version_of(text), "document": text})

    def with_others(app: Flask) -> Flask:
        app.before_request(rewrite)
        return app

    lines = read(name)
    for played, recorded in zip(play(lines, with_others, stores=redis_stores), lines, strict=True):
        assert played == recorded
