"""The program as a function: it reads the options, runs, and returns the exit status."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from difflib import get_close_matches
from io import TextIOWrapper
from typing import Any, TextIO

import click
from click.core import ParameterSource
from flask import Flask

import server
from auth import DEFAULT_TOKEN

from . import options
from .run import run
from .stderr import background_stderr, say, say_error

VERSION = "3.0.0"
COMMANDS = ("docs", "verify")
# The program sets two of these for its command. The fixture of pytest reads the third.
OTHER_VARIABLES = ("STUB_URL", "STUB_PROBE_RUN", "STUB_PROGRAM")


class Program(click.Group):
    """The command `app.py`. Its `--help` lists the options under titles."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words. `docs` and `verify` do not read the variables of the options."""
        ctx.meta[options.HAS_VARIABLES] = not (args and args[0] in COMMANDS)
        return super().parse_args(ctx, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: title for title, rows in options.ROWS.items() for name in rows}
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(context):
            title = titles.get(str(each.name), "About")
            record = each.get_help_record(context) or ("", "")
            sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
        self.format_commands(context, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in COMMANDS:
            near = get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else "leave it out to start only the stub"
            raise click.UsageError(f"put -- before the command: -- {cmd_name} ... ({hint})")
        # Most starts need neither module.
        if cmd_name == "verify":
            from .verify import verify

            return verify
        from .documents import show_document

        return show_document


@click.group(
    "app.py",
    cls=Program,
    params=[*options.OPTIONS.values()],
    subcommand_metavar="[-- COMMAND [ARG]...]",
    invoke_without_command=True,
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
    command's environment has STUB_URL and STUB_TOKEN. The log is printed if the run fails.

    Each option is an environment variable, too: --max-projects is STUB_MAX_PROJECTS.
    """
    start: options.Start = context.obj
    if context.invoked_subcommand:
        check_subcommand(context)
        return None
    source = context.get_parameter_source
    given = [name for name in options.OPTIONS if source(name) is not ParameterSource.DEFAULT]
    if start.words and "port" not in given:
        values["port"] = 0
    settings = options.make_settings(values)
    check_host(settings.host)
    empty = [name for name in given if values[name] in ("", ())]
    for message in find_contradictions(settings, start.words, list_switches(empty)):
        raise click.UsageError(message)
    warn_of_unknown_variables(start.environ)
    return run(start, settings)


def check_subcommand(context: click.Context) -> None:
    """Raise `click.UsageError` for wrong words around a command: `--port 1 docs -- ls`."""
    source = context.get_parameter_source
    given = [name for name in options.OPTIONS if source(name) is ParameterSource.COMMANDLINE]
    wrong = list_switches(given)
    if context.obj.words is not None and context.invoked_subcommand != "verify":
        wrong.append("--")
    if wrong:
        raise click.UsageError(
            f"{context.invoked_subcommand} takes no command, and its options come after its name: "
            f"remove {', '.join(wrong)}."
        )


def list_switches(names: Collection[str]) -> list[str]:
    """Return options as on a command line: `["fail_on"]` becomes `["--fail-on"]`."""
    return [options.OPTIONS[name].opts[0] for name in names]


def check_host(host: str) -> None:
    """Raise `click.UsageError` for a host that has no address."""
    try:
        server.find_address(host)
    except server.ListenError as error:
        raise options.invalid("host", f"{error}: give a host name or an IP address.") from None


def find_contradictions(
    settings: options.Settings, words: Sequence[str] | None, empty: Sequence[str]
) -> Iterator[str]:
    """Yield what is wrong with options that are valid by themselves.

    `words` are the COMMAND, and `empty` the options with an empty value: `["--seed"]`.
    """
    has_command = bool(words and words[0].strip())
    if empty:
        yield f"{', '.join(empty)} is empty: give a value, or leave the option out."
    if words is not None and not has_command:
        yield "give a command after --."
    if settings.env and not has_command:
        yield "--env: give a command after --."
    if settings.empty and settings.seed:
        yield "give either --empty or --seed."
    if settings.keep and settings.store:
        yield "--store keeps the records by itself: leave out --keep."
    if settings.probe and not has_command:
        yield "--probe: give a command after --."
    if settings.probe and (settings.options.grease or settings.store):
        yield "--probe varies the responses by itself: leave out --grease and --store."
    if settings.probe and settings.keep:
        yield "--probe starts each run without records: leave out --keep."
    if settings.probe and not hasattr(os, "killpg"):
        yield "--probe needs a POSIX system."
    is_open = not server.find_address(settings.host).is_loopback
    if is_open and DEFAULT_TOKEN in settings.options.tokens:
        yield (
            f"{settings.host} can be reached from elsewhere, and {DEFAULT_TOKEN} is published: "
            "give a --token of your own (with `docker run`: `-e STUB_TOKEN=a-token-of-your-own`), "
            "or leave --host out."
        )


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    known = [str(option.envvar) for option in options.OPTIONS.values()]
    unknown = {*environ} - {*known, *OTHER_VARIABLES}
    for name in sorted(unknown):
        if not name.startswith("STUB_"):
            continue
        # All begin with STUB_, so the usual cutoff of 0.6 would find too many.
        nearest = get_close_matches(name, known, n=1, cutoff=0.75)
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

    `create_stub` is `stub.create_stub`. `args` are the words after the program's name:
    `["--port", "0", "--", "npm", "test"]`; further options are in `environ`. A COMMAND writes to
    the streams of this process.
    """
    words = None
    if "--" in args:
        end = args.index("--")
        words = args[end + 1 :]
        args = args[:end]
    start = options.Start(create_stub, words, environ)
    if isinstance(stdout, TextIOWrapper):  # Some consoles lack characters, such as `…`.
        stdout.reconfigure(errors="backslashreplace")
    with redirect_stdout(stdout), background_stderr(stderr):
        try:
            status: int | None = program.main([*args], standalone_mode=False, obj=start)
        except server.ListenError as error:
            say_error(f"{error}. Give another --port (0 picks a free one) or --host.")
            return 2
        except click.ClickException as error:
            say_error(error.format_message())
            return error.exit_code
        except click.Abort:  # Ctrl-C came before the server handles it.
            return 130
        except OSError as error:
            say_error(f"{error.filename or 'stdout'}: {error.strerror}.")
            return 2
        finally:
            discard_unwritten(stdout)
        return status or 0  # It is None after --help.


def discard_unwritten(stdout: TextIO) -> None:
    """Discard output that cannot be written, since Python would exit with the status 120.

    There may be no stdout, or a stdout that is no file.
    """
    with suppress(AttributeError, OSError, ValueError):
        try:
            stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
