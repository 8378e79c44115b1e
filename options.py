"""The options of the program, grouped by who uses them: `--help` is their reference."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import server
import stub
from auth import DEFAULT_TOKEN, BearerAuth
from store import MAX_PROJECTS, PACE


def checked_by(check: Callable[[Any], object]) -> Callable[..., Any]:
    """A click callback for `check`, which raises `ValueError` for an invalid value."""

    def callback(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            check(value)
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None
        return value

    return callback


def parse_axes(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    try:
        return stub.parse_axes(value) if value is not None else ()
    except ValueError as error:
        raise click.BadParameter(f"{error}.", context, option) from None


def parse_freeze(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    time = stub.parse_time(value)
    if value is not None and (time is None or time.year > MAX_YEAR):
        reason = f"give an RFC 3339 time up to {MAX_YEAR}, such as 2026-01-05T09:00:00Z."
        raise click.BadParameter(reason, context, option)
    return time


def parse_delay(context: click.Context, option: click.Parameter, value: str) -> Any:
    least, _, most = value.partition("-")
    try:
        delay = float(least), float(most or least)
    except ValueError:
        delay = (1.0, 0.0)
    if not 0 <= delay[0] <= delay[1] <= MAX_DELAY:
        reason = f"give seconds from 0 to {MAX_DELAY}, or two such as 0.2-1.5."
        raise click.BadParameter(reason, context, option)
    return delay


def parse_kinds(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Any:
    kinds = [kind.strip() for value in values for kind in value.split(",")]
    for kind in kinds:
        if kind not in stub.KINDS:
            known = ", ".join(stub.KINDS)
            raise click.BadParameter(f"{kind!r} is unknown: there are {known}.", context, option)
    return kinds


MAX_YEAR = 9900  # which leaves room to advance the clock
MAX_DELAY = 30  # seconds, as for a fault


class Integer(click.IntRange):
    name = "integer"  # click's messages say "integer range"


class Number(click.FloatRange):
    name = "number"


def check_finite(seconds: float) -> None:
    if not math.isfinite(seconds):
        raise ValueError("give a finite number of seconds")


def seconds(name: str, default: float, help_text: str, **more: Any) -> click.Option:
    """An option for a finite number of seconds."""
    finite = checked_by(check_finite)
    more = {"type": Number(0), **more}
    return click.Option(
        [name], default=default, show_default=True, callback=finite, help=help_text, **more
    )


def number(
    name: str, default: int, most: int | None, help_text: str, least: int = 1
) -> click.Option:
    kind = Integer(least, most)
    return click.Option([name], type=kind, default=default, show_default=True, help=help_text)


def flag(name: str, help_text: str) -> click.Option:
    return click.Option([name], is_flag=True, help=help_text)


def variable(option: str) -> str:
    """The environment variable of an option."""
    return "STUB_" + option.lstrip("-").replace("-", "_").upper()


def several(names: list[str], check: Callable[[Any], object], help_text: str) -> click.Option:
    """A repeatable option; in its environment variable, values are separated by spaces."""
    return click.Option(
        names, multiple=True, envvar=variable(names[0]), callback=checked_by(check), help=help_text
    )


def file(names: list[str], help_text: str) -> click.Option:
    kind = click.Path(path_type=Path)
    return click.Option(names, envvar=variable(names[0]), type=kind, help=help_text)


OPTIONS: dict[str, list[click.Parameter]] = {
    "Every day": [
        number("--port", 8080, 65535, "Port to listen on; 0 picks a free one.", least=0),
        seconds("--pace", PACE, "Seconds that a new deployment is queued, and then building."),
        flag("--empty", "Start without the sample."),
        file(["--seed", "seed_file"], "JSON file to start from, not the sample."),
        several(
            ["--cors-origin", "cors_origins"],
            stub.check_origins,
            "Origin whose pages may call, or *; repeatable.",
        ),
        click.Option(
            ["--delay"],
            metavar="SECONDS",
            default="0",
            show_default=True,
            callback=parse_delay,
            help="Seconds by which each response is late, or LEAST-MOST for random ones.",
        ),
        flag("--quiet", "Write no line per request."),
    ],
    "In a client team's tests": [
        flag("--strict", "Reject query parameters and members that are not in the contract."),
        click.Option(
            ["--grease"],
            is_flag=False,
            flag_value="tier1",
            metavar="[AXES]",
            callback=parse_axes,
            help="Vary what nobody promised: tier1 (the default), all, or AXES with commas.",
        ),
        click.Option(
            ["--grease-seed"],
            type=Integer(0, stub.MAX_SEED),
            help="Seed of the variations; random if left out.",
        ),
        click.Option(
            ["--ids-seed"],
            type=Integer(0, stub.MAX_SEED),
            help="Seed of the ids, which are then the same in every run; random if left out.",
        ),
        click.Option(
            ["--freeze"],
            metavar="TIME",
            callback=parse_freeze,
            help="RFC 3339 time at which the clock of each world stands still.",
        ),
        file(
            ["--states", "states_file"],
            "JSON file of Pact provider states: a seed document for each name.",
        ),
        click.Option(
            ["--fail-on"],
            multiple=True,
            metavar="KINDS",
            callback=parse_kinds,
            help=f"Exit with 1 if one of these is found: {', '.join(stub.KINDS)}; repeatable.",
        ),
        several(
            ["--allow", "allowed"],
            lambda patterns: None,
            "Shell pattern of a finding that --fail-on ignores; repeatable.",
        ),
        file(["--report", "report_file"], "File for the coverage and the findings, as JSON."),
        flag("--no-stub", "Leave out everything under /_stub, worlds and Prefer."),
    ],
    "How to serve": [
        click.Option(
            ["--host"], default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        several(
            ["--token", "tokens"],
            lambda tokens: BearerAuth(tokens or (DEFAULT_TOKEN,)),
            f"Valid token, in place of {DEFAULT_TOKEN}; repeatable.",
        ),
        several(
            ["--trusted-host", "trusted_hosts"],
            server.check_hosts,
            "Host to serve on loopback besides its own names; repeatable.",
        ),
        number("--max-projects", MAX_PROJECTS, None, "Maximum number of projects."),
        number("--threads", 16, 1000, "Number of requests that run at once."),
        seconds(
            "--deadline",
            30.0,
            "Seconds in which a request must arrive.",
            type=Number(0, min_open=True),
        ),
        seconds("--grace", 10.0, "Seconds to finish the current requests at the end."),
    ],
}


class GroupedCommand(click.Command):
    """Lists its options under the titles of `OPTIONS`."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = [option for options in OPTIONS.values() for option in options]
        others = [option for option in self.get_params(context) if option not in grouped]
        for title, options in {**OPTIONS, "About": others}.items():
            with formatter.section(title):
                formatter.write_dl(
                    [option.get_help_record(context) or ("", "") for option in options]
                )
