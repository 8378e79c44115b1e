"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it.

What app.py and the program need of it, they find here.
"""

from functools import partial

from flask import Flask, g
from flask.typing import ResponseReturnValue

from profiles.contract import observed
from profiles.request import read_project
from web.files import read_file
from web.strict_json import JSON
from web.times import parse_time

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import Cors, check_origins, cors_headers, explain_preflight
from .faults import MAX_DELAY
from .grease.axes import ADVICE, MAX_SEED, TIER_1, UnknownPart, parse_axes
from .routes import controls
from .seed import Seed
from .steps import Steps
from .verdict import KINDS, Finding, Verdict, judge, parse_kinds
from .worlds import StubOptions, World, Worlds

OPEN_PATHS = {
    "/llms.txt",
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *console.CONSOLE_PATHS,
}


def install(app: Flask, worlds: Worlds) -> Steps:
    """Add worlds, control routes, faults, journal and coverage; return the steps of a request.

    Each request finds the store of its world in `g.store`.
    """
    app.extensions["worlds"] = worlds
    if worlds.like:
        app.config["READ_PROJECT"] = partial(read_project, worlds.like, new_name)
    app.register_blueprint(controls)
    app.register_blueprint(console.console)
    app.add_url_rule("/llms.txt", "guide", show_guide)
    return Steps(worlds)


def new_name() -> str:
    """A name for a project that a client sent without one."""
    world: World = g.world
    return world.ids("project")


def show_guide() -> ResponseReturnValue:
    """llms.txt for coding agents."""
    return read_file("llms.txt"), 200, {**JSON, "Content-Type": "text/plain; charset=utf-8"}
