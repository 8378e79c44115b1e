"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it.

What app.py and the program need of it, they find here.
"""

from functools import partial
from pkgutil import get_data
from random import Random

from flask import Flask
from flask.typing import ResponseReturnValue

from web.strict_json import JSON

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import Cors, check_origins, cors_headers, explain_preflight
from .faults import MAX_DELAY
from .grease.axes import ADVICE, MAX_SEED, TIER_1, UnknownPart, parse_axes
from .pact import states_of
from .profile import observed
from .routes import Stub, controls
from .rules import matches, parse_time
from .seed import Seed
from .steps import Steps
from .verdict import KINDS, Finding, parse_kinds
from .worlds import StubOptions, WorldFactory, Worlds

OPEN_PATHS = {
    "/llms.txt",
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *console.CONSOLE_PATHS,
}


def install(app: Flask, factory: WorldFactory) -> Steps:
    """Add worlds, control routes, faults, journal and coverage; return the steps of a request.

    Each request finds the store of its world in `g.store`.
    """
    options, contract, redactor = factory.options, factory.contract, factory.redactor
    worlds = Worlds(factory)
    operations = tuple(operation.id for operation in contract.operations)
    states = states_of(options.states)
    app.extensions["stub"] = Stub(worlds, states, redactor, operations, factory.parts)
    app.register_blueprint(controls)
    app.register_blueprint(console.console)
    app.add_url_rule("/llms.txt", "guide", show_guide)
    delay = partial(Random(options.delay_seed).uniform, *options.delay)
    failures = options.failures
    return Steps(worlds, contract, factory.parts, redactor, options.sleep, delay, failures)


def show_guide() -> ResponseReturnValue:
    """llms.txt for coding agents, beside auth.py, which may be in a zip file."""
    guide = get_data("auth", "llms.txt")
    assert guide
    return guide, 200, {**JSON, "Content-Type": "text/plain; charset=utf-8"}
