"""Speedups change nothing: every response is the same without them, byte for byte."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from app import create_app
from tests.conftest import SAMPLE_SEED, Clock, control_client_of, counting_ids

REQUESTS: list[dict[str, Any]] = [
    {"path": "/v1/projects"},
    {"path": "/v1/projects", "method": "HEAD"},
    {"path": "/v1/projects", "method": "POST", "json": {"name": "a"}},
    {"path": "/v1/projects", "method": "POST", "data": b"{"},
    {"path": "/v1/projects", "method": "OPTIONS"},
    {"path": "/v1/projects/"},
    {"path": "/v1/deployments/a%2Fb"},
    {"path": "/v1/deployments/dpl_failed"},
    {"path": "/v1/deployments/dpl_failed", "headers": {"Authorization": "Bearer x"}},
    {"path": "/v1/nowhere", "method": "HEAD"},
    {"path": "/v1/projects", "headers": {"Cookie": "session=x", "Host": "a.example"}},
    {"path": "/_stub/reset", "method": "POST"},
    {"path": "/openapi.json"},
]


def responses() -> list[TestResponse]:
    app = create_app(clock=Clock(), new_id=counting_ids(), seed=SAMPLE_SEED)
    client = control_client_of(app)
    # A second time, as speedups cache.
    return [client.open(**each) for each in (*REQUESTS, *REQUESTS)]


def test_responses_are_the_same_without_speedups(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = responses()
    monkeypatch.setattr("speedups.install", lambda app: None)
    for with_them, without in zip(fast, responses(), strict=True):
        assert with_them.status == without.status
        assert sorted(with_them.headers) == sorted(without.headers)
        assert with_them.data == without.data
