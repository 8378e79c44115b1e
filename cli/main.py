"""The program as a function: reads the options, serves the app, and returns the exit status."""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import click
from flask import Flask

import server
from auth import DEFAULT_TOKEN, BearerAuth

from .command import Command
from .documents import show_document
from .health import health_command
from .log import Log
from .options import OPTIONS, Program, Settings, Start, given_options, variable
from .probe import Probe
from .report import remove_old_report, report
from .serving import NotStarted, make_app, make_probe, open_log, read_files, server_options
from .stderr import background_stderr, say
from .verify import verify

VERSION = "1.0.0"
NEEDS_STUB = ("states", "cors_origin", "grease", "fail_on", "report", "ids_seed", "freeze", "delay")


@click.pass_obj
def run_program(start: Start, /, **values: Any) -> int | None:
    """A local stub of the Project and Deployment Service, for development and tests.

    With a COMMAND it serves until the command ends, and exits with the command's status. The
    command's environment has STUB_URL and STUB_TOKEN.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    if subcommand := click.get_current_context().invoked_subcommand:
        if start.words is not None:
            raise NotStarted(f"{subcommand} takes no command: leave out what follows --.")
        return None
    given = given_options(click.get_current_context())
    command = command_of(start)
    if command and "port" not in given:
        values["port"] = 0
    settings = Settings(**values)
    check_combinations(settings, given, has_command=command is not None)
    check_files(settings)
    if settings.report:
        prepare_report(settings.report)
    warn_of_unknown_variables(start.environ)
    log = open_log(settings, has_command=command is not None)
    files = read_files(settings)  # once, as a test of the command may change them
    probe = None
    if settings.probe and command:
        probe = make_probe(start.create_app, settings, log, files, command)
        app = probe.plain_app
    else:
        app = make_app(start.create_app, settings, log, files)
    if not gc.isenabled():  # startup.py disabled it
        gc.freeze()
        gc.enable()
    return serve_and_report(app, settings, log, command, probe)


def command_of(start: Start) -> Command | None:
    """The COMMAND, if there is one. Raises `NotStarted` for an empty one."""
    if start.words is None:
        return None
    if not start.words or not start.words[0]:
        raise NotStarted("give a command after --.")
    return Command(start.words, start.environ)


def serve_and_report(
    app: Flask, settings: Settings, log: Log, command: Command | None, probe: Probe | None
) -> int:
    """Serve until a signal, or until the command ends; returns the exit status."""
    try:
        options = server_options(app, settings, log, probe or command)
        server.serve(probe.wsgi_app if probe else app, settings.host, settings.port, options)
        if command:
            command.end()  # if a signal ended the server before there was a command
        return report(app, settings, log, command.status if command else None, probe)
    except server.ListenError as error:
        raise NotStarted(f"{error}. Give another --port (0 picks a free one) or --host.") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
        raise click.ClickException(f"the server failed: {error}") from None
    finally:
        log.close()
        if command:
            command.end()
            command.return_signals()


program = Program(
    "app.py",
    params=[*OPTIONS.values()],
    callback=run_program,
    help=run_program.__doc__,
    options_metavar="[OPTIONS]",
    subcommand_metavar="[-- COMMAND [ARG]...]",
    invoke_without_command=True,
    commands=[show_document, verify, health_command],
    context_settings={"max_content_width": 100},
)
program = click.version_option(VERSION, message="%(version)s")(program)


def check_probe(settings: Settings, *, has_command: bool) -> None:
    """Raise `NotStarted` if --probe cannot run as it was asked for."""
    if not has_command:
        raise NotStarted("--probe runs a command several times: give one after --.")
    if settings.grease or settings.no_stub or settings.store:
        raise NotStarted(
            "--probe varies the responses by itself, from records that no run leaves behind: "
            "leave out --grease, --no-stub and --store."
        )
    if not hasattr(os, "killpg"):
        raise NotStarted("--probe needs a POSIX system, to end what a run leaves behind.")


def check_combinations(settings: Settings, given: set[str], *, has_command: bool) -> None:
    """Raise `NotStarted` for options that do not go together."""
    host = settings.host
    try:
        if DEFAULT_TOKEN in settings.token and not server.address_of(host).is_loopback:
            raise NotStarted(
                "STUB_TOKEN, a token of your own, is missing: type "
                "`-e STUB_TOKEN=a-token-of-your-own` after `docker run`, give a --token, or "
                f"leave --host out: {host} can be reached from elsewhere, and {DEFAULT_TOKEN} is "
                "published."
            )
    except server.ListenError as error:
        raise NotStarted(f"{error}: give another --host.") from None
    try:
        BearerAuth(settings.token, worlds=not settings.no_stub)
    except ValueError as error:
        raise NotStarted(f"--token: {error}.") from None
    if settings.empty and settings.seed:
        raise NotStarted("--empty and --seed exclude each other: give one.")
    if settings.probe:
        check_probe(settings, has_command=has_command)
    if settings.no_stub and not given.isdisjoint(NEEDS_STUB):
        *names, last = (OPTIONS[name].opts[0] for name in NEEDS_STUB)
        raise NotStarted(f"--no-stub leaves out {', '.join(names)} and {last}: drop it or them.")


def check_files(settings: Settings) -> None:
    """Raise `NotStarted` if a file that is written is another one of the options."""
    names: dict[str, str] = {}
    for name in ("seed", "states", "report", "log"):
        if path := getattr(settings, name):
            other = names.setdefault(os.path.realpath(path), name)
            if other != name and name in ("report", "log"):
                raise NotStarted(f"--{other} and --{name} are the same file: {path}.")


def prepare_report(path: Path) -> None:
    """Remove the report of a previous run. Raises `NotStarted` if none can be written."""
    try:
        remove_old_report(path)
    except OSError as error:
        raise NotStarted(f"--report: {path}: {error.strerror}.") from None


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    known = [variable(option) for option in OPTIONS.values()]
    for name in sorted(environ):
        # The program sets two of these for its command; the fixture of pytest reads the third.
        others = ("STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM")
        if name.startswith("STUB_") and name not in (*known, *others):
            (nearest,) = get_close_matches(name, known, n=1, cutoff=0)
            say(f"warning: {name} sets no option: did you mean {nearest}?\n")


def source_of(error: click.ClickException) -> str:
    """Says that an invalid value is from an environment variable, if it is."""
    if not isinstance(error, click.BadParameter) or not error.ctx or not error.param:
        return ""
    source = error.ctx.get_parameter_source(str(error.param.name))
    is_variable = source is click.core.ParameterSource.ENVIRONMENT
    return f" It is from {variable(error.param)}." if is_variable else ""


def main(
    create_app: Callable[..., Flask],
    args: Sequence[str],
    environ: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    """Run the program, and return its exit status.

    `create_app` is called as in app.py, and `args` are the words after the program's name. The
    options are read from `environ`, too. A COMMAND writes to the streams of this process.
    """
    words = None
    if "--" in args:
        end = args.index("--")
        args, words = args[:end], args[end + 1 :]
    start = Start(create_app, words, environ)
    if isinstance(stdout, TextIOWrapper):  # a console may lack characters of the documents
        stdout.reconfigure(errors="backslashreplace")
    with redirect_stdout(stdout), background_stderr(stderr):
        try:
            status: int | None = program.main([*args], standalone_mode=False, obj=start)
        except click.ClickException as error:
            for line in error.format_message().split("\n"):
                say(f"error: {line}{source_of(error)}\n")
            return error.exit_code
        except click.Abort:  # Ctrl-C before the server handles it
            return 130
        except OSError as error:  # the files and the server have messages of their own
            say(f"error: stdout: {error.strerror}.\n")
            return 1
        return status or 0  # None after --help
