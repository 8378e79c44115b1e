"""The app for the settings of the program, and what it is made of: its files and its store."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from flask import Flask

import stub
from store import MAX_PROJECTS
from stub.like.profile import read_profile
from stub.rules import check
from stub.seed import Seed, read_seed, read_states, sample_of
from stub.store import SharedStores
from web.speedups import speed_up

from .log import Log
from .options import MAX_STORED, Settings, Start, invalid


def make_app(start: Start, options: stub.Options, log: Log, **probed: Any) -> Flask:
    """The app with these options; that of a run of --probe replaces some of them.

    Raises `click.UsageError` for an unknown part.
    """
    try:
        app = start.create_stub(replace(options, log=log.add, redactor=log.redactor, **probed))
    except ValueError as error:  # of a part in --grease
        raise click.UsageError(f"{error}.") from None
    return speed_up(app)


def connect_store(url: str, threads: int) -> SharedStores:
    """The stores of --store. Raises `click.UsageError` if it cannot be used."""
    try:
        from redis_store import connect

        return connect(url, threads)
    except ModuleNotFoundError as error:
        reason = f'{error.name} is not installed: run `"{sys.executable}" -m pip install redis`'
    except ValueError as error:
        reason = str(error)
    raise invalid("store", f"{reason}.")


def max_projects_of(settings: Settings) -> int:
    """Raises `click.UsageError` for more projects than a world can have with --store."""
    most = MAX_STORED if settings.store else MAX_PROJECTS
    if settings.store and settings.max_projects and settings.max_projects > most:
        reason = f"{settings.max_projects} is too many with --store: give at most {most}."
        raise invalid("max_projects", reason)
    return settings.max_projects or most


def files_to_watch(settings: Settings) -> list[Path]:
    """The files with which all worlds begin anew: not over a store, which keeps its records."""
    if settings.store:
        return []
    return [each for each in (settings.seed, settings.states, settings.like) if each]


def options_of(settings: Settings) -> stub.Options:
    """The options of the stub, with the files and the store that the settings name.

    Raises `click.UsageError` for a file or a store that cannot be used.
    """
    try:
        like = read_profile(settings.like) if settings.like else None
        if settings.empty:
            seed = Seed()
        elif settings.seed:
            seed = read_seed(settings.seed, like)
        else:
            seed = sample_of(like)
        states = read_states(settings.states, like) if settings.states else {}
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    statuses = like.words if like else ()
    for _, word in settings.outcome:
        for wrong in check(word, "Status", statuses):
            raise invalid("outcome", f"{word!r} {wrong.detail}.")
    max_projects = max_projects_of(settings)
    stores = connect_store(settings.store, settings.threads) if settings.store else None
    return stub.Options(
        tokens=settings.token,
        pace=settings.pace,
        outcomes=settings.outcome,
        max_projects=max_projects,
        seed=seed,
        strict=settings.strict,
        states=states,
        cors_origins=settings.cors_origin,
        grease=settings.grease,
        grease_seed=settings.grease_seed,
        ids_seed=settings.ids_seed,
        freeze=settings.freeze,
        delay=settings.delay,
        delay_seed=settings.delay_seed,
        journal_bytes=settings.journal_bytes,
        world_idle=settings.world_idle,
        like=like,
        stores=stores,
    )
