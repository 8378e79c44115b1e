"""Speedups change nothing: every response is the same without them, byte for byte."""

from typing import Any

import pytest
from flask import Flask

from tests.replay import FROZEN, ORIGIN, REQUESTS, assert_same, make_app, replay
from tests.stores import BrokenStore

APPS: dict[str, dict[str, Any]] = {
    "with defaults": {},
    "strict": {"strict": True},
    "without the stub": {"stub_options": None},
    "for browsers": {"stub_options": FROZEN._replace(cors_origins=(ORIGIN,))},
    "full": {"max_projects": 4},
    "failing": {"new_store": BrokenStore},
}

TWICE = [*REQUESTS, *REQUESTS]  # what is cached is the same


@pytest.mark.parametrize("options", APPS.values(), ids=APPS)
def test_responses_are_the_same_without_speedups(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = replay(make_app(**options), TWICE)
    monkeypatch.setattr("app.QuickFlask", Flask)
    assert_same(replay(make_app(**options), TWICE), fast, TWICE)
