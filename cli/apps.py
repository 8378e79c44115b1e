"""Makes the app that the program serves, with the files and the store of its settings."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from flask import Flask

import stub
from web.speedups import speed_up

from .files import has_text
from .log import RunLog
from .options import MAX_STORED, Settings, invalid

if TYPE_CHECKING:
    from profiles.profile import Profile

NewApp = Callable[..., Flask]


def make_app(create_stub: NewApp, log: RunLog, settings: Settings, /, **probed: Any) -> Flask:
    """Make the app from settings that `load_files()` has completed.

    A run of --probe replaces some options of the stub: `grease=("members",)`. Raises
    `click.UsageError` for an unknown part in --grease.
    """
    own = {"log": log.add, **probed}
    options = replace(settings.options, **own)
    try:
        app = create_stub(options)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    return speed_up(app)


def get_worlds(app: Flask) -> stub.Worlds:
    worlds: stub.Worlds = app.extensions["worlds"]
    return worlds


def load_files(settings: Settings) -> Settings:
    """Return the settings with the content of their files, and with their store.

    Raises `click.UsageError` for a file or a store that cannot be used.
    """
    try:
        like = None
        if settings.like:
            from profiles.profile import read_profile  # Most starts do not need it.

            like = read_profile(settings.like)
        seed = load_seed(settings, like)
        states = stub.read_states(settings.states, like) if settings.states else {}
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    check_outcomes(settings, like)
    options = replace(settings.options, like=like, seed=seed, states=states)
    if settings.store:
        most = options.max_projects or MAX_STORED
        if most > MAX_STORED:
            reason = f"{most} is too many with --store: give at most {MAX_STORED}."
            raise invalid("max_projects", reason)
        options = replace(options, stores=connect_store(settings.store), max_projects=most)
    return replace(settings, options=options)


def load_seed(settings: Settings, like: "Profile | None") -> stub.Seed:
    if settings.keep and has_text(settings.keep):
        return stub.read_seed(settings.keep, like)
    if settings.empty:
        return stub.Seed()
    if settings.seed:
        return stub.read_seed(settings.seed, like)
    if like:
        from stub import sample  # Most starts need no profile.

        return sample.make_sample(like)
    return stub.read_sample()


def check_outcomes(settings: Settings, like: "Profile | None") -> None:
    statuses = like.statuses if like else ()
    for _, status in settings.options.outcomes:
        for error in stub.check_value(status, "Status", statuses):
            raise invalid("outcome", f"{status!r} {error.detail}.")


def connect_store(url: str) -> stub.SharedStores:
    """Connect to the store of a URL: `redis://127.0.0.1:6379/0`.

    Raises `click.UsageError` if it cannot be used.
    """
    try:
        from redis_store import RedisStores

        return RedisStores(url)
    except ModuleNotFoundError as error:
        reason = f'{error.name} is not installed: run `"{sys.executable}" -m pip install redis`'
    except ValueError as error:
        reason = str(error)
    raise invalid("store", f"{reason}.")
