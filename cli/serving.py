"""A run: its app, the options of its server, what it says at its start, the report at its end."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN, is_empty
from store import Store
from stub.like.profile import Profile, lacking, read_profile
from stub.rules import check
from stub.seed import Seed, read_seed, read_states, sample_of
from web.redaction import SHORT
from web.routing import CONTROLS

from .log import Log
from .options import Settings, Start, invalid
from .reports import Case, Failure, add_to_summary, github_lines, is_xml, junit_xml
from .stderr import say
from .tokens import warnings_of_mode, with_token_file

if TYPE_CHECKING:
    from .command import Command
    from .probe import Probe
    from .watch import Watch


def make_app(
    start: Start, settings: Settings, log: Log, seed: Seed, options: stub.StubOptions, **probed: Any
) -> Flask:
    """The app for these settings; that of a run of --probe replaces some options of the stub.

    Raises `click.UsageError` for an unknown part, or a store that cannot be used.
    """
    threads = settings.threads + server.OTHER_THREADS
    # Without --store the store is that of `create_app`.
    more = {"new_store": connect_store(settings.store, threads)} if settings.store else {}
    try:
        return start.create_app(
            tokens=settings.token,
            pace=settings.pace,
            outcomes=settings.outcome,
            max_projects=settings.max_projects,
            seed=seed,
            strict=settings.strict,
            stub_options=None if settings.no_stub else options._replace(**probed),
            log=log.add,
            redactor=log.redactor,
            **more,
        )
    except ValueError as error:  # of a part in --grease
        raise click.UsageError(f"{error}.") from None


def make_anew(start: Start, settings: Settings, log: Log) -> Flask:
    """The app for the files as they are now. Raises `click.UsageError` with their errors."""
    settings = with_token_file(settings)
    return make_app(start, settings, log, *read_files(settings))


def take_tokens(settings: Settings, log: Log, app: Flask) -> int:
    """Give an app the tokens of the file as it is now; return how many are valid then.

    Raises `click.UsageError` with the errors of the file. The previous tokens stay masked.
    """
    settings = with_token_file(settings)
    log.redactor.add(settings.secrets)
    app.extensions["auth"].replace(settings.token)
    for line in warnings_of_mode(settings.token_file):
        say(f"{line}\n")
    return len(set(settings.secrets))


def files_to_watch(settings: Settings) -> list[Path]:
    """The files with which all worlds begin anew: not over a store, which keeps its records."""
    if settings.store:
        return []
    return [each for each in (settings.seed, settings.states, settings.like) if each]


def connect_store(url: str, threads: int) -> Callable[..., Store]:
    """What makes the stores of --store. Raises `click.UsageError` if it cannot be used."""
    try:
        from redis_store import connect

        return connect(url, threads)
    except ModuleNotFoundError as error:
        reason = f'{error.name} is not installed: run `"{sys.executable}" -m pip install redis`'
    except ValueError as error:
        reason = str(error)
    raise invalid("store", f"{reason}.")


def read_files(settings: Settings) -> tuple[Seed, stub.StubOptions]:
    """The records of the start and the options of the stub. Raises `click.UsageError`."""
    try:
        like = read_profile(settings.like) if settings.like else None
        seed = read_start(settings, like)
        states = read_states(settings.states, like) if settings.states else {}
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    check_outcomes(settings, like)
    return seed, stub.StubOptions(
        states=states,
        cors_origins=settings.cors_origin,
        grease=settings.grease,
        grease_seed=settings.grease_seed,
        ids_seed=settings.ids_seed,
        freeze=settings.freeze,
        delay=settings.delay,
        delay_seed=settings.delay_seed,
        journal_bytes=settings.journal_bytes,
        world_idle=settings.world_idle,
        like=like,
    )


def check_outcomes(settings: Settings, like: Profile | None) -> None:
    """Raise `click.UsageError` for what is no status."""
    for _, word in settings.outcome:
        for error in check(word, "Status", like.words if like else ()):
            raise invalid("outcome", f"{word!r} {error.detail}.")


def read_start(settings: Settings, like: Profile | None) -> Seed:
    """The records that the program starts with. Raises `ValueError`."""
    if settings.empty:
        return Seed()
    return read_seed(settings.seed, like) if settings.seed else sample_of(like)


def server_options(
    app: Flask,
    settings: Settings,
    log: Log,
    command: "Command | None",
    probe: "Probe | None",
    watch: "Watch | None",
) -> server.ServerOptions:
    """How to serve: the rejections that are logged and counted, and what follows the start."""
    runner = probe or watch  # which replaces the app while the server runs

    def note_rejected(rejected: server.RejectedRequest) -> None:
        log.add_rejected(rejected)
        current = runner.app if runner else app
        if current and "stub" in current.extensions:
            current.extensions["stub"].rejections.count(*rejected)

    def follow(port: int, stop: Callable[[], None]) -> None:
        url = settings.reachable_url(port)
        if command:
            command.forward_signals()
            say(f"listening on {url}\n")
        else:
            with suppress(OSError):  # stdout may be closed
                print(f"listening on {url}", flush=True)
        for line in notes(settings, app, port, hints=command is None):
            say(f"{line}\n")
        if command:
            command.environ.update(STUB_URL=url, STUB_TOKEN=settings.secrets[0])
            command.start((probe or command).run, stop)
        if watch:
            watch.start()

    return server.ServerOptions(
        threads=settings.threads,
        deadline=settings.deadline,
        grace=settings.grace,
        trusted_hosts=settings.trusted_host,
        control_prefix=None if settings.no_stub else CONTROLS,
        on_listening=follow,
        on_rejected=note_rejected,
        headers_for=partial(stub.cors_headers, settings.cors_origin),
    )


def notes(settings: Settings, app: Flask, port: int, *, hints: bool) -> Iterator[str]:
    """What the start says on stderr; with `hints`, how to call the program."""
    url = settings.reachable_url(port)
    if hints:
        yield f'try: curl -H "Authorization: Bearer {shown_token(settings)}" {url}/v1/projects'
    if hints and not settings.no_stub:
        yield f"open {url}/"
    for address in server.addresses_for_others(settings.host):
        yield f"for other machines: http://{server.in_brackets(address)}:{port}"
    if any(len(token) < SHORT for token in settings.secrets):
        yield (
            f"warning: a token of less than {SHORT} characters is masked in the log and in the "
            "journal only where it is a whole word"
        )
    yield from warnings_of_mode(settings.token_file)
    if any(map(is_empty, settings.token)):
        yield "warning: a token ends with its only `=`: if it is to be a name, its token is missing"
    if settings.grease:
        axes, seed = ",".join(settings.grease), settings.grease_seed
        yield f'responses vary on purpose: --grease "{axes}" --grease-seed {seed}'
    least, most = settings.delay
    if least != most:
        yield f"delays are random: --delay {least}-{most} --ids-seed {settings.delay_seed}"
    if settings.like:
        like = app.extensions["stub"].like
        lacks = ", ".join(lacking(like))
        rest = f"; as the contract says, since it lacks them: {lacks}" if lacks else ""
        yield f"responses are like {settings.like}{rest}"


def shown_token(settings: Settings) -> str:
    """What a shell sends as the token: never a secret."""
    if settings.secrets == [DEFAULT_TOKEN]:
        return DEFAULT_TOKEN
    if settings.token_file or settings.token[0] != settings.secrets[0]:
        return "TOKEN"
    return "$STUB_TOKEN"


def report(
    app: Flask,
    settings: Settings,
    log: Log,
    command: "Command | None",
    probe: "Probe | None",
    environ: Mapping[str, str],
) -> int:
    """Write the coverage and the findings; return the exit status: that of the command if not 0.

    With --quiet, a failure is preceded by the latest lines of the log.
    """
    status = command.status if command else 0
    app_stub: stub.Stub | None = app.extensions.get("stub")
    if app_stub is None:
        if status:
            say(log.latest())
        return status
    depends = list(probe.findings()) if probe else []
    verdict = app_stub.judge(settings.fail_on, settings.allow, depends)
    others = [finding for finding in verdict.findings if finding not in depends]
    if status or others:
        say(log.latest())
    if command and status not in (126, 127) and not verdict.is_called:
        hint = proxy_hint(command.environ)
        say(f"warning: no request to /v1: does the command use STUB_URL?{hint}\n")
    if probe:
        say("".join(probe.summary()))
    print_verdict(verdict, environ)
    if verdict.findings:
        status = status or 1
    if probe and probe.not_run:
        status = status or 2
    if settings.report and is_xml(settings.report):
        cases = cases_of(settings, verdict, command, probe)
        write_whole(settings.report, junit_xml("deployment-stub", cases))
    elif settings.report:
        document = verdict.document(status)
        if probe:
            document["probe"] = probe.document()
        write_whole(settings.report, json.dumps(document, indent=2) + "\n")
    return status


def print_verdict(verdict: stub.Verdict, environ: Mapping[str, str]) -> None:
    shown = verdict.table() + "".join(finding.line() for finding in verdict.findings)
    say(shown)
    unused = [f"--allow {pattern!r} matches no finding" for pattern in verdict.unused_patterns]
    for warning in unused:
        say(f"warning: {warning}\n")
    say(github_lines(environ, "error", [finding.sentence for finding in verdict.findings]))
    say(github_lines(environ, "warning", unused))
    add_to_summary(environ, "deployment-stub", shown)


def cases_of(
    settings: Settings, verdict: stub.Verdict, command: "Command | None", probe: "Probe | None"
) -> list[Case]:
    """A test case for each kind of finding, for the command, and for the runs of --probe."""
    found: dict[str, list[Failure]] = {kind: [] for kind in stub.KINDS}
    for each in verdict.findings:
        shown = json.dumps(each.first, indent=2, ensure_ascii=False) if each.first else ""
        found.setdefault(each.kind, []).append(Failure(each.sentence, shown))
    cases = []
    for kind, failures in found.items():
        is_judged = failures or kind in settings.fail_on
        cases.append(Case(kind, failures, "" if is_judged else "--fail-on does not name it"))
    if command:
        failed = [Failure(f"the command has ended with status {command.status}")]
        cases.append(Case("command", failed if command.status else ()))
    if probe:
        cases.append(Case("probe", [Failure(f"no request in {name}") for name in probe.not_run]))
    return cases


def proxy_hint(environ: Mapping[str, str]) -> str:
    """What the variables of a proxy may do to the requests of a command."""
    names = [each for each in ("http_proxy", "HTTP_PROXY", "ALL_PROXY") if environ.get(each)]
    bypassed = environ.get("NO_PROXY", "") + environ.get("no_proxy", "")
    if not names or "127.0.0.1" in bypassed:
        return ""
    return f" {names[0]} is set: set NO_PROXY and no_proxy to 127.0.0.1,localhost"


def remove_old_report(path: Path, *, is_kept: bool = False) -> None:
    """Remove the report of another run, unless it is kept until there is a new one.

    Raises `OSError` if a new one cannot be written.
    """
    path = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        if not S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a file", str(path))
    if path.exists() and not os.access(path.parent, os.W_OK):
        raise PermissionError(0, "its folder cannot be written to", str(path))
    if not (is_kept and path.exists()):
        path.touch()
        path.unlink(missing_ok=True)  # another program may have the same report


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; through a symbolic link, the file that it leads to."""
    path = Path(os.path.realpath(path))
    with TemporaryDirectory(dir=path.parent) as folder:
        temporary = Path(folder, path.name)
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
