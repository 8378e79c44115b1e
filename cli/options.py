"""The settings of the program: each option stands once, and `--help` is their reference."""

import math
import random
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN, BearerAuth
from store import MAX_PROJECTS, PACE
from stub.failures import FAILURES
from stub.grease.axes import AXES


class Start(NamedTuple):
    """What the program is started with: click's `obj`. `words` are the COMMAND, if any."""

    create_app: Callable[..., Flask]
    words: Sequence[str] | None
    environ: Mapping[str, str]


class Option(click.Option):
    """An option whose variable is read from the environment of `Start`: click reads os.environ."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return ctx.obj.environ.get(self.envvar) or None

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Convert and check the value; the message names a variable that is invalid."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            if ctx.get_parameter_source(str(self.name)) is not ParameterSource.ENVIRONMENT:
                raise
            message = f"{error.message} It is from {self.envvar}."
            raise click.BadParameter(message, ctx, self) from None


class Integer(click.IntRange):
    name = "integer"  # click's messages say "integer range"


class Number(click.FloatRange):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail("give a finite number of seconds.", param, ctx)
        return number


class SpacedText(click.types.StringParamType):
    """A text that may have spaces: its variable has one to a line."""

    envvar_list_splitter = "\n"


def option(
    text: str, kind: Any = None, parse: Callable[[Any], Any] | None = None, **more: Any
) -> Any:
    """A field of `Settings`, which an option sets.

    `parse` makes the value of what was given, or returns None, which leaves it as it is. It raises
    `ValueError` for an invalid one.
    """

    def callback(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            parsed = parse(value) if parse and value is not None else None
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None
        return value if parsed is None else parsed

    more = {"show_default": "default" in more, **more}
    return field(metadata={"help": text, "type": kind, "callback": callback, **more})


def flag(text: str) -> Any:
    return option(text, is_flag=True)


def several(text: str, parse: Callable[[Any], Any] | None, kind: Any = None, **more: Any) -> Any:
    return option(f"{text}; repeatable.", kind, parse, multiple=True, **more)


def axes(text: str, parse: Callable[[str], tuple[str, ...]]) -> Any:
    """An option that may be without a value, which is then tier 1."""
    more = {"is_flag": False, "flag_value": "tier1", "metavar": "[AXES]"}
    return option(text, None, parse, default="", show_default=False, **more)


def file(text: str) -> Any:
    return option(text, click.Path(path_type=Path), check_file)


def check_file(path: Path) -> None:
    if path == Path("-"):
        raise ValueError("give the name of a file; - stands for no stream here")


def parse_delay(text: str) -> tuple[float, float]:
    least, *most = re.split("(?<![eE])-", text, maxsplit=1)  # not that of 1e-3
    try:
        delay = float(least), float(*most or [least])
    except ValueError:
        delay = (1.0, 0.0)
    if not 0 <= delay[0] <= delay[1] <= stub.MAX_DELAY:
        raise ValueError(f"give seconds from 0 to {stub.MAX_DELAY}, or two such as 0.2-1.5")
    return delay


def parse_freeze(text: str) -> datetime:
    time = stub.parse_time(text)
    if time is None or time.year > MAX_YEAR:
        raise ValueError(f"give an RFC 3339 time up to {MAX_YEAR}, such as 2026-01-05T09:00:00Z")
    return time


def parse_grease(text: str) -> tuple[str, ...]:
    return stub.parse_axes(text) if text else ()


def parse_probe(text: str) -> tuple[str, ...]:
    if "@" in text:
        raise ValueError("give axes without parts, which --probe finds by itself")
    groups = {"tier1": stub.TIER_1, "all": AXES, "failures": FAILURES}
    names, chosen = (*AXES, *FAILURES), set()
    for word in (each.strip() for each in text.split(",")) if text else ():
        if word not in (*groups, *names):
            raise ValueError(f"{word!r} is unknown: there are {', '.join((*groups, *names))}")
        chosen |= {*groups.get(word, [word])}
    return tuple(name for name in names if name in chosen)


def check_store(url: str) -> None:
    """The error leaves the URL out, which may have a password."""
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("give a URL such as redis://host:6379/0, rediss://… or unix://…")


def parse_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    tokens = tokens or (DEFAULT_TOKEN,)
    BearerAuth(tokens, worlds=True)
    return tokens


SEED = Integer(0, stub.MAX_SEED)
SECONDS = Number(0)
MAX_YEAR = 9900  # which leaves room to advance the clock


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the program was asked for. An option and its variable have the name of the field.

    Times are in seconds. `delay` are the least and the most. `port` 0 picks a free one.
    """

    # Every day
    port: int = option("Port to listen on; 0 picks a free one.", Integer(0, 65535), default=8080)
    pace: float = option("Seconds a deployment is queued, then building.", SECONDS, default=PACE)
    empty: bool = flag("Start without the sample.")
    seed: Path | None = file("JSON file to start from, not the sample.")
    cors_origin: tuple[str, ...] = several("Origin whose pages may call, or *", stub.check_origins)
    delay: tuple[float, float] = option(
        "Seconds by which each response is late, or LEAST-MOST for random ones.",
        parse=parse_delay,
        metavar="SECONDS",
        default="0",
    )
    quiet: bool = flag("Print no line per request, unless the run ends with a finding.")
    log: Path | None = file("File for a line per request, made anew at the start.")
    # In a client team's tests
    strict: bool = flag("Reject query parameters and members that are not in the contract.")
    grease: tuple[str, ...] = axes(
        "Vary what nobody promised: tier1 (the default), all, or AXES with commas; axis@part "
        "limits an axis to a part of the contract.",
        parse_grease,
    )
    probe: tuple[str, ...] = axes(
        "Run the COMMAND once for each axis, and say on which parts it depends; with failures, "
        "once for each failure of the service, and say what it did then.",
        parse_probe,
    )
    grease_seed: int = option(
        "Seed of the variations; random if left out.",
        SEED,
        default=partial(random.randrange, 2**32),
        show_default=False,
    )
    ids_seed: int | None = option(
        "Seed of the ids, which are then the same in every run; random if left out.", SEED
    )
    freeze: datetime | None = option(
        "RFC 3339 time at which the clock of each world stands still.",
        parse=parse_freeze,
        metavar="TIME",
    )
    states: Path | None = file("JSON file of Pact provider states: a seed document for each name.")
    like: Path | None = file("Profile of a service, from verify --save: respond as it does.")
    fail_on: tuple[str, ...] = several(
        f"Exit with 1 if one of these is found: {', '.join(stub.KINDS)}",
        stub.parse_kinds,
        metavar="KINDS",
    )
    allow: tuple[str, ...] = several(
        "Text or shell pattern of a finding that --fail-on ignores, in STUB_ALLOW one to a line",
        None,
        SpacedText(),
    )
    report: Path | None = file("File for the coverage and the findings, as JSON.")
    no_stub: bool = flag("Leave out worlds, Prefer, and everything under /_stub.")
    # How to serve
    host: str = option("Address to listen on.", default="127.0.0.1")
    token: tuple[str, ...] = several(f"Valid token, in place of {DEFAULT_TOKEN}", parse_tokens)
    trusted_host: tuple[str, ...] = several(
        "Host to serve on loopback besides its own names", server.check_hosts
    )
    store: str | None = option(
        "Redis server that keeps the records, such as redis://127.0.0.1:6379/0.",
        parse=check_store,
        metavar="URL",
    )
    max_projects: int = option("Maximum number of projects.", Integer(1), default=MAX_PROJECTS)
    journal_bytes: int = option("Memory for the journals of all worlds.", Integer(1), default=2**26)
    threads: int = option("Number of requests that run at once.", Integer(1, 1000), default=16)
    deadline: float = option(
        "Seconds in which a request must arrive.", Number(0, min_open=True), default=30.0
    )
    grace: float = option("Seconds to finish requests at the end.", SECONDS, default=10.0)

    @cached_property
    def delay_seed(self) -> int:
        """Random without --ids-seed."""
        return random.randrange(2**32) if self.ids_seed is None else self.ids_seed

    def reachable_url(self, port: int) -> str:
        """The URL for a client on this machine."""
        address = str(server.address_of(self.host))
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, self.host)
        return f"http://{server.in_brackets(host)}:{port}"


TITLES = {"port": "Every day", "strict": "In a client team's tests", "host": "How to serve"}
OPTIONS = {
    each.name: Option(
        [f"--{each.name.replace('_', '-')}"], envvar=f"STUB_{each.name.upper()}", **each.metadata
    )
    for each in fields(Settings)
}


class Program(click.Group):
    """Lists its options under the titles of `TITLES`."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        title = ""
        for each in self.get_params(context):
            title = TITLES.get(str(each.name), title if each.name in OPTIONS else "About")
            sections.setdefault(title, []).append(each.get_help_record(context) or ("", ""))
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
        self.format_commands(context, formatter)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            raise click.UsageError(f"put -- before the command: -- {shlex.join(args)}", context)
        if context.obj.words is not None:
            raise click.UsageError(f"{args[0]} takes no command: leave out what follows --.")
        return super().resolve_command(context, args)
