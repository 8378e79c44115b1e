"""The options of the program, one row each: `--help` is their reference."""

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource
from flask import Flask

import server
import stub
from store import MAX_PROJECTS


class Start(NamedTuple):
    """What the program is started with: click's `obj`. `words` are the COMMAND, if any."""

    create_stub: Callable[..., Flask]
    words: Sequence[str] | None
    environ: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """What the program was asked for: its own options by their names, and those of the stub.

    `options` have what the files and the store give once `cli.files` has read them. Times are in
    seconds.
    """

    options: stub.Options = field(default_factory=stub.Options)
    port: int = 8080
    empty: bool = False
    seed: Path | None = None
    keep: Path | None = None
    quiet: bool = False
    log: Path | None = None
    probe: tuple[str, ...] = ()
    states: Path | None = None
    like: Path | None = None
    fail_on: Sequence[str] = ()
    allow: Sequence[str] = ()
    report: Path | None = None
    host: str = "127.0.0.1"
    trusted_host: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)  # values with placeholders, by name
    store: str | None = None
    threads: int = 64
    grace: float = 10.0

    def environment(self, url: str, port: int) -> dict[str, str]:
        """What a command has in its environment besides ours."""
        token = next(iter(self.options.tokens))
        values = {"url": url, "token": token, "port": str(port)}
        environment = {"STUB_URL": url, "STUB_TOKEN": token}
        if self.fail_on:  # for a program that a fixture of the command starts
            environment["STUB_FAIL_ON"] = ",".join(self.fail_on)
            environment["STUB_ALLOW"] = "\n".join(self.allow)
        for name, text in self.env.items():
            environment[name] = PLACEHOLDER.sub(lambda found: values[found[1]], text)
        return environment

    def reachable_url(self, port: int) -> str:
        """The URL for a client on this machine."""
        address = str(server.address_of(self.host))
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, self.host)
        return f"http://{server.in_brackets(host)}:{port}"


# The variables of options

BLANKS = " \t\r\n\ufeff"  # a byte order mark, too


class Option(click.Option):
    """An option whose variable is read from the environment of `Start`: click reads os.environ."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        name = str(self.envvar)
        value: str = ctx.obj.environ.get(name, "").strip(BLANKS)
        return value or None

    def get_error_hint(self, ctx: click.Context | None) -> str:
        if ctx and ctx.get_parameter_source(str(self.name)) is ParameterSource.ENVIRONMENT:
            return f"'{self.envvar}'"
        return super().get_error_hint(ctx)


# What an option takes


class Integer(click.IntRange):
    name = "integer"  # click's messages say "integer range"


class Number(click.FloatRange):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):  # which is neither below the least nor above the most
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


class Several(click.types.StringParamType):
    """A text, of which a variable may have several, whatever an editor has put around them."""

    def __init__(self, separator: str) -> None:
        self.separator = separator

    def split_envvar_value(self, rv: str) -> list[str]:
        return self.items(rv) or [rv]

    def items(self, text: str) -> list[str]:
        items = [each.strip(BLANKS) for each in re.split(self.separator, text)]
        return [each for each in items if each]


WORDS = Several(r"[\s,]")
LINES = Several("\n")  # of texts that may have spaces


def parse_path(text: str) -> Path:
    if text.strip() in ("", "-"):  # the first of a variable that a shell does not know
        raise ValueError(f"give the name of a file, not '{text}'")
    return Path(text)


def parse_lines(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for text in texts for line in LINES.items(text))


def parse_outcomes(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Each pattern of names with its status; a status alone is for all other names."""
    named = []
    usual = []
    for text in texts:
        pattern, _, word = text.rpartition("=")
        if pattern:
            named.append((pattern, word))
        else:
            usual.append(("*", word))
    if len(usual) > 1:
        raise ValueError("give one status without a pattern")
    return tuple(named + usual)


def check_tokens(texts: Sequence[str]) -> None:
    stub.Tokens(texts)


VARIABLE = re.compile(r"([^\s=]+)=(.*)", re.DOTALL)
PLACEHOLDER = re.compile(r"\{(\w+)\}")  # other braces, as of JSON, are plain text


def parse_env(texts: Sequence[str]) -> dict[str, str]:
    """The variables by their names; of one name the last counts, as it does for env(1)."""
    variables = {}
    for text in texts:
        found = VARIABLE.fullmatch(text)
        if not found:
            raise ValueError("give NAME=VALUE, such as API_URL={url}/v1")
        name, value = found.groups()
        for placeholder in PLACEHOLDER.finditer(value):
            if placeholder[0] not in ("{url}", "{token}", "{port}"):
                raise ValueError(f"{placeholder[0]} is none of {{url}}, {{token}} and {{port}}")
        variables[name] = value
    return variables


def parse_freeze(text: str) -> datetime:
    time = stub.parse_time(text)
    if time and time.year <= 9900:  # a clock can be advanced by ten years
        return time
    raise ValueError("give an RFC 3339 time up to 9900, such as 2026-01-05T09:00:00Z")


def parse_probe(text: str) -> tuple[str, ...]:
    names = (*stub.AXES, *stub.FAILURES)
    known = {"tier1": stub.TIER_1, "all": stub.AXES, "failures": stub.FAILURES}
    known |= {name: (name,) for name in names}
    chosen: set[str] = set()
    for word in stub.parse_kinds([text], known):
        chosen.update(known[word])
    return tuple(name for name in names if name in chosen)


# The rows

Row = dict[str, Any]
"""What click's `Option` is given besides its name, its variable and the default of its field."""


def option(text: str, kind: Any = None, **more: Any) -> Any:
    """A row with a text for `--help`.

    `kind` is a click type, or a function: it makes the value, or returns None, which leaves what
    was given as it is. It raises `ValueError` for an invalid one.
    """

    def parse(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            parsed = None if value is None else kind(value)
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None
        return value if parsed is None else parsed

    if kind is None or isinstance(kind, click.ParamType):
        return {"help": text, "type": kind, **more}
    return {"help": text, "callback": parse, **more}


def flag(text: str) -> Any:
    return option(text, is_flag=True)


def several(text: str, kind: Any = None, of: Several = WORDS, **more: Any) -> Any:
    return option(f"{text}; repeatable.", kind, **more, type=of, multiple=True)


def axes(text: str, parse: Callable[[str], tuple[str, ...]]) -> Row:
    """An option that may be without a value, which is then tier 1."""

    def parse_given(given: str) -> tuple[str, ...]:
        return parse(given) if given else ()

    optional = {"is_flag": False, "flag_value": "tier1", "default": "", "show_default": False}
    row: Row = option(text, parse_given, metavar="[AXES]", **optional)
    return row


def file(text: str) -> Any:
    return option(text, parse_path, metavar="PATH")


MAX_STORED = 1000  # projects of a world with --store, where each change writes the whole world
SEED = Integer(0, stub.MAX_SEED)
SECONDS = Number(0, 10**9)
DELAY = Number(0, 30)
TICK = Number(0, stub.MAX_ADVANCE.total_seconds())
RANDOM = partial(random.randrange, 2**32)
FAIL_ON = f"Exit with 1 if one of these is found: {', '.join(stub.CHOICES)}"

# By the titles of `--help`. The defaults are those of `Settings` and of the stub's `Options`.
ROWS: dict[str, dict[str, Row]] = {
    "Every day": {
        "port": option("Port to listen on; 0 picks a free one.", Integer(0, 65535)),
        "pace": option("Seconds a deployment is queued, then building.", SECONDS),
        "outcome": several(
            "Last status of new deployments, or PATTERN=STATUS for names of projects",
            parse_outcomes,
            LINES,
            metavar="STATUS",
        ),
        "empty": flag("Start without the sample."),
        "seed": file("JSON file to start from, not the sample."),
        "keep": file("JSON file to start from once it is there, and to write with each change."),
        "cors_origin": several("Origin whose pages may call, or *", stub.check_origins),
        "delay": option("Seconds by which responses are late.", DELAY, default=0.0),
        "quiet": flag(
            "Of the requests, print failed ones to /_stub, and the last 20 if the run fails."
        ),
        "log": file("File to which a line per request is appended."),
    },
    "In a client team's tests": {
        "env": several(
            "Variable for the COMMAND; {url}, {token} and {port} are filled in",
            parse_env,
            LINES,
            metavar="NAME=VALUE",
        ),
        "strict": flag("Reject query parameters and members that are not in the contract."),
        "grease": axes(
            "Vary what nobody promised: tier1 (the default), all, or AXES; axis@part limits an "
            "axis.",
            stub.parse_axes,
        ),
        "probe": axes(
            "Run the COMMAND once for each axis, or each of the failures, and say what it depends "
            "on.",
            parse_probe,
        ),
        "grease_seed": option(
            "Seed of the variations.", SEED, default=RANDOM, show_default="random"
        ),
        "ids_seed": option("Seed of the ids; random if left out.", SEED),
        "freeze": option("RFC 3339 time at which all clocks stand still.", parse_freeze),
        "tick": option(
            "Seconds by which each read of a deployment moves the clock.", TICK, default=0.0
        ),
        "states": file("JSON file of Pact provider states: a seed document for each name."),
        "like": file("Profile of a service: respond with its bodies (docs profile)."),
        "fail_on": several(FAIL_ON, stub.parse_kinds),
        "allow": several(
            "Finding to ignore, or a shell pattern; one to a line", parse_lines, LINES
        ),
        "report": file("File for the coverage and the findings, as JSON; FILE.xml: JUnit XML."),
    },
    "How to serve": {
        "host": option("Address to listen on."),
        "token": several("Valid token", check_tokens),
        "trusted_host": several("Host to serve on loopback, too", server.check_hosts),
        "store": option("Redis server for the records, such as redis://127.0.0.1:6379/0."),
        "max_projects": option(
            f"Maximum number of projects; with --store {MAX_STORED} is the default and the limit.",
            Integer(1),
            show_default=str(MAX_PROJECTS),
        ),
        "threads": option("Number of requests that run at once.", Integer(1, 1000)),
        "grace": option("Seconds to finish requests at the end.", SECONDS),
    },
}
# Fields of the stub's `Options` that are not called as their option is.
FIELDS = {"token": "tokens", "outcome": "outcomes", "cors_origin": "cors_origins"}
OWN = {each.name for each in fields(Settings)}


def field_of(name: str) -> str:
    return FIELDS.get(name, name)


def make_options() -> dict[str, Option]:
    """click's options by their names."""
    settings = Settings()
    made = {}
    for rows in ROWS.values():
        for name, row in rows.items():
            owner = settings if name in OWN else settings.options
            default = getattr(owner, field_of(name))
            words = [f"--{name.replace('_', '-')}"]
            more = {"default": default, **row} if default else row
            made[name] = Option(words, envvar=f"STUB_{name.upper()}", **more)
    return made


OPTIONS = make_options()


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings of the values of all options; nothing that they name is read."""
    own = {}
    others = {}
    for name, value in values.items():
        if name in OWN:
            own[name] = value
        else:
            others[field_of(name)] = value
    return Settings(stub.Options(**others), **own)


def invalid(name: str, reason: str) -> click.BadParameter:
    """The error of an option, which names its variable if that was given."""
    return click.BadParameter(reason, click.get_current_context(silent=True), OPTIONS[name])
