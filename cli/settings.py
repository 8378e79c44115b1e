"""What the program was asked for: its options, with the defaults that depend on others."""

import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import server
from auth import DEFAULT_TOKEN


class Settings(NamedTuple):
    """The value of each option, by the name that `options.py` gives it.

    Times are in seconds. `delay` are the least and the most. `port` 0 picks a free one.
    """

    port: int
    pace: float
    empty: bool
    seed_file: Path | None
    cors_origins: tuple[str, ...]
    delay: tuple[float, float]
    quiet: bool
    log_file: Path | None
    strict: bool
    grease: tuple[str, ...]
    probe: tuple[str, ...]
    grease_seed: int
    ids_seed: int | None
    delay_seed: int
    freeze: datetime | None
    states_file: Path | None
    fail_on: tuple[str, ...]
    allowed: tuple[str, ...]
    report_file: Path | None
    no_stub: bool
    host: str
    tokens: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    store: str | None
    max_projects: int
    threads: int
    deadline: float
    grace: float

    def reachable_url(self, port: int) -> str:
        """The URL for a client on this machine."""
        address = str(server.address_of(self.host))
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, self.host)
        return f"http://{server.in_brackets(host)}:{port}"


def complete(values: Mapping[str, Any]) -> Settings:
    """The settings of these values of the options. What is random is drawn, so that it is known."""
    ids_seed = values["ids_seed"]
    drawn = {
        "tokens": values["tokens"] or (DEFAULT_TOKEN,),
        "delay_seed": random.randrange(2**32) if ids_seed is None else ids_seed,
    }
    if values["grease_seed"] is None:
        drawn["grease_seed"] = random.randrange(2**32)
    return Settings(**{**values, **drawn})
