"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it."""

from datetime import datetime
from functools import partial
from pkgutil import get_data
from random import Random

from flask import Flask
from flask.typing import ResponseReturnValue

from records import Records
from web.strict_json import JSON

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import Cors, check_origins, cors_headers, explain_preflight
from .faults import MAX_DELAY
from .grease.axes import ADVICE, MAX_SEED, TIER_1, UnknownPart, parse_axes
from .options import StubOptions
from .pact import States
from .profile import observed
from .routes import Stub, not_found, open_world, routes
from .rules import matches, parse_time
from .seed import Seed, room_for
from .steps import Steps
from .verdict import KINDS, Finding, parse_kinds
from .worlds import RejectedRequest, WorldFactory, Worlds

__all__ = [
    "ADVICE",
    "KINDS",
    "MAX_DELAY",
    "MAX_SEED",
    "OPEN_PATHS",
    "POLL_PATH",
    "TIER_1",
    "Contract",
    "Cors",
    "Finding",
    "RejectedRequest",
    "Seed",
    "Stub",
    "StubOptions",
    "UnknownPart",
    "WorldFactory",
    "check_origins",
    "cors_headers",
    "explain_preflight",
    "install",
    "matches",
    "observed",
    "parse_axes",
    "parse_kinds",
    "parse_time",
]

OPEN_PATHS = {
    "/llms.txt",
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *console.CONSOLE_PATHS,
}


def install(app: Flask, factory: WorldFactory) -> Steps:
    """Add worlds, control routes, faults, journal and coverage; return the steps of a request.

    Each request finds the store of its world in `g.store`. Raises `UnknownPart`.
    """
    options, contract, redactor = factory.options, factory.contract, factory.redactor
    worlds = Worlds(factory, options.journal_bytes)

    def make_records(seed: Seed, now: datetime) -> Records:
        return seed.records(now, open_world().ids, factory.timeline)

    states = States(options.states, make_records)
    operations = tuple(operation.id for operation in contract.operations)
    most = room_for(factory.max_projects, factory.seed or Seed())
    app.extensions["stub"] = Stub(worlds, states, redactor, most, operations, factory.parts)
    app.register_blueprint(routes)
    app.register_blueprint(console.console)
    app.add_url_rule("/llms.txt", "guide", show_guide)
    app.register_error_handler(404, not_found)
    delay = partial(Random(options.delay_seed).uniform, *options.delay)
    failures = options.failures
    return Steps(worlds, contract, factory.parts, redactor, options.sleep, delay, failures)


def show_guide() -> ResponseReturnValue:
    """llms.txt for coding agents, beside auth.py, which may be in a zip file."""
    guide = get_data("auth", "llms.txt")
    assert guide
    return guide, 200, {**JSON, "Content-Type": "text/plain; charset=utf-8"}
