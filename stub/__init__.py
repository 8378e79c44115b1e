"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from random import Random

from flask import Flask

from redaction import Redactor
from store import Records, timeline_of

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import allow_origins, check_origins, cors_headers
from .grease import MAX_SEED, parse_axes
from .hooks import Hooks, start
from .pact import States
from .routes import Stub, not_found, open_world, routes
from .rules import parse_time
from .seed import Seed, StoreFactory
from .verdict import KINDS, Verdict
from .worlds import WorldFactory, WorldOptions, Worlds

__all__ = [
    "DEFAULTS",
    "KINDS",
    "MAX_SEED",
    "OPEN_PATHS",
    "POLL_PATH",
    "Options",
    "check_origins",
    "cors_headers",
    "count_rejection",
    "install",
    "judge",
    "parse_axes",
    "parse_time",
    "prepare",
]

OPEN_PATHS = {"/_stub/health", "/_stub/openapi.json", *console.OPEN_PATHS}


@dataclass(frozen=True)
class Options:
    """What the stub adds: Pact's provider states by name, the origins of browser clients, the axes
    and the seed of grease, the seed of the ids, the time at which the clocks stand still, and the
    least and the most seconds by which each response is delayed, drawn from `delay_seed`. `sleep`
    waits for delayed responses.
    """

    states: Mapping[str, Seed] = field(default_factory=dict)
    cors_origins: Collection[str] = ()
    grease: tuple[str, ...] = ()
    grease_seed: int = 0
    ids_seed: int | None = None
    freeze: datetime | None = None
    delay: tuple[float, float] = (0, 0)
    delay_seed: int = 0
    sleep: Callable[[float], None] = time.sleep


DEFAULTS = Options()


def prepare(app: Flask, options: Options) -> None:
    """Register what comes before the bearer check."""
    app.before_request(start)
    if options.cors_origins:
        allow_origins(app, options.cors_origins)


def install(
    app: Flask, options: Options, stores: StoreFactory, contract: bytes, redactor: Redactor
) -> None:
    """Add worlds, control routes, faults, journal and coverage, behind the bearer check.

    Each request finds the store of its world in `g.store`. `contract` is openapi.json.
    """
    v1 = Contract(json.loads(contract))
    start_with = WorldOptions(options.grease, options.grease_seed, options.ids_seed, options.freeze)
    worlds = Worlds(WorldFactory(stores, v1, start_with), v1)
    delay = partial(Random(options.delay_seed).uniform, *options.delay)
    hooks = Hooks(worlds, v1, redactor, options.sleep, delay)
    app.before_request(hooks.before)
    app.after_request(hooks.after)

    def make_records(seed: Seed, now: datetime) -> Records:
        return seed.records(now, open_world().new_id, timeline_of(stores.pace))

    states = States(options.states, make_records)
    operations = tuple(operation.id for operation in v1.operations)
    app.extensions["stub"] = Stub(worlds, states, redactor, stores.max_projects, operations)
    app.register_blueprint(routes)
    app.register_blueprint(console.console)
    app.register_error_handler(404, not_found)


def count_rejection(app: Flask, status: int, code: str) -> None:
    """Count a request that the server rejected before the app."""
    stub: Stub | None = app.extensions.get("stub")
    if stub:
        stub.worlds.count_rejection(status, code)


def judge(
    app: Flask, fail_on: Collection[str] = (), allowed: Collection[str] = ()
) -> Verdict | None:
    """The verdict of all requests so far, to all worlds; None without the stub."""
    stub: Stub | None = app.extensions.get("stub")
    return stub.judge(fail_on, allowed) if stub else None
