"""The command line: reads the options, makes the app with the given factory, and serves it."""

import gc
import json
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import Any

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN, BearerAuth
from command import Command
from options import OPTIONS, GroupedCommand, variable
from redaction import Redactor
from store import MemoryStore, Store
from stub.seed import EMPTY, SAMPLE, Seed, read_seed, read_states
from terminal import background_stderr

VERSION = "1.0.0"


class NotStarted(click.ClickException):
    """A reason not to start, for stderr."""

    exit_code = 2


@click.pass_obj
def run_program(start: tuple[Callable[..., Flask], list[str] | None], /, **values: Any) -> int:
    """A local stub of the Project and Deployment Service, for development and tests.

    With a COMMAND it serves until the command ends, whose environment has STUB_URL and STUB_TOKEN,
    and exits with its status.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    create_app, words = start
    options = complete(SimpleNamespace(**values), words)
    check_combinations(options)
    warn_of_unknown_variables()
    app = make_app(create_app, options)
    gc.freeze()
    gc.enable()  # startup.py disabled it
    try:
        server.serve(app, options.host, options.port, server_options(app, options))
        if options.command:
            options.command.end()  # if a signal ended the server before there was a command
        return report(app, options)
    except server.ListenError as error:
        raise NotStarted(f"{error}. Give another --port (0 picks a free one) or --host.") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
        raise click.ClickException(f"the server failed: {error}") from None
    finally:
        if options.command:
            options.command.end()


def complete(options: SimpleNamespace, words: list[str] | None) -> SimpleNamespace:
    """The options with the defaults that depend on others, and the command."""
    options.tokens = options.tokens or (DEFAULT_TOKEN,)
    if options.grease_seed is None:
        options.grease_seed = random.randrange(2**32)
    options.delay_seed = options.ids_seed
    if options.delay_seed is None:
        options.delay_seed = random.randrange(2**32)
    options.command = None
    if words is not None:
        if not words or not words[0]:
            raise NotStarted("give a command after --.")
        options.command = Command(words)
        source = click.get_current_context().get_parameter_source("port")
        if source is click.core.ParameterSource.DEFAULT:
            options.port = 0
    return options


program = GroupedCommand(
    "app.py",
    params=[option for options in OPTIONS.values() for option in options],
    callback=run_program,
    help=run_program.__doc__,
    options_metavar="[OPTIONS] [-- COMMAND [ARG]...]",
    context_settings={"max_content_width": 100},
)
program = click.version_option(VERSION, message="%(version)s")(program)


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
    if options.no_stub and (
        options.states_file
        or options.cors_origins
        or options.grease
        or options.fail_on
        or options.report_file
        or options.ids_seed is not None
        or options.freeze
        or any(options.delay)
    ):
        raise NotStarted(
            "--no-stub leaves out --states, --cors-origin, --grease, --fail-on, --report, "
            "--ids-seed, --freeze and --delay: drop it or them."
        )
    if options.report_file:
        check_report(options.report_file)


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
        ids_seed=options.ids_seed,
        freeze=options.freeze,
        delay=options.delay,
        delay_seed=options.delay_seed,
    )
    return create_app(
        tokens=options.tokens,
        pace=options.pace,
        max_projects=options.max_projects,
        new_store=find_store(options),
        seed=seed,
        strict=options.strict,
        stub_options=None if options.no_stub else stub_options,
    )


def find_store(options: SimpleNamespace) -> Callable[..., Store]:
    """What makes the stores. Raises `NotStarted` where the one of --store cannot be used."""
    if options.store is None:
        return MemoryStore
    try:
        from redis_store import connect
    except ModuleNotFoundError as error:
        file = Path(__file__).with_name("requirements-redis.txt")  # which stub.pyz has not
        command = f"{sys.executable} -m pip install {f'-r {file}' if file.exists() else 'redis'}"
        raise NotStarted(f"--store: {error.name} is not installed: run `{command}`.") from None
    try:
        return connect(options.store, options.threads + server.OTHER_THREADS)
    except ValueError as error:
        raise NotStarted(f"--store: {error}.") from None


def read_files(options: SimpleNamespace) -> tuple[Seed, dict[str, Seed]]:
    """The seed and the provider states."""
    room = options.max_projects
    states = read_states(options.states_file, max_projects=room) if options.states_file else {}
    if options.empty:
        return EMPTY, states
    if options.seed_file:
        return read_seed(options.seed_file, max_projects=room), states
    return read_seed(SAMPLE), states  # the sample may fill the store


def server_options(app: Flask, options: SimpleNamespace) -> server.Options:
    redactor = Redactor(options.tokens)

    def log_response(method: str, path: str, status: int, ms: float) -> None:
        if path != stub.POLL_PATH:  # to which an open page sends a request a second
            say(f"{redactor.text(f'{method} {path}')} {status} {ms:.1f} ms\n")

    def count_rejection(status: int, code: str) -> None:
        stub.count_rejection(app, status, code)
        if not options.quiet:
            say(f"rejected {status} {code}\n")

    return server.Options(
        threads=options.threads,
        deadline=options.deadline,
        grace=options.grace,
        trusted_hosts=options.trusted_hosts,
        control_prefix=None if options.no_stub else "/_stub/",
        on_listening=partial(start_command if options.command else announce, options),
        on_response=None if options.quiet else log_response,
        on_rejected=count_rejection,
        headers_for=partial(stub.cors_headers, options.cors_origins),
    )


def announce(options: SimpleNamespace, port: int, stop: Callable[[], None]) -> None:
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
    if not options.no_stub:
        say(f"open {reachable_url(options, port)}/\n")
    say_what_is_random(options)


def start_command(options: SimpleNamespace, port: int, stop: Callable[[], None]) -> None:
    """Start the command; the server stops when it ends. stdout is the command's alone."""
    options.command.take_signals()
    url = reachable_url(options, port)
    say(f"listening on {url}\n")
    say_what_is_random(options)
    error = options.command.start({"STUB_URL": url, "STUB_TOKEN": options.tokens[0]}, then=stop)
    if error:
        say(f"error: {error}\n")


def reachable_url(options: SimpleNamespace, port: int) -> str:
    """The URL for a client on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    return f"http://{server.in_brackets(host)}:{port}"


def say_what_is_random(options: SimpleNamespace) -> None:
    if options.grease:
        axes = ",".join(options.grease)
        say(f"responses vary on purpose: --grease {axes} --grease-seed {options.grease_seed}\n")
    least, most = options.delay
    if least != most:
        say(f"delays are random: --delay {least}-{most} --ids-seed {options.delay_seed}\n")


def report(app: Flask, options: SimpleNamespace) -> int:
    """Write the coverage and the findings; return the exit status."""
    status: int = options.command.status if options.command else 0
    verdict = stub.judge(app, options.fail_on, options.allowed)
    if verdict is None:
        return status
    say(verdict.table + "".join(finding.line() for finding in verdict.findings))
    for pattern in verdict.unused_patterns:
        say(f"warning: --allow {pattern!r} matches no finding\n")
    if verdict.findings:
        status = status or 1
    if options.report_file:
        try:
            write_whole(options.report_file, json.dumps(verdict.document(status), indent=2) + "\n")
        except OSError as error:
            say(f"error: {options.report_file}: {error.strerror}\n")
            status = status or 1
    return status


def check_report(path: Path) -> None:
    """Make room for the report. Raises `NotStarted` if it cannot be written."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "not a file")
        with NamedTemporaryFile(dir=path.parent):
            path.unlink(missing_ok=True)  # that of another run
    except OSError as error:
        raise NotStarted(f"--report: {path}: {error.strerror}.") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as temporary:
        try:
            temporary.write(text)
            temporary.close()
            Path(temporary.name).chmod(0o644)
            Path(temporary.name).replace(path)
        except BaseException:
            Path(temporary.name).unlink()
            raise


def say(text: str) -> None:
    """Write to stderr; ignore a closed stream."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


def warn_of_unknown_variables() -> None:
    known = [variable(option.opts[0]) for options in OPTIONS.values() for option in options]
    for name in sorted(os.environ):
        # The program itself sets STUB_URL, for its command.
        if name.startswith("STUB_") and name not in (*known, "STUB_URL"):
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
    args, words = sys.argv[1:], None
    if "--" in args:
        end = args.index("--")
        args, words = args[:end], args[end + 1 :]
    with background_stderr():
        try:
            status: int | None = program.main(args, standalone_mode=False, obj=(create_app, words))
        except click.ClickException as error:
            for line in error.format_message().split("\n"):
                say(f"error: {line}{source_of(error)}\n")
            return error.exit_code
        except click.Abort:  # Ctrl-C before the server handles it
            return 130
        return status or 0  # None after --help
