"""The app for the settings of the program, and what it is made of: its files and its store."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from flask import Flask

import server
import stub
from profiles.profile import read_profile
from store import Store
from stub.rules import check
from stub.seed import Seed, read_seed, read_states, sample_of

from .log import Log
from .options import Settings, Start, invalid


def make_app(
    start: Start, settings: Settings, log: Log, seed: Seed, options: stub.StubOptions, **probed: Any
) -> Flask:
    """The app for these settings; that of a run of --probe replaces some options of the stub.

    Raises `click.UsageError` for an unknown part, or a store that cannot be used.
    """
    more: dict[str, Any] = {}  # without --store the store is that of `create_app`
    if settings.store:
        more["new_store"] = connect_store(settings.store, settings.threads + server.OTHER_THREADS)
    try:
        return start.create_app(
            tokens=settings.token,
            pace=settings.pace,
            outcomes=settings.outcome,
            max_projects=settings.max_projects,
            seed=seed,
            strict=settings.strict,
            stub_options=None if settings.no_stub else options._replace(**probed),
            log=log.add,
            redactor=log.redactor,
            **more,
        )
    except ValueError as error:  # of a part in --grease
        raise click.UsageError(f"{error}.") from None


def connect_store(url: str, threads: int) -> Callable[..., Store]:
    """What makes the stores of --store. Raises `click.UsageError` if it cannot be used."""
    try:
        from redis_store import connect

        return connect(url, threads)
    except ModuleNotFoundError as error:
        reason = f'{error.name} is not installed: run `"{sys.executable}" -m pip install redis`'
    except ValueError as error:
        reason = str(error)
    raise invalid("store", f"{reason}.")


def files_to_watch(settings: Settings) -> list[Path]:
    """The files with which all worlds begin anew: not over a store, which keeps its records."""
    if settings.store:
        return []
    return [each for each in (settings.seed, settings.states, settings.like) if each]


def read_files(settings: Settings) -> tuple[Seed, stub.StubOptions]:
    """The records of the start and the options of the stub. Raises `click.UsageError`."""
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
    return seed, stub.StubOptions(
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
    )
