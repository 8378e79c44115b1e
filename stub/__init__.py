"""What makes the service a good stub, nearly all of it under `/_stub`: the app runs without it."""

import json
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from functools import partial
from pkgutil import get_data
from random import Random

from flask import Flask
from flask.typing import ResponseReturnValue

from records import Records
from web.redaction import Redactor
from web.strict_json import JSON

from . import console
from .console import POLL_PATH
from .contract import Contract
from .cors import Cors, check_origins, cors_headers, explain_preflight
from .grease.axes import ADVICE, MAX_SEED, TIER_1, Pair, UnknownPart, parse_axes, read_grease
from .grease.parts import Parts, origin_of
from .options import DEFAULTS, StubOptions
from .pact import States
from .routes import Stub, not_found, open_world, routes
from .rules import parse_time
from .seed import Seed, room_for
from .steps import Steps
from .stores import StoreFactory
from .verdict import KINDS, Finding, Verdict, parse_kinds
from .worlds import RejectedRequest, WorldFactory, Worlds

__all__ = [
    "ADVICE",
    "DEFAULTS",
    "KINDS",
    "MAX_SEED",
    "OPEN_PATHS",
    "POLL_PATH",
    "TIER_1",
    "Cors",
    "Finding",
    "RejectedRequest",
    "StubOptions",
    "UnknownPart",
    "check_origins",
    "cors_headers",
    "count_rejection",
    "explain_preflight",
    "install",
    "judge",
    "origin_of_part",
    "parse_axes",
    "parse_kinds",
    "parse_time",
    "parts_varied",
]

OPEN_PATHS = {
    "/llms.txt",
    "/_stub/health",
    "/_stub/ready",
    "/_stub/openapi.json",
    *console.CONSOLE_PATHS,
}


def install(
    app: Flask, options: StubOptions, stores: StoreFactory, contract: bytes, redactor: Redactor
) -> Steps:
    """Add worlds, control routes, faults, journal and coverage; return the steps of a request.

    Each request finds the store of its world in `g.store`. `contract` is openapi.json.
    Raises `UnknownPart`.
    """
    v1 = Contract(json.loads(contract))
    parts = Parts(v1, are_announced=options.announces_grease)
    grease = read_grease(options.grease, options.grease_seed, parts.by_axis)
    worlds = Worlds(WorldFactory(stores, v1, options, grease, redactor), v1)

    def make_records(seed: Seed, now: datetime) -> Records:
        return stores.records(seed, now, open_world().ids)

    states = States(options.states, make_records)
    operations = tuple(operation.id for operation in v1.operations)
    most = room_for(stores.max_projects, stores.seed)
    app.extensions["stub"] = Stub(worlds, states, redactor, most, operations, parts)
    app.register_blueprint(routes)
    app.register_blueprint(console.console)
    app.add_url_rule("/llms.txt", "guide", show_guide)
    app.register_error_handler(404, not_found)
    delay = partial(Random(options.delay_seed).uniform, *options.delay)
    return Steps(worlds, v1, parts, redactor, options.sleep, delay)


def show_guide() -> ResponseReturnValue:
    """llms.txt for coding agents, beside auth.py, which may be in a zip file."""
    guide = get_data("auth", "llms.txt")
    assert guide
    return guide, 200, {**JSON, "Content-Type": "text/plain; charset=utf-8"}


def count_rejection(app: Flask, rejection: RejectedRequest) -> None:
    """Count a request that the server rejected before the app."""
    stub: Stub | None = app.extensions.get("stub")
    if stub:
        stub.worlds.count_rejection(rejection)


def judge(
    app: Flask,
    fail_on: Collection[str] = (),
    allowed: Collection[str] = (),
    more: Collection[Finding] = (),
) -> Verdict | None:
    """The verdict of all requests so far, to all worlds; None without the stub.

    `more` are findings that the requests alone do not show.
    """
    stub: Stub | None = app.extensions.get("stub")
    return stub.judge(fail_on, allowed, more) if stub else None


def parts_varied(app: Flask) -> Counter[Pair]:
    """In how many responses each part was varied along each axis, in all worlds and resets."""
    stub: Stub | None = app.extensions.get("stub")
    return stub.parts.varied_pairs() if stub else Counter()


def origin_of_part(app: Flask, part: str) -> str:
    """What the contract says of a part's origin."""
    stub: Stub = app.extensions["stub"]
    return origin_of(stub.parts.contract, part)
