"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from flask import Flask

from redaction import Redactor

from .contract import Contract
from .cors import allow_origins, check_origins, cors_headers
from .grease import MAX_SEED, parse_axes
from .hooks import Hooks, start
from .pact import States
from .routes import Stub, not_found, routes
from .seed import Seed, StoreFactory
from .worlds import WorldFactory, Worlds

__all__ = [
    "DEFAULTS",
    "MAX_SEED",
    "OPEN_PATHS",
    "Options",
    "check_origins",
    "cors_headers",
    "coverage_table",
    "install",
    "parse_axes",
    "prepare",
]

OPEN_PATHS = {"/_stub/health", "/_stub/openapi.json"}


@dataclass(frozen=True)
class Options:
    """What the stub adds: Pact's provider states by name, the origins of browser clients, the axes
    and the seed of grease. `sleep` waits for delayed responses.
    """

    states: Mapping[str, Seed] = field(default_factory=dict)
    cors_origins: Collection[str] = ()
    grease: tuple[str, ...] = ()
    grease_seed: int = 0
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
    worlds = Worlds(WorldFactory(stores, v1, options.grease, options.grease_seed))
    hooks = Hooks(worlds, v1, redactor, options.sleep)
    app.before_request(hooks.before)
    app.after_request(hooks.after)
    states = States(options.states, stores.records)
    operations = tuple(operation.id for operation in v1.operations)
    app.extensions["stub"] = Stub(worlds, states, stores.max_projects, operations)
    app.register_blueprint(routes)
    app.register_error_handler(404, not_found)


def coverage_table(app: Flask) -> str:
    """The coverage of the main world for a terminal; empty without the stub or requests."""
    stub: Stub | None = app.extensions.get("stub")
    return stub.worlds.open("").coverage.table() if stub else ""
