"""The app that is served: how it is made; and the store of --store."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import click
from flask import Flask, Response

import stub
from stub.store import SharedStores
from web.problems import PROBLEM_JSON
from web.speedups import speed_up

from .log import Log
from .options import Settings, invalid

NewApp = Callable[..., Flask]
BETWEEN_RUNS = b"""{"type": "about:blank", "title": "Service Unavailable", "status": 503, \
"detail": "This request came between two runs of --probe: end what a run starts with the run.", \
"code": "between_runs"}"""


class Served:
    """The app that is served now. --probe replaces it.

    Between two runs of --probe there is none: then each request is rejected, and counted as late.
    """

    def __init__(self, app: Flask) -> None:
        self.app: Flask | None = app
        self.late = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        app: Flask | Response | None = self.app
        if app is None:
            self.late += 1
            app = Response(BETWEEN_RUNS, 503, PROBLEM_JSON)
        return app(environ, start_response)

    @property
    def worlds(self) -> stub.Worlds | None:
        return worlds_of(self.app) if self.app else None


def make_app(create_stub: NewApp, log: Log, settings: Settings, **probed: Any) -> Flask:
    """The app of the settings, whose files have been read; a run of --probe replaces options.

    Raises `click.UsageError` for an unknown part.
    """
    options = replace(settings.options, log=log.add, **probed)
    try:
        app = create_stub(options)
    except ValueError as error:  # of a part in --grease
        raise click.UsageError(f"{error}.") from None
    return speed_up(app)


def worlds_of(app: Flask) -> stub.Worlds:
    worlds: stub.Worlds = app.extensions["worlds"]
    return worlds


def connect_store(url: str) -> SharedStores:
    """The stores of --store. Raises `click.UsageError` if it cannot be used."""
    try:
        from redis_store import RedisStores

        return RedisStores(url)
    except ModuleNotFoundError as error:
        reason = f'{error.name} is not installed: run `"{sys.executable}" -m pip install redis`'
    except ValueError as error:
        reason = str(error)
    raise invalid("store", f"{reason}.")
