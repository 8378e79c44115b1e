"""The options of the program, with their texts for `--help`."""

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
    """The arguments of `main()` that click passes on as its `obj`.

    `words` are the COMMAND: `["npm", "test"]`. Without `--` they are None.
    """

    create_stub: Callable[..., Flask]
    words: Sequence[str] | None
    environ: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """The options of the program by their names; `options` are the options of the stub.

    `cli.apps.load_files()` replaces paths in `options` by the content of the files. Times are in
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
    env: Mapping[str, str] = field(default_factory=dict)
    store: str | None = None
    threads: int = 64
    grace: float = 10.0

    def environment(self, url: str, port: int) -> dict[str, str]:
        """Return the variables of a command: `{"STUB_URL": …, "STUB_TOKEN": …}` and --env."""
        token = next(iter(self.options.tokens))
        values = {"url": url, "token": token, "port": str(port)}
        environment = {"STUB_URL": url, "STUB_TOKEN": token}
        if self.fail_on:  # A fixture in the command may start a program of its own.
            environment["STUB_FAIL_ON"] = ",".join(self.fail_on)
            environment["STUB_ALLOW"] = "\n".join(self.allow)
        for name, text in self.env.items():
            environment[name] = re.sub(PLACEHOLDER, lambda found: values[found[1]], text)
        return environment

    def reachable_url(self, port: int) -> str:
        """Return the URL for a client on this machine: `http://127.0.0.1:8080`."""
        address = str(server.find_address(self.host))
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, self.host)
        return f"http://{server.add_brackets(host)}:{port}"


BLANKS = " \t\r\n\ufeff"  # `\ufeff` is a byte order mark.


HAS_VARIABLES = "deployment_stub.has_variables"  # the key in `meta` of click's context


class Option(click.Option):
    """An option that reads its variable from `Start.environ`. click would read `os.environ`."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        environ = ctx.obj.environ if ctx.meta[HAS_VARIABLES] else {}
        value: str = environ.get(str(self.envvar), "").strip(BLANKS)
        return value or None

    def get_error_hint(self, ctx: click.Context | None) -> str:
        if ctx and ctx.get_parameter_source(str(self.name)) is ParameterSource.ENVIRONMENT:
            return f"'{self.envvar}'"
        return super().get_error_hint(ctx)


# Types of values


class Integer(click.IntRange):
    name = "integer"  # `IntRange` is called "integer range" in messages.


class Number(click.FloatRange):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):  # `FloatRange` accepts it.
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


class Texts(click.types.StringParamType):
    """A text that may be repeated. Its variable has all texts: `STUB_TOKEN="one,two"`."""

    def __init__(self, separator: str) -> None:
        self.separator = separator

    def split_envvar_value(self, rv: str) -> list[str]:
        return self.split(rv) or [rv]

    def split(self, text: str) -> list[str]:
        parts = [part.strip(BLANKS) for part in re.split(self.separator, text)]
        return [part for part in parts if part]


WORDS = Texts(r"[\s,]")
LINES = Texts("\n")  # Such a text may have spaces.


def parse_path(text: str) -> Path:
    """Parse the path of a file that may be new."""
    if text.strip() in ("", "-"):  # It is empty if a shell does not know a variable.
        raise ValueError(f"give the name of a file, not '{text}'")
    path = Path(text)
    if path.is_dir():
        raise ValueError(f"{text} is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    return path


def parse_existing(text: str) -> Path:
    path = parse_path(text)
    if not path.exists():
        raise ValueError(f"there is no file {text}")
    return path


def parse_lines(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for text in texts for line in LINES.split(text))


def parse_outcomes(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse `["failed", "a*=canceled"]` to `(("a*", "canceled"), ("*", "failed"))`."""
    with_pattern = []
    others = []
    for text in texts:
        pattern, equals, status = text.rpartition("=")
        if equals and not pattern:
            raise ValueError(f"{text!r} lacks the pattern: give PATTERN=STATUS, or only a status")
        if pattern:
            with_pattern.append((pattern, status))
        else:
            others.append(("*", status))
    if len(others) > 1:
        raise ValueError("give only one status without a pattern")
    return tuple(with_pattern + others)


def check_tokens(texts: Sequence[str]) -> None:
    stub.Tokens(texts)


PLACEHOLDER = r"\{(\w+)\}"  # `{"a": 1}` is no placeholder.


def parse_env(texts: Sequence[str]) -> dict[str, str]:
    """Parse `["API_URL={url}/v1"]` to `{"API_URL": "{url}/v1"}`. A later value replaces it."""
    variables = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"\S+", name):
            raise ValueError("give NAME=VALUE, such as API_URL={url}/v1")
        for placeholder in re.finditer(PLACEHOLDER, value):
            if placeholder[0] not in ("{url}", "{token}", "{port}"):
                raise ValueError(f"{placeholder[0]} is not {{url}}, {{token}} or {{port}}")
        variables[name] = value
    return variables


def parse_freeze(text: str) -> datetime:
    time = stub.parse_time(text)
    if time and time.year <= 9900:  # Python's last year is 9999, and a clock can be advanced.
        return time
    raise ValueError("give an RFC 3339 time up to 9900, such as 2026-01-05T09:00:00Z")


def parse_probe(text: str) -> tuple[str, ...]:
    from stub import failures  # Most starts need none of it.

    names = (*stub.axes.AXES, *failures.FAULTS)
    known = {"tier1": stub.axes.TIER_1, "all": stub.axes.AXES, "failures": failures.FAULTS}
    known |= {name: (name,) for name in names}
    chosen: set[str] = set()
    for word in stub.parse_kinds([text], known):
        chosen.update(known[word])
    return tuple(name for name in names if name in chosen)


# The rows of the table

Row = dict[str, Any]
"""Arguments of click's `Option`: its name, variable and default are derived."""


def option(text: str, kind: Any = None, **more: Any) -> Any:
    """Make a row with a text for `--help`.

    `kind` is a click type or a function. The function returns the value to use, or None if the
    given value stays, and raises `ValueError` for an invalid value.
    """

    def convert(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            converted = None if value is None else kind(value)
        except ValueError as error:
            raise click.BadParameter(f"{error}.", context, option) from None
        return value if converted is None else converted

    if kind is None or isinstance(kind, click.ParamType):
        return {"help": text, "type": kind, **more}
    return {"help": text, "callback": convert, **more}


def flag(text: str) -> Any:
    return option(text, is_flag=True)


def several(text: str, kind: Any = None, texts: Texts = WORDS, **more: Any) -> Any:
    return option(f"{text}; repeatable.", kind, **more, type=texts, multiple=True)


def axes(text: str, parse: Callable[[str], tuple[str, ...]]) -> Row:
    """Make a row of an option with an optional value: `--grease` is `--grease tier1`."""

    def parse_given(given: str) -> tuple[str, ...]:
        return parse(given) if given else ()

    optional = {"is_flag": False, "flag_value": "tier1", "default": "", "show_default": False}
    row: Row = option(text, parse_given, metavar="[AXES]", **optional)
    return row


def file(text: str, parse: Callable[[str], Path] = parse_path) -> Any:
    return option(text, parse, metavar="PATH")


MAX_STORED = 1000  # projects of a world with --store, since each change writes the whole world
SECONDS = Number(0, 10**9)

# `--help` has the rows under these titles. Their defaults are in `Settings` and `stub.Options`.
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
        "seed": file("JSON file to start from, not the sample.", parse_existing),
        "keep": file("JSON file of the records: read at the start, written after each change."),
        "cors_origin": several("Origin whose pages may call, or *", stub.check_origins),
        "delay": option("Seconds to wait before each response.", Number(0, 30), default=0.0),
        "quiet": flag(
            "Print only failed requests to /_stub, and the last 20 requests if the run fails."
        ),
        "log": file("File to append a line per request to."),
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
            stub.axes.parse_axes,
        ),
        "probe": axes(
            "Run the COMMAND once for each axis or failure, and report what it depends on.",
            parse_probe,
        ),
        "grease_seed": option(
            "Seed of the variations.",
            Integer(0, stub.axes.MAX_SEED),
            default=partial(random.randrange, 2**32),
            show_default="random",
        ),
        "ids_seed": option("Seed of the ids; random if left out.", Integer(0, stub.axes.MAX_SEED)),
        "freeze": option("RFC 3339 time at which all clocks stand still.", parse_freeze),
        "tick": option(
            "Seconds by which each read of a deployment moves the clock.",
            Number(0, stub.MAX_ADVANCE.total_seconds()),
            default=0.0,
        ),
        "states": file(
            "JSON file of Pact provider states: a seed document for each name.", parse_existing
        ),
        "like": file(
            "Profile of a service: respond with its bodies (docs profile).", parse_existing
        ),
        "fail_on": several(
            f"Exit with 1 if one of these is found: {', '.join(stub.CHOICES)}", stub.parse_kinds
        ),
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
# The fields of `stub.Options` for options that may be repeated.
PLURALS = {"token": "tokens", "outcome": "outcomes", "cors_origin": "cors_origins"}
OWN_FIELDS = {each.name for each in fields(Settings)}


def make_options() -> dict[str, Option]:
    """Make click's options by their names: `{"port": Option(["--port"], …), …}`."""
    settings = Settings()
    made = {}
    for rows in ROWS.values():
        for name, row in rows.items():
            owner = settings if name in OWN_FIELDS else settings.options
            default = getattr(owner, PLURALS.get(name, name))
            words = [f"--{name.replace('_', '-')}"]
            more = {"default": default, **row} if default else row
            made[name] = Option(words, envvar=f"STUB_{name.upper()}", **more)
    return made


OPTIONS = make_options()


def make_settings(values: Mapping[str, Any]) -> Settings:
    """Make the settings from the values of all options: `{"port": 8080, …}`. Read no file."""
    own = {}
    others = {}
    for name, value in values.items():
        if name in OWN_FIELDS:
            own[name] = value
        else:
            others[PLURALS.get(name, name)] = value
    return Settings(stub.Options(**others), **own)


def invalid(name: str, reason: str) -> click.BadParameter:
    """Make the error of an option. It names `STUB_PORT` if the value is from this variable."""
    return click.BadParameter(reason, click.get_current_context(silent=True), OPTIONS[name])
