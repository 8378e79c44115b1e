"""Sizes, seconds and bounds that no test fills or waits for: they are as they were chosen."""

from datetime import timedelta
from importlib import import_module

import pytest

CONSTANTS: dict[str, dict[str, float | timedelta]] = {
    "cli.command": {"COMMAND_GRACE": 5.0, "REPEAT_WINDOW": 0.2},
    "cli.stderr": {"MAX_WAITING": 1000, "WRITE_GRACE": 1.0},
    "redis_store.server": {"PAUSE": 1.0, "TIMEOUT": 1.0},
    "redis_store.store": {
        "BATCH": 1000,
        "LIFETIME": 60,
        "MAX_MOVED": 10_000,
        "MAX_REPEATS": 40,
        "MAX_REWRITES": 5,
        "SKEW": timedelta(seconds=1),
    },
    "server.listen": {"SPARE_FILES": 128},
    "server.settings": {
        "CONTROL_THREADS": 2,
        "IDLE": 120.0,
        "LINGER": 2.0,
        "LONG_BODY": 65_536,
        "MAX_BODY": 1_114_112,
        "MAX_CHUNK_LINE": 4096,
        "MAX_CONNECTIONS": 4096,
        "MAX_CONTROL_BODY": 68_157_440,
        "MAX_JOINED": 65_536,
        "MAX_UNREAD": 16_777_216,
        "TICK": 0.5,
    },
    "store": {"MAX_PROJECTS": 100_000, "PACE": 2.0},
    "stub.cors": {"MAX_AGE": 7200},
    "stub.coverage": {"MAX_KINDS": 1000, "MAX_PRINTED": 20},
    "stub.faults": {"MAX_FAULTS": 1000, "MAX_PATH": 1024},
    "stub.entry": {"MARGIN": 16_384},
    "stub.journal": {"MAX_ENTRIES": 1000, "MAX_SENTENCES": 100},
    "stub.routes": {"MAX_SEED_BYTES": 67_108_864},
    "stub.worlds": {"MAX_WORLDS": 1000},
    "web.validation": {"MAX_ERRORS": 1000, "MAX_NAME": 100},
}
CACHES = {
    "records.timestamp": 256,
    "server.head.read_head": 256,
    "stub.clock.setting_of": 1000,
    "web.redaction.is_secret": 256,
}


@pytest.mark.parametrize("module", CONSTANTS)
def test_a_constant_is_as_it_was_chosen(module: str) -> None:
    found = vars(import_module(module))
    assert {name: found[name] for name in CONSTANTS[module]} == CONSTANTS[module]


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_has_a_bound(name: str) -> None:
    module, _, function = name.rpartition(".")
    cached = getattr(import_module(module), function)
    assert cached.cache_parameters()["maxsize"] == CACHES[name]
