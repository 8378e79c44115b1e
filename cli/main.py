"""The program as a function: reads the options, serves the app, and returns the exit status."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from io import TextIOWrapper
from typing import Any, TextIO

import click
from click.core import ParameterSource
from flask import Flask

import server

from .apps import files_to_watch
from .documents import show_document
from .gate import conclude
from .github import guarded_output
from .health import health
from .options import OPTIONS, Program, Settings, Start, invalid, is_link
from .serving import Serving
from .stderr import background_stderr, say, say_error
from .verify import verify

VERSION = "2.0.0"
# The program sets two of these for its command; the fixture of pytest reads the third.
OTHER_VARIABLES = ("STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM")


@click.group(
    "app.py",
    cls=Program,
    params=[*OPTIONS.values()],
    subcommand_metavar="[-- COMMAND [ARG]...]",
    invoke_without_command=True,
    commands=[show_document, verify, health],
    context_settings={
        "max_content_width": 100,
        "show_default": True,
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(VERSION, message="%(version)s")
@click.pass_context
def program(context: click.Context, /, **values: Any) -> int | None:
    """A local stub of the Project and Deployment Service, for development and tests.

    With a COMMAND it serves until the command ends, and exits with the command's status. The
    command's environment has STUB_URL and STUB_TOKEN.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    start: Start = context.obj
    if context.invoked_subcommand:
        check_subcommand(context)
        return None
    source = context.get_parameter_source
    given = [name for name in OPTIONS if source(name) is not ParameterSource.DEFAULT]
    if start.words and "port" not in given:
        values["port"] = 0
    if values["token_file"] and "token" not in given:
        values["token"] = ()  # the published one is not valid, then
    settings = Settings(**values)
    check_host(settings.host)
    for message in contradictions(settings, start, given):
        raise click.UsageError(message)
    warn_of_unknown_variables(start.environ)
    run = Serving(start, settings)
    run.serve()
    return conclude(run)


def check_subcommand(context: click.Context) -> None:
    """Raise `click.UsageError` for what stands before or after a command such as `docs`."""
    source = context.get_parameter_source
    given = [name for name in OPTIONS if source(name) is ParameterSource.COMMANDLINE]
    wrong = switches(given)
    if context.obj.words is not None:
        wrong.append("--")
    if wrong:
        raise click.UsageError(
            f"{context.invoked_subcommand} takes no command, and its options after its name: "
            f"remove {', '.join(wrong)}."
        )


def check_host(host: str) -> None:
    """Raise `click.UsageError` for a host that has no address."""
    try:
        server.address_of(host)
    except server.ListenError as error:
        raise invalid("host", f"{error}: give a host name or an IP address.") from None


def switches(names: Collection[str]) -> list[str]:
    """The options of these names as they stand on a command line."""
    return [OPTIONS[name].opts[0] for name in names]


def contradictions(settings: Settings, start: Start, given: Collection[str]) -> Iterator[str]:
    """What is wrong with options that are valid by themselves, of which some were `given`."""
    empty = [name for name in given if getattr(settings, name) in ("", ())]
    if empty:
        yield f"{', '.join(switches(empty))} is empty: give a value, or leave the option out."
    words = start.words
    probe = settings.probe
    has_command = words and words[0].strip()
    if not has_command and probe:
        yield "--probe: give a command after --."
    if not has_command and words is not None:
        yield "give a command after --."
    if settings.watch:
        yield from contradictions_of_watch(settings, start)
    if settings.empty and settings.seed:
        yield "--empty and --seed exclude each other: give one."
    if probe and (settings.grease or settings.store):
        yield "--probe varies the responses by itself: leave out --grease and --store."
    if probe and not hasattr(os, "killpg"):
        yield "--probe needs a POSIX system."
    files = [settings.seed, settings.states, settings.like, settings.token_file]
    files += [settings.report, settings.log]
    paths = [os.path.realpath(file) for file in files if file]
    if len(set(paths)) < len(paths):
        yield f"two options name the same file: {', '.join(paths)}."


def contradictions_of_watch(settings: Settings, start: Start) -> Iterator[str]:
    if start.words:
        yield "--watch: leave out the command."
    if settings.token_file or files_to_watch(settings):
        return
    if settings.store:
        yield "--watch follows, with --store, a --token-file alone: give one, or leave out --store."
    yield "--watch: give a --seed, a --like, --states or a --token-file."


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    known = [str(option.envvar) for option in OPTIONS.values()]
    unknown = {*environ} - {*known, *OTHER_VARIABLES}
    for name in sorted(unknown):
        if not name.startswith("STUB_") or is_link(name, environ[name]):
            continue
        nearest = get_close_matches(name, known, n=1, cutoff=0.75)  # all begin with STUB_
        hint = f": did you mean {nearest[0]}?" if nearest else ""
        say(f"warning: {name} sets no option{hint}\n")


def main(
    create_stub: Callable[..., Flask],
    args: Sequence[str],
    environ: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    """Run the program, and return its exit status.

    `create_stub` is that of `stub`, and `args` are the words after the program's name. The
    options are read from `environ`, too. A COMMAND writes to the streams of this process.
    """
    words = None
    if "--" in args:
        end = args.index("--")
        words = args[end + 1 :]
        args = args[:end]
    start = Start(create_stub, words, environ)
    if isinstance(stdout, TextIOWrapper):  # a console may lack characters of the documents
        stdout.reconfigure(errors="backslashreplace")
    with redirect_stdout(stdout), background_stderr(stderr), guarded_output(environ):
        try:
            status: int | None = program.main([*args], standalone_mode=False, obj=start)
        except server.ListenError as error:
            say_error(f"{error}. Give another --port (0 picks a free one) or --host.")
            return 2
        except click.ClickException as error:
            say_error(error.format_message())
            return error.exit_code
        except click.Abort:  # Ctrl-C before the server handles it
            return 130
        except OSError as error:
            say_error(f"{error.filename or 'stdout'}: {error.strerror}.")
            return 2
        return status or 0  # None after --help
