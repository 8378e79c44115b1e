"""The files and the store that the settings name: read at the start."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from stub import Seed, check, make_sample, read_seed, read_states

from .apps import connect_store
from .keep import has_records
from .options import MAX_STORED, Settings, invalid

if TYPE_CHECKING:
    from profiles.profile import Profile


def with_files(settings: Settings) -> Settings:
    """The settings with what their files have now, and with their store.

    Raises `click.UsageError` for a file or a store that cannot be used.
    """
    try:
        like = None
        if settings.like:
            from profiles.profile import read_profile  # most starts need none

            like = read_profile(settings.like)
        seed = seed_of(settings, like)
        states = read_states(settings.states, like) if settings.states else {}
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    check_outcomes(settings, like)
    options = replace(settings.options, like=like, seed=seed, states=states)
    if settings.store:
        most = options.max_projects or MAX_STORED
        if most > MAX_STORED:
            reason = f"{most} is too many with --store: give at most {MAX_STORED}."
            raise invalid("max_projects", reason)
        stores = connect_store(settings.store)
        options = replace(options, stores=stores, max_projects=most)
    return replace(settings, options=options)


def seed_of(settings: Settings, like: "Profile | None") -> Seed:
    if settings.keep and has_records(settings.keep):
        return read_seed(settings.keep, like)
    if settings.empty:
        return Seed()
    if settings.seed:
        return read_seed(settings.seed, like)
    return make_sample(like)


def check_outcomes(settings: Settings, like: "Profile | None") -> None:
    statuses = like.words if like else ()
    for _, word in settings.options.outcomes:
        for wrong in check(word, "Status", statuses):
            raise invalid("outcome", f"{word!r} {wrong.detail}.")
