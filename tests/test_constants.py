"""Limits that users meet, and that no test fills or waits for."""

from importlib import import_module

import pytest

LIMITS = [
    ("cli.command", "COMMAND_GRACE", 5.0),
    ("cli.health", "TIMEOUT", 5.0),
    ("cli.stderr", "WRITE_GRACE", 1.0),
    ("server.settings", "IDLE", 120.0),
    ("server.settings", "LINGER", 2.0),
    ("server.settings", "MAX_BODY", 1_114_112),
    ("server.settings", "MAX_CONNECTIONS", 4096),
    ("server.settings", "MAX_CONTROL_BODY", 68_157_440),
    ("store", "MAX_PROJECTS", 100_000),
    ("store", "PACE", 2.0),
    ("stub.cors", "MAX_AGE", 7200),
    ("stub.coverage", "MAX_KINDS", 1000),
    ("stub.faults", "MAX_FAULTS", 1000),
    ("stub.journal", "MAX_ENTRIES", 1000),
    ("stub.routes", "MAX_SEED_BYTES", 67_108_864),
    ("stub.worlds", "MAX_WORLDS", 1000),
]


@pytest.mark.parametrize(("module", "name", "limit"), LIMITS)
def test_a_limit_is_as_documented(module: str, name: str, limit: float) -> None:
    assert getattr(import_module(module), name) == limit
