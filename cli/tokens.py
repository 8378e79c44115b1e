"""The valid tokens: those of --token and of the file of --token-file, which may change."""

import os
import stat
from pathlib import Path

import click

import server
from auth import DEFAULT_TOKEN, BearerAuth, read_token
from stub.documents import content_of, explained

from .options import Settings, invalid


def with_token_file(settings: Settings) -> Settings:
    """The settings with all tokens in `token`: also those of the file, as it is now.

    Raises `click.UsageError` for invalid ones, and for the published one where others can send it.
    """
    option = "token"
    try:
        if settings.token:
            BearerAuth(settings.token, worlds=not settings.no_stub)
        if settings.token_file:
            option = "token_file"
            tokens = (*settings.token, *read_token_file(settings.token_file))
            settings = settings._replace(token=tokens)
        BearerAuth(settings.token, worlds=not settings.no_stub)
    except ValueError as error:
        raise invalid(option, f"{error}{together(settings)}.") from None
    is_open = not server.address_of(settings.host).is_loopback
    if is_open and DEFAULT_TOKEN in settings.secrets:
        raise click.UsageError(
            f"{settings.host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
            "give a --token of your own (with `docker run`: `-e STUB_TOKEN=a-token-of-your-own`), "
            "or leave --host out."
        )
    return settings


def together(settings: Settings) -> str:
    """A note for an error of tokens that come from two places."""
    if not settings.token_file or not settings.token:
        return ""
    return "; the tokens of the file and those of --token or STUB_TOKEN are valid together"


def read_token_file(path: Path) -> list[str]:
    """The tokens of a file, one to a line. Raises `ValueError` with all invalid lines."""
    with explained(path):
        lines = content_of(path).decode(errors="replace").splitlines()
    tokens, errors = [], []
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
        raise ValueError("\n".join(errors))
    return tokens


def warnings_of_mode(path: Path | None) -> list[str]:
    """The warning of a token file, if there is one, whose mode lets every user read it."""
    if path is None or os.name != "posix" or not path.stat().st_mode & stat.S_IROTH:
        return []
    return [f"warning: --token-file: every user of this machine can read {path}: give it mode 0400"]
