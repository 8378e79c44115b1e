"""The stub: the service with worlds, a clock, faults, a journal and more around it."""

import logging
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask, Response, g, request
from flask.typing import BeforeRequestCallable, ResponseReturnValue

import store
from app import create_app
from auth import Unauthorized
from web.files import read_file
from web.problems import respond
from web.strict_json import JSON

from . import console
from .control import routes
from .control.operations import add_routes
from .cors import Cors, explain_preflight
from .steps import Steps, time_requests
from .world.options import Options
from .world.store import UnknownProject
from .world.world import Shared
from .world.worlds import Visit, Worlds, explain_token

DEFAULTS = Options()

logger = logging.getLogger(__name__)


def create_stub(
    options: Options = DEFAULTS,
    *,
    clock: store.Clock = store.utc_now,
    new_id: store.NewId = store.random_id,
    sleep: Callable[[float], None] = time.sleep,
) -> Flask:
    """Create the WSGI app of the stub. Two apps share nothing.

    `clock` returns the time in UTC, `new_id` makes an id from a prefix like `prj`, and `sleep`
    waits before a delayed response. Raises `ValueError` for an invalid option, for example a token
    with a space.
    """
    contract = read_file("openapi.json")
    if options.like:
        from profiles.contract import build_contract

        contract = build_contract(contract, options.like)
    shared = Shared(options, contract, clock, new_id)
    worlds = Worlds(shared)
    steps = Steps(shared, Cors(options.cors_origins), sleep)
    app = create_app(
        worlds.authenticate, is_open=steps.is_open, strict=options.strict, contract=contract
    )
    app.extensions["worlds"] = worlds
    add_routes(app, {**routes.VIEWS, **console.VIEWS, "getGuide": show_guide})
    app.register_error_handler(404, routes.explain_unknown_path)
    app.register_error_handler(UnknownProject, routes.explain_unknown_project)
    if shared.forms:
        from .like import replace_views

        replace_views(app, shared.forms, shared.timeline_for, strict=options.strict)
    app.register_error_handler(Unauthorized, partial(explain_rejection, worlds))
    app.log_exception = partial(log_masked, worlds)  # type: ignore[method-assign]
    add_steps(app, steps, options.log)
    return app


def add_steps(app: Flask, steps: Steps, log: Callable[[Response], Response] | None) -> None:
    """Add the steps of a request, in their order.

    The service checks the token first. Between the steps before and after the view, it rejects a
    query that is not in the contract, and calls the view.
    """
    cors = steps.cors
    app.wsgi_app = time_requests(app.wsgi_app)  # type: ignore[method-assign]
    before: list[BeforeRequestCallable] = [steps.enter]
    after: list[Callable[[Response], Response]] = [steps.finish]
    if cors.is_on:
        before = [cors.respond_to_preflight, steps.enter]
        after = [cors.add_headers, steps.finish, cors.expose_headers]
    if log:
        after.append(log)
    for step in before:
        app.before_request(step)
    for step_after in reversed(after):  # Flask runs them in reverse order.
        app.after_request(step_after)


def explain_rejection(worlds: Worlds, rejection: Unauthorized) -> ResponseReturnValue:
    """Respond to a rejected token. Note the intended world, and explain the mistake."""
    header = request.environ.get("HTTP_AUTHORIZATION", "")
    visit = Visit(worlds.tokens.find_intended_world(header), worlds, is_accepted=False)
    g.store = visit
    visit.hint = explain_preflight()
    advice = f" This is a {visit.hint}." if visit.hint else ""
    rejection.description = f"{rejection.description}{explain_token(header)}{advice}"
    return respond(rejection)


def log_masked(worlds: Worlds, exc_info: Any) -> None:
    """Log the traceback of an unexpected exception without tokens."""
    logger.error("%s", worlds.shared.redactor.mask("".join(traceback.format_exception(*exc_info))))


def show_guide() -> ResponseReturnValue:
    """Show llms.txt, the guide for coding agents."""
    return read_file("llms.txt"), 200, {**JSON, "Content-Type": "text/plain; charset=utf-8"}
