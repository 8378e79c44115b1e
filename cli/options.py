"""The options of the program, grouped by who uses them: `--help` is their reference."""

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN, BearerAuth
from store import MAX_PROJECTS, PACE

MAX_YEAR = 9900  # which leaves room to advance the clock
MAX_DELAY = 30  # seconds, as for a fault


class Start(NamedTuple):
    """What the program is started with: click's `obj`. `words` are the COMMAND, if any."""

    create_app: Callable[..., Flask]
    words: Sequence[str] | None
    environ: Mapping[str, str]


class Option(click.Option):
    """An option whose variable is read from the environment of `Start`: click reads os.environ."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return ctx.obj.environ.get(self.envvar) or None


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


def variable(option: str) -> str:
    """The environment variable of an option."""
    return "STUB_" + option.lstrip("-").replace("-", "_").upper()


def option(
    *names: str, parse: Callable[[Any], Any] | None = None, text: str, **more: Any
) -> click.Option:
    """An option and its variable. `parse` makes its value, or raises `ValueError`."""

    def callback(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            return parse(value) if parse else value
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None

    more.setdefault("show_default", "default" in more)
    return Option(list(names), envvar=variable(names[0]), callback=callback, help=text, **more)


def flag(name: str, text: str) -> click.Option:
    return option(name, is_flag=True, text=text)


def several(*names: str, check: Callable[[Any], object], text: str) -> click.Option:
    """A repeatable option; in its variable, values are separated by spaces."""

    def parse(values: Any) -> Any:
        check(values)
        return values

    return option(*names, parse=parse, multiple=True, text=text)


def file(*names: str, text: str) -> click.Option:
    return option(*names, type=click.Path(path_type=Path), parse=check_file, text=text)


def check_file(path: Path | None) -> Path | None:
    if path == Path("-"):
        raise ValueError("give the name of a file; - stands for no stream here")
    return path


def parse_delay(text: str) -> tuple[float, float]:
    least, *most = re.split("(?<![eE])-", text, maxsplit=1)  # not that of 1e-3
    try:
        delay = float(least), float(*most or [least])
    except ValueError:
        delay = (1.0, 0.0)
    if not 0 <= delay[0] <= delay[1] <= MAX_DELAY:
        raise ValueError(f"give seconds from 0 to {MAX_DELAY}, or two such as 0.2-1.5")
    return delay


def parse_freeze(text: str | None) -> datetime | None:
    time = stub.parse_time(text)
    if text is not None and (time is None or time.year > MAX_YEAR):
        raise ValueError(f"give an RFC 3339 time up to {MAX_YEAR}, such as 2026-01-05T09:00:00Z")
    return time


def parse_probe(text: str | None) -> tuple[str, ...]:
    axes = () if text is None else stub.parse_axes(text)
    if any("@" in axis for axis in axes):
        raise ValueError("give axes without parts, which --probe finds by itself")
    return axes


def check_store(url: str | None) -> str | None:
    """The error leaves the URL out, which may have a password."""
    if url is not None and not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("give a URL such as redis://host:6379/0, rediss://… or unix://…")
    return url


OPTIONS: dict[str, list[click.Parameter]] = {
    "Every day": [
        option(
            "--port",
            type=Integer(0, 65535),
            default=8080,
            text="Port to listen on; 0 picks a free one.",
        ),
        option(
            "--pace",
            type=Number(0),
            default=PACE,
            text="Seconds that a new deployment is queued, and then building.",
        ),
        flag("--empty", "Start without the sample."),
        file("--seed", "seed_file", text="JSON file to start from, not the sample."),
        several(
            "--cors-origin",
            "cors_origins",
            check=stub.check_origins,
            text="Origin whose pages may call, or *; repeatable.",
        ),
        option(
            "--delay",
            metavar="SECONDS",
            default="0",
            parse=parse_delay,
            text="Seconds by which each response is late, or LEAST-MOST for random ones.",
        ),
        flag("--quiet", "Print no line per request, unless the run ends with a finding."),
        file("--log", "log_file", text="File for a line per request, made anew at the start."),
    ],
    "In a client team's tests": [
        flag("--strict", "Reject query parameters and members that are not in the contract."),
        option(
            "--grease",
            is_flag=False,
            flag_value="tier1",
            metavar="[AXES]",
            parse=lambda text: () if text is None else stub.parse_axes(text),
            text="Vary what nobody promised: tier1 (the default), all, or AXES with "
            "commas; axis@part limits an axis to a part of the contract.",
        ),
        option(
            "--probe",
            is_flag=False,
            flag_value="tier1",
            metavar="[AXES]",
            parse=parse_probe,
            text="Run the COMMAND once for each axis, and say on which parts it depends.",
        ),
        option(
            "--grease-seed",
            type=Integer(0, stub.MAX_SEED),
            text="Seed of the variations; random if left out.",
        ),
        option(
            "--ids-seed",
            type=Integer(0, stub.MAX_SEED),
            text="Seed of the ids, which are then the same in every run; random if left out.",
        ),
        option(
            "--freeze",
            metavar="TIME",
            parse=parse_freeze,
            text="RFC 3339 time at which the clock of each world stands still.",
        ),
        file(
            "--states",
            "states_file",
            text="JSON file of Pact provider states: a seed document for each name.",
        ),
        option(
            "--fail-on",
            multiple=True,
            metavar="KINDS",
            parse=stub.parse_kinds,
            text=f"Exit with 1 if one of these is found: {', '.join(stub.KINDS)}; repeatable.",
        ),
        option(
            "--allow",
            "allowed",
            type=SpacedText(),
            multiple=True,
            text="Text or shell pattern of a finding that --fail-on ignores; repeatable, "
            "in STUB_ALLOW one to a line.",
        ),
        file("--report", "report_file", text="File for the coverage and the findings, as JSON."),
        flag("--no-stub", "Leave out worlds, Prefer, and everything under /_stub."),
    ],
    "How to serve": [
        option("--host", default="127.0.0.1", text="Address to listen on."),
        several(
            "--token",
            "tokens",
            check=lambda tokens: BearerAuth(tokens or (DEFAULT_TOKEN,)),
            text=f"Valid token, in place of {DEFAULT_TOKEN}; repeatable.",
        ),
        several(
            "--trusted-host",
            "trusted_hosts",
            check=server.check_hosts,
            text="Host to serve on loopback besides its own names; repeatable.",
        ),
        option(
            "--store",
            metavar="URL",
            parse=check_store,
            text="Redis server that keeps the records, such as redis://127.0.0.1:6379/0.",
        ),
        option(
            "--max-projects",
            type=Integer(1),
            default=MAX_PROJECTS,
            text="Maximum number of projects.",
        ),
        option(
            "--threads",
            type=Integer(1, 1000),
            default=16,
            text="Number of requests that run at once.",
        ),
        option(
            "--deadline",
            type=Number(0, min_open=True),
            default=30.0,
            text="Seconds in which a request must arrive.",
        ),
        option(
            "--grace",
            type=Number(0),
            default=10.0,
            text="Seconds to finish the current requests at the end.",
        ),
    ],
}


class Program(click.Group):
    """Lists its options under the titles of `OPTIONS`."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = [option for options in OPTIONS.values() for option in options]
        others = [option for option in self.get_params(context) if option not in grouped]
        for title, options in {**OPTIONS, "About": others}.items():
            with formatter.section(title):
                formatter.write_dl(
                    [option.get_help_record(context) or ("", "") for option in options]
                )
        self.format_commands(context, formatter)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            raise click.UsageError(f"put -- before the command: -- {shlex.join(args)}", context)
        return super().resolve_command(context, args)
