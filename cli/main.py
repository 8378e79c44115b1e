"""The program as a function: reads the options, serves the app, and returns the exit status."""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from difflib import get_close_matches
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import click
from flask import Flask

import server
from auth import DEFAULT_TOKEN
from stub.failures import Failures

from .command import Command
from .documents import show_document
from .health import health_command
from .log import Log
from .options import OPTIONS, Program, Settings, Start
from .probe import Probe
from .report import remove_old_report, report
from .serving import make_app, read_files, server_options
from .stderr import background_stderr, say
from .verify import verify

VERSION = "1.0.0"
NEEDS_STUB = (
    *("states", "like", "cors_origin", "grease", "fail_on", "report"),
    *("ids_seed", "freeze", "delay"),
)
OFF: tuple[object, ...] = (None, (), [], (0, 0))  # what these are where they are left out
# The program sets two of these for its command; the fixture of pytest reads the third.
OTHER_VARIABLES = ("STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM")


@click.group(
    "app.py",
    cls=Program,
    params=[*OPTIONS.values()],
    options_metavar="[OPTIONS]",
    subcommand_metavar="[-- COMMAND [ARG]...]",
    invoke_without_command=True,
    commands=[show_document, verify, health_command],
    context_settings={"max_content_width": 100},
)
@click.version_option(VERSION, message="%(version)s")
@click.pass_context
def program(context: click.Context, /, **values: Any) -> int | None:
    """A local stub of the Project and Deployment Service, for development and tests.

    With a COMMAND it serves until the command ends, and exits with the command's status. The
    command's environment has STUB_URL and STUB_TOKEN.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    if context.invoked_subcommand:
        return None
    start: Start = context.obj
    command = Command(start.words, start.environ) if start.words else None
    if command and context.get_parameter_source("port") is click.core.ParameterSource.DEFAULT:
        values["port"] = 0
    settings = Settings(**values)
    for reason in conflicts(settings, start):
        raise click.UsageError(reason)
    warn_of_unknown_variables(start.environ)
    with written("report", settings.report):
        if settings.report:
            remove_old_report(settings.report)
    with written("log", settings.log):
        ends = bool(command or settings.fail_on)
        log = Log(settings.token, quiet=settings.quiet, file=settings.log, shows_latest=ends)
    files = read_files(settings)  # once, as a test of the command may change them
    make = partial(make_app, start.create_app, settings, log, files)
    plain = Failures() if settings.probe else None
    app = make(failures=plain)
    probe = Probe(command, settings, log, app, make, plain) if command and plain else None
    if not gc.isenabled():  # startup.py disabled it
        gc.freeze()
        gc.enable()
    try:
        options = server_options(app, settings, log, command, probe)
        server.serve(probe.wsgi_app if probe else app, settings.host, settings.port, options)
    except server.ListenError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
        raise click.ClickException(f"the server failed: {error}") from None
    finally:
        if command:
            command.end()
        log.close()
    return report(app, settings, log, command, probe)


@contextmanager
def written(option: str, path: Path | None) -> Iterator[None]:
    """Raise `click.UsageError` if the file of an option cannot be written."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"--{option}: {path}: {error.strerror}.") from None


def conflicts(settings: Settings, start: Start) -> Iterator[str]:
    """Why these options do not go together."""
    if start.words is not None and not (start.words and start.words[0]):
        yield "give a command after --."
    if DEFAULT_TOKEN in settings.token and not server.address_of(settings.host).is_loopback:
        yield (
            "STUB_TOKEN, a token of your own, is missing: type `-e STUB_TOKEN=a-token-of-your-own` "
            f"after `docker run`, give a --token, or leave --host out: {settings.host} can be "
            f"reached from elsewhere, and {DEFAULT_TOKEN} is published."
        )
    if settings.empty and settings.seed:
        yield "--empty and --seed exclude each other: give one."
    if settings.probe and not start.words:
        yield "--probe runs a command several times: give one after --."
    if settings.probe and (settings.grease or settings.no_stub or settings.store):
        yield (
            "--probe varies the responses by itself, from records that no run leaves behind: "
            "leave out --grease, --no-stub and --store."
        )
    if settings.probe and not hasattr(os, "killpg"):
        yield "--probe needs a POSIX system, to end what a run leaves behind."
    if settings.no_stub and any(getattr(settings, name) not in OFF for name in NEEDS_STUB):
        *names, last = (OPTIONS[name].opts[0] for name in NEEDS_STUB)
        yield f"--no-stub leaves out {', '.join(names)} and {last}: drop it or them."
    files: dict[str, str] = {}
    for name in ("seed", "states", "like", "report", "log"):
        if path := getattr(settings, name):
            other = files.setdefault(os.path.realpath(path), name)
            if other != name and name in ("report", "log"):
                yield f"--{other} and --{name} are the same file: {path}."


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    known = [str(option.envvar) for option in OPTIONS.values()]
    for name in sorted({*environ} - {*known, *OTHER_VARIABLES}):
        if name.startswith("STUB_"):
            (nearest,) = get_close_matches(name, known, n=1, cutoff=0)
            say(f"warning: {name} sets no option: did you mean {nearest}?\n")


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
        except server.ListenError as error:
            say(f"error: {error}. Give another --port (0 picks a free one) or --host.\n")
            return 2
        except click.ClickException as error:
            for line in error.format_message().split("\n"):
                say(f"error: {line}\n")
            return error.exit_code
        except click.Abort:  # Ctrl-C before the server handles it
            return 130
        except OSError as error:  # the files and the server have messages of their own
            say(f"error: stdout: {error.strerror}.\n")
            return 1
        return status or 0  # None after --help
