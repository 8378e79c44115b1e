"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it."""

import json
from collections.abc import Collection
from datetime import datetime
from functools import partial
from random import Random

from flask import Flask

from redaction import Redactor
from store import Records

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import allow_origins, check_origins, cors_headers
from .grease import MAX_SEED, parse_axes
from .hooks import Hooks, start
from .options import DEFAULTS, Options
from .pact import States
from .routes import Stub, not_found, open_world, routes
from .rules import parse_time
from .seed import Seed, StoreFactory
from .verdict import KINDS, Verdict
from .worlds import WorldFactory, Worlds

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

OPEN_PATHS = {
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *console.OPEN_PATHS,
}


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
    worlds = Worlds(WorldFactory(stores, v1, options, redactor), v1)
    delay = partial(Random(options.delay_seed).uniform, *options.delay)
    hooks = Hooks(worlds, v1, redactor, options.sleep, delay)
    app.before_request(hooks.before)
    app.after_request(hooks.after)

    def make_records(seed: Seed, now: datetime) -> Records:
        return stores.records(seed, now, open_world().greasing.new_id)

    states = States(options.states, make_records)
    operations = tuple(operation.id for operation in v1.operations)
    # What is exported can be read again, also where the seed has more than the store's maximum.
    most = max(stores.max_projects, len(stores.seed.projects))
    app.extensions["stub"] = Stub(worlds, states, redactor, most, operations)
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
