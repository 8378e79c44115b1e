"""The valid tokens: those of --token and of the file of --token-file, which may change."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import click

import server
from auth import DEFAULT_TOKEN, BearerAuth, read_token
from web.documents import content_of

from .options import Settings, invalid

TOGETHER = "; the tokens of the file and those of --token or STUB_TOKEN are valid together"


def with_token_file(settings: Settings) -> Settings:
    """The settings with all tokens in `token`: also those of the file, as it is now.

    Raises `click.UsageError` for invalid ones, and for the published one where others can send it.
    """
    given = settings.token
    if given:
        require_valid(settings, "token")
    if settings.token_file:
        settings = settings._replace(token=(*given, *read_token_file(settings.token_file)))
        require_valid(settings, "token_file", TOGETHER if given else "")
    is_open = not server.address_of(settings.host).is_loopback
    if is_open and DEFAULT_TOKEN in settings.secrets:
        raise click.UsageError(
            f"{settings.host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
            "give a --token of your own (with `docker run`: `-e STUB_TOKEN=a-token-of-your-own`), "
            "or leave --host out."
        )
    return settings


def require_valid(settings: Settings, option: str, note: str = "") -> None:
    try:
        BearerAuth(settings.token, worlds=not settings.no_stub)
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
