"""The program as a function: reads the options, serves the app, and returns the exit status."""

import gc
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import TextIOWrapper
from typing import Any, TextIO

import click
from click.core import ParameterSource
from flask import Flask

import server

from .documents import show_document
from .health import health
from .log import Log
from .options import OPTIONS, Program, Settings, Start, invalid, is_link
from .serving import (
    files_to_watch,
    make_anew,
    make_app,
    read_files,
    remove_old_report,
    report,
    server_options,
    take_tokens,
)
from .stderr import background_stderr, say
from .tokens import with_token_file
from .verify import verify

VERSION = "1.1.0"
NEEDS_STUB = ("states", "like", "cors_origin", "grease", "fail_on", "report", "ids_seed", "freeze",
              "delay")  # fmt: skip
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
    given_settings = Settings(**values)
    check(given_settings, start, given)
    settings = with_token_file(given_settings)
    warn_of_unknown_variables(start.environ)
    if settings.report:
        remove_old_report(settings.report)
    log = Log(settings, shows_latest=bool(start.words or settings.fail_on))
    make = partial(make_app, start, settings, log, *read_files(settings))
    command = probe = watch = None
    if start.words:  # what these import, a plain start does not need: 5 % of its time
        from .command import Command

        command = Command(start.words, start.environ)
    if command and settings.probe:
        from .probe import Probe

        probe = Probe(command, settings, log, make)
    app = probe.plain_app if probe else make()
    if settings.watch:
        from .watch import Watch

        again = partial(make_anew, start, given_settings, log)
        tokens = partial(take_tokens, given_settings, log)
        watch = Watch(app, again, files_to_watch(settings), tokens, settings.token_file)
    if not gc.isenabled():  # startup.py disabled it
        gc.freeze()
        gc.enable()
    try:
        options = server_options(app, settings, log, command, probe, watch)
        runner = probe or watch
        served = runner.wsgi_app if runner else app
        server.serve(served, settings.host, settings.port, options)
    except server.ListenError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
        raise click.ClickException(f"the server failed: {error}") from None
    finally:
        if command:
            command.end()
        if watch:
            watch.end()
            app = watch.app
    return report(app, settings, log, command, probe, start.environ)


def check_subcommand(context: click.Context) -> None:
    """Raise `click.UsageError` for what stands before or after a command such as `docs`."""
    source = context.get_parameter_source
    wrong = switches(name for name in OPTIONS if source(name) is ParameterSource.COMMANDLINE)
    if context.obj.words is not None:
        wrong.append("--")
    if wrong:
        raise click.UsageError(
            f"{context.invoked_subcommand} takes no command, and its options after its name: "
            f"remove {', '.join(wrong)}."
        )


def switches(names: Iterable[str]) -> list[str]:
    """The options of these names as they stand on a command line."""
    return [OPTIONS[name].opts[0] for name in names]


def check(settings: Settings, start: Start, given: Collection[str]) -> None:
    """Raise `click.UsageError` if the options that were `given` do not go together."""
    probe = settings.probe
    lost = switches(name for name in NEEDS_STUB if name in given)
    empty = switches(name for name in given if getattr(settings, name) in ("", ()))
    files = [settings.seed, settings.states, settings.like, settings.token_file]
    files += [settings.report, settings.log]
    paths = [os.path.realpath(each) for each in files if each]
    try:
        server.address_of(settings.host)
    except server.ListenError as error:
        raise invalid("host", f"{error}: give a host name or an IP address.") from None
    command = start.words[0].strip() if start.words else ""
    rules: list[tuple[object, str]] = [
        (empty, f"{', '.join(empty)} is empty: give a value, or leave the option out."),
        ((probe or start.words is not None) and not command, "give a command after --."),
        (settings.watch and start.words, "--watch: leave out the command."),
        (
            settings.watch and settings.store and not settings.token_file,
            "--watch follows, with --store, a --token-file alone: give one, or leave out --store.",
        ),
        (
            settings.watch and not (files_to_watch(settings) or settings.token_file),
            "--watch: give a --seed, a --like, --states or a --token-file.",
        ),
        (settings.empty and settings.seed, "--empty and --seed exclude each other: give one."),
        (
            probe and (settings.grease or settings.no_stub or settings.store),
            "--probe varies the responses by itself: leave out --grease, --no-stub and --store.",
        ),
        (probe and not hasattr(os, "killpg"), "--probe needs a POSIX system."),
        (settings.no_stub and lost, f"--no-stub excludes {', '.join(lost)}: leave out either."),
        (len(set(paths)) < len(paths), f"two options name the same file: {', '.join(paths)}."),
    ]
    for is_broken, message in rules:
        if is_broken:
            raise click.UsageError(message)


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    from difflib import get_close_matches  # most starts do not need it

    known = [str(option.envvar) for option in OPTIONS.values()]
    for name, value in sorted(environ.items()):
        is_ours = name in known or name in OTHER_VARIABLES
        if name.startswith("STUB_") and not is_ours and not is_link(name, value):
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
        except OSError as error:
            say(f"error: {error.filename or 'stdout'}: {error.strerror}.\n")
            return 2
        return status or 0  # None after --help
