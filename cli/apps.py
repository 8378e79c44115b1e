"""The app that is served: how it is made; and the store of --store."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from flask import Flask

import stub
from stub import SharedStores
from web.speedups import speed_up

from .log import RunLog
from .options import Settings, invalid

NewApp = Callable[..., Flask]


def make_app(create_stub: NewApp, log: RunLog, settings: Settings, /, **probed: Any) -> Flask:
    """The app of the settings, whose files have been read; a run of --probe replaces options.

    Raises `click.UsageError` for an unknown part.
    """
    own = {"log": log.add, **probed}
    options = replace(settings.options, **own)
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
