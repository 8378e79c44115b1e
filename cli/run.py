"""A run of the program: it serves the app, runs the command, and judges the requests."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN
from profiles.openapi import read_statuses
from traffic.masking import SHORT
from web.files import read_file

from . import apps, files, stderr
from .command import COULD_NOT_RUN, NOT_FOUND, Command
from .log import RunLog
from .options import Settings, Start

if TYPE_CHECKING:
    from .keep import Keeper
    from .probe import Ended, Probe


class RunParts(NamedTuple):
    """The parts of a run that its steps share. The settings have the content of their files."""

    settings: Settings
    log: RunLog
    command: Command | None
    keeper: "Keeper | None" = None


def run(start: Start, given: Settings) -> int:
    """Serve until a signal or the end of the command; return the exit status.

    Raises `click.ClickException` and `OSError` for a file that cannot be used, and the errors of
    `serve()`.
    """
    settings = apps.load_files(given)
    if settings.report:
        files.write_file(settings.report, "")  # A report of a previous run would be misleading.
    with closing(RunLog(settings, has_command=bool(start.words))) as log:
        new_app = partial(apps.make_app, start.create_stub, log, settings)
        command = Command(start.words, start.environ) if start.words else None
        probe = None
        if command and settings.probe:
            from .probe import Probe  # Most starts do not need it.

            parts = RunParts(settings, log, command)
            probe = Probe(settings, partial(run_once, parts, command, new_app))
            with command.forwarding_signals():
                command.status = probe.run()
            worlds = probe.worlds
        else:
            app = new_app()
            keeper = make_keeper(settings, app)
            parts = RunParts(settings, log, command, keeper)
            with keeper or nullcontext():
                serve(parts, app, command.run if command else None)
            worlds = apps.get_worlds(app)
    return conclude(parts, worlds, probe, start.environ)


def make_keeper(settings: Settings, app: Flask) -> "Keeper | None":
    if not settings.keep:
        return None
    from .keep import Keeper  # Most starts do not need it.

    return Keeper(settings.keep, apps.get_worlds(app))


def run_once(
    parts: RunParts,
    command: Command,
    new_app: apps.NewApp,
    name: str,
    limit: float | None = None,
    **options: Any,
) -> "Ended":
    """Run the command once for --probe, with an app of its own: `grease=("ids",)`.

    Then kill the processes that the command has left. Without a limit the command has the terminal;
    with a limit its output goes to a file.
    """
    from tempfile import TemporaryFile

    from stub import failures

    from .probe import Ended

    journal = failures.RunJournal(parts.log.add)
    app = new_app(log=journal.add, **options)
    with TemporaryFile() if limit else nullcontext() as file:

        def work() -> int:
            status = command.run(file, limit, STUB_PROBE_RUN=name)
            command.kill_group()
            return status

        serve(parts, app, work)
        parts.log.is_muted = True  # Only the first run, the plain one, is logged.
        written = b""
        if file:
            file.seek(0)
            written = file.read()
    return Ended(
        command.status,
        command.seconds,
        parts.log.redactor.mask(written.decode(errors="replace")),
        apps.get_worlds(app),
        journal.attempts,
        command.signal,
    )


# While it serves


def serve(parts: RunParts, app: Flask, work: Callable[[], int] | None) -> None:
    """Serve the app, and run the command by calling `work`.

    Raises `server.ListenError`, and `click.ClickException` if the server fails.
    """
    settings = parts.settings
    options = server.ServerOptions(
        threads=settings.threads,
        grace=settings.grace,
        trusted_hosts=settings.trusted_host,
        on_listening=partial(begin, parts, work),
        on_wrong_host=parts.log.add_wrong_host,
        prepare=server.speed_up,
    )
    try:
        server.serve(app, settings.host, settings.port, options)
    except server.ListenError:
        raise
    except (OSError, RuntimeError) as error:  # A RuntimeError: no thread can be started.
        raise click.ClickException(f"the server failed: {error}") from None
    finally:
        if parts.command:
            parts.command.end()


def begin(
    parts: RunParts, work: Callable[[], int] | None, port: int, stop: Callable[[], None]
) -> None:
    """Print the URL and start the command, once the server listens."""
    settings = parts.settings
    command = parts.command
    if not parts.log.is_muted:
        announce(settings, port, has_command=command is not None)
    if command and work:
        command.forward_signals()
        command.environ.update(settings.environment(settings.reachable_url(port), port))
        command.start(work, stop)


def announce(settings: Settings, port: int, *, has_command: bool) -> None:
    """Print the URL, such as `listening on http://127.0.0.1:8080`, and notes."""
    url = settings.reachable_url(port)
    if has_command:
        stderr.say(f"listening on {url}\n")
    else:
        with suppress(OSError):  # stdout may be closed.
            print(f"listening on {url}", flush=True)
        is_published = [*settings.options.tokens] == [DEFAULT_TOKEN]
        token = DEFAULT_TOKEN if is_published else "TOKEN"  # A secret is never printed.
        stderr.say(f'try: curl -H "Authorization: Bearer {token}" {url}/v1/projects\n')
        stderr.say(f"open {url}/\n")
    for line in list_notes(settings):
        stderr.say(f"{line}\n")


def list_notes(settings: Settings) -> Iterator[str]:
    """Describe unusual settings: `responses are like service.json`."""
    options = settings.options
    if any(len(token) < SHORT for token in options.tokens):
        yield (
            f"warning: a token of less than {SHORT} characters is masked in the log and in the "
            "journal only where it is a whole word"
        )
    if options.grease:
        axes = ",".join(options.grease)
        seed = options.grease_seed
        yield f'responses vary on purpose: --grease "{axes}" --grease-seed {seed}'
    yield from find_near_statuses(options)
    if options.like:
        from profiles.profile import find_unobserved_errors, list_missing_parts

        for warning in options.like.warnings:
            yield f"warning: {settings.like}: {warning}"
        line = f"responses are like {settings.like}"
        missing = list_missing_parts(options.like)
        if missing:
            line += f"; it lacks these, which follow the contract: {', '.join(missing)}"
        yield line
        errors = find_unobserved_errors(options.like)
        if errors:
            yield f"the status and the body of these errors were not observed: {', '.join(errors)}"


def find_near_statuses(options: stub.Options) -> Iterator[str]:
    """Warn of a status that is almost a known status, such as `faild`."""
    if options.like and options.like.statuses:  # The profile allows no other status.
        return
    known, _ = read_statuses(json.loads(read_file("openapi.json")))
    statuses = [status for _, status in options.outcomes]
    for seed in (options.seed, *options.states.values()):
        for deployment in seed.deployments:
            statuses += [stage.status for stage in deployment.timeline]
    for status in dict.fromkeys(statuses):
        near = get_close_matches(status, known, n=1)
        if near and status not in known:
            yield f"warning: the status {status} is not known: did you mean {near[0]}?"


# The end


def conclude(
    parts: RunParts, worlds: stub.Worlds, probe: "Probe | None", environ: Mapping[str, str]
) -> int:
    """Judge a run that has ended; return the exit status.

    It is the exit status of the command, if that is not 0. Otherwise it is 1 for a finding, and 2
    for a file that cannot be written. If the run fails, the held lines of the log are printed.
    """
    settings = parts.settings
    is_kept = not parts.keeper or files.try_to_write(parts.keeper.save)
    depends: list[stub.Finding] = []
    probed = ""
    if probe:
        from .probe_report import list_findings, summarize

        depends = list(list_findings(probe))
        probed = "".join(summarize(probe))
    verdict = stub.Verdict(worlds, settings.fail_on, settings.allow, depends)
    status = parts.command.status if parts.command else 0
    has_others = any(finding not in depends for finding in verdict.findings)
    if status or has_others:
        stderr.say(parts.log.held())
    if parts.command and not verdict.is_called and not parts.log.has_served_documents:
        warn_of_no_request(parts.command, "STUB_URL, or --env NAME={url}")
    stderr.say(probed)
    print_verdict(verdict, environ)
    status = status or int(bool(verdict.findings))
    if not is_kept or (probe and probe.not_run):
        status = status or 2
    if settings.report:
        from .reports import format_report  # Most starts do not need it.

        command_status = parts.command.status if parts.command else None
        text = format_report(settings, verdict, probe, command_status, status)
        if not files.try_to_write(partial(files.write_file, settings.report, text)):
            status = status or 2
    return status


def warn_of_no_request(command: Command, means: str) -> None:
    """Warn that a command has sent no request. It gets the URL by the `means`, such as STUB_URL."""
    if command.status in (COULD_NOT_RUN, NOT_FOUND):
        return
    hint = find_proxy_hint(command.environ)
    stderr.say(f"warning: no request to /v1: does the command use {means}?{hint}\n")


def find_proxy_hint(environ: Mapping[str, str]) -> str:
    """Return a hint if a variable, such as HTTP_PROXY, may send the requests to a proxy."""
    bypassed = environ.get("NO_PROXY", "") + environ.get("no_proxy", "")
    if "127.0.0.1" in bypassed:
        return ""
    for name in ("http_proxy", "HTTP_PROXY"):
        if environ.get(name):
            return f" {name} is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost"
    return ""


def print_verdict(verdict: stub.Verdict, environ: Mapping[str, str]) -> None:
    text = verdict.format_table()
    text += "".join(f"finding: {finding.sentence}\n" for finding in verdict.findings)
    unused = [f"--allow {pattern!r} matches no finding" for pattern in verdict.unused_patterns]
    text += "".join(f"warning: {warning}\n" for warning in unused)
    stderr.say(text)
    stderr.annotate(environ, "error", [finding.sentence for finding in verdict.findings])
    stderr.annotate(environ, "warning", unused)
