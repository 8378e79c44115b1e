"""The command line: reads the options, makes the app with the given factory, and serves it."""

import math
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN, BearerAuth
from redaction import Redactor
from store import MAX_PROJECTS, PACE
from stub.seed import EMPTY, SAMPLE, Seed, read_seed, read_states
from terminal import background_stderr

VERSION = "1.0.0"


class NotStarted(click.ClickException):
    """A reason not to start, for stderr."""

    exit_code = 2


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
        file(
            ["--states", "states_file"],
            "JSON file of Pact provider states: a seed document for each name.",
        ),
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


@click.pass_obj
def run(create_app: Callable[..., Flask], /, **values: Any) -> None:
    """A local stand-in for the Project and Deployment Service, for development and tests.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    options = SimpleNamespace(**values)
    options.tokens = options.tokens or (DEFAULT_TOKEN,)
    if options.grease_seed is None:
        options.grease_seed = random.randrange(2**32)
    check_combinations(options)
    warn_of_unknown_variables()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # strict_json has a limit, whatever the interpreter's is
    app = make_app(create_app, options)
    try:
        with background_stderr():
            server.serve(app, options.host, options.port, server_options(options))
            say(stub.coverage_table(app))
    except server.ListenError as error:
        raise NotStarted(f"{error}. Give another --port (0 picks a free one) or --host.") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
        raise click.ClickException(f"the server failed: {error}") from None


command = GroupedCommand(
    "app.py",
    params=[option for options in OPTIONS.values() for option in options],
    callback=run,
    help=run.__doc__,
    context_settings={"auto_envvar_prefix": "STUB", "max_content_width": 100},
)
command = click.version_option(VERSION, message="%(version)s", allow_from_autoenv=False)(command)


def check_combinations(options: SimpleNamespace) -> None:
    """Raise `NotStarted` for options that do not go together."""
    host = options.host
    try:
        if DEFAULT_TOKEN in options.tokens and not server.is_loopback(host):
            raise NotStarted(
                f"{host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
                "give a --token of your own, or leave --host out."
            )
    except server.ListenError as error:
        raise NotStarted(f"{error}: give another --host.") from None
    try:
        BearerAuth(options.tokens, worlds=not options.no_stub)
    except ValueError as error:
        raise NotStarted(f"--token: {error}.") from None
    if options.empty and options.seed_file:
        raise NotStarted("--empty and --seed exclude each other: give one.")
    if options.no_stub and (options.states_file or options.cors_origins or options.grease):
        raise NotStarted(
            "--no-stub leaves out --states, --cors-origin and --grease: drop it or them."
        )


def make_app(create_app: Callable[..., Flask], options: SimpleNamespace) -> Flask:
    """The app for these options. Raises `NotStarted` for an invalid file."""
    try:
        seed, states = read_files(options)
    except ValueError as error:
        raise NotStarted(str(error)) from None
    stub_options = stub.Options(
        states=states,
        cors_origins=options.cors_origins,
        grease=options.grease,
        grease_seed=options.grease_seed,
    )
    return create_app(
        tokens=options.tokens,
        pace=options.pace,
        max_projects=options.max_projects,
        seed=seed,
        strict=options.strict,
        stub_options=None if options.no_stub else stub_options,
    )


def read_files(options: SimpleNamespace) -> tuple[Seed, dict[str, Seed]]:
    """The seed and the provider states."""
    room = options.max_projects
    states = read_states(options.states_file, max_projects=room) if options.states_file else {}
    if options.empty:
        return EMPTY, states
    if options.seed_file:
        return read_seed(options.seed_file, max_projects=room), states
    return read_seed(SAMPLE), states  # the sample may fill the store


def server_options(options: SimpleNamespace) -> server.Options:
    redactor = Redactor(options.tokens)

    def log_response(method: str, path: str, status: int, ms: float) -> None:
        # The path is percent-encoded again, so that it stays on its line whatever it holds.
        target = quote(redactor.text(f"{method} {path}"), " /*:@!$&+,;=~", encoding="latin-1")
        say(f"{target} {status} {ms:.1f} ms\n")

    def log_rejection(status: int, code: str) -> None:
        say(f"rejected {status} {code}\n")

    return server.Options(
        threads=options.threads,
        deadline=options.deadline,
        grace=options.grace,
        trusted_hosts=options.trusted_hosts,
        control_prefix=None if options.no_stub else "/_stub/",
        on_listening=partial(announce, options),
        on_response=None if options.quiet else log_response,
        on_rejected=None if options.quiet else log_rejection,
        headers_for=partial(stub.cors_headers, options.cors_origins),
    )


def announce(options: SimpleNamespace, port: int) -> None:
    """Print the address, and how to call it."""
    url = f"http://{server.in_brackets(options.host)}:{port}"
    with suppress(OSError):  # stdout may be closed
        print(f"listening on {url}", flush=True)
    token = "$STUB_TOKEN"
    if options.tokens == (DEFAULT_TOKEN,):
        token = DEFAULT_TOKEN
    elif len(options.tokens) > 1:
        token = "${STUB_TOKEN%% *}"  # the first of them
    say(f'try: curl -H "Authorization: Bearer {token}" {url}/v1/projects\n')
    if options.grease:
        axes = ",".join(options.grease)
        say(f"responses vary on purpose: --grease {axes} --grease-seed {options.grease_seed}\n")


def say(text: str) -> None:
    """Write to stderr; ignore a closed stream."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


def warn_of_unknown_variables() -> None:
    known = [variable(option.opts[0]) for options in OPTIONS.values() for option in options]
    for name in sorted(os.environ):
        if name.startswith("STUB_") and name not in known:
            (nearest,) = get_close_matches(name, known, n=1, cutoff=0)
            say(f"warning: {name} sets no option: did you mean {nearest}?\n")


def source_of(error: click.ClickException) -> str:
    """Says that an invalid value is from an environment variable, if it is."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    source = error.ctx.get_parameter_source(str(error.param.name))
    is_variable = source is click.core.ParameterSource.ENVIRONMENT
    return f" It is from {variable(error.param.opts[0])}." if is_variable else ""


def main(create_app: Callable[..., Flask]) -> int:
    """Run the program, and return its exit status. `create_app` is called as in app.py."""
    try:
        command.main(standalone_mode=False, obj=create_app)
    except click.ClickException as error:
        for line in error.format_message().split("\n"):
            say(f"error: {line}{source_of(error)}\n")
        return error.exit_code
    except click.Abort:  # Ctrl-C before the server handles it
        return 130
    return 0
