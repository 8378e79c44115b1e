"""The files and the store that the settings name: read at the start."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

import server
import stub
from auth import DEFAULT_TOKEN
from profiles.profile import Profile, read_profile
from stub.rules import check
from stub.seed import Seed, read_seed, read_states, sample_of, write_seed
from stub.tokens import Tokens, WorldName, read_token
from web.files import content_of

from .apps import connect_store
from .options import MAX_STORED, Settings, invalid

TOGETHER = "; the tokens of the file and those of --token or STUB_TOKEN are valid together"


def with_files(given: Settings) -> Settings:
    """The settings with what their files have now, and with their store.

    Raises `click.UsageError` for a file or a store that cannot be used.
    """
    settings = with_tokens(given)
    tenants = [read_token(each).tenant for each in settings.options.tokens]
    if settings.keep and all(tenants):
        reason = "it keeps the records of the tokens without a name, and there is none: add one."
        raise invalid("keep", reason)
    try:
        like = read_profile(settings.like) if settings.like else None
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


def seed_of(settings: Settings, like: Profile | None) -> Seed:
    if settings.keep and settings.keep.exists():
        return read_seed(settings.keep, like)
    if settings.empty:
        return Seed()
    if settings.seed:
        return read_seed(settings.seed, like)
    return sample_of(like)


def kept_state(worlds: stub.Worlds) -> str:
    """What --keep writes: the seed document of the main world of the tokens without a name."""
    store = worlds.open(WorldName()).store
    return write_seed(store.records(), store.now())


def check_outcomes(settings: Settings, like: Profile | None) -> None:
    statuses = like.words if like else ()
    for _, word in settings.options.outcomes:
        for wrong in check(word, "Status", statuses):
            raise invalid("outcome", f"{word!r} {wrong.detail}.")


# Tokens


def with_tokens(given: Settings) -> Settings:
    """The settings with all tokens: also those of the file, as it is now.

    Raises `click.UsageError` for invalid ones, and for the published one where others can send it.
    """
    tokens = [*given.options.tokens]
    note = TOGETHER if tokens else ""
    if tokens:
        require_valid(tokens, "token")
    if given.token_file:
        tokens += read_token_file(given.token_file)
        require_valid(tokens, "token_file", note)
    settings = replace(given, options=replace(given.options, tokens=tokens))
    is_open = not server.address_of(settings.host).is_loopback
    if is_open and DEFAULT_TOKEN in settings.secrets:
        raise click.UsageError(
            f"{settings.host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
            "give a --token of your own (with `docker run`: `-e STUB_TOKEN=a-token-of-your-own`), "
            "or leave --host out."
        )
    return settings


def require_valid(tokens: list[str], option: str, note: str = "") -> None:
    try:
        Tokens(tokens)
    except ValueError as error:
        raise invalid(option, f"{error}{note}.") from None


def read_token_file(path: Path) -> list[str]:
    """The tokens of a file, one to a line. Raises `click.UsageError` with all invalid lines."""
    tokens = []
    errors = []
    try:
        lines = content_of(path).decode(errors="replace").splitlines()
    except OSError as error:
        raise invalid("token_file", f"{path}: {error.strerror}.") from None
    for number, line in enumerate(lines, 1):
        token = line.partition("#")[0].strip()  # no token has this character
        if not token:
            continue
        try:
            read_token(token)
        except ValueError as error:
            errors.append(f"{path}: line {number}: {error}")
        tokens.append(token)
    if not tokens:
        errors.append(f"{path}: no line has a token")
    if errors:
        raise invalid("token_file", "\n".join(errors) + ".")
    return tokens


def warnings_of_mode(path: Path | None) -> Iterator[str]:
    """The warning of a token file, if there is one, whose mode lets every user read it."""
    if path and os.name == "posix" and path.stat().st_mode & stat.S_IROTH:
        reason = f"every user of this machine can read {path}: give it mode 0400"
        yield f"warning: --token-file: {reason}"
