"""A run of the program: what serves, what the start says, and what the server rejects."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import click

import server
import stub
from auth import DEFAULT_TOKEN
from profiles.profile import lacking
from stub.redaction import SHORT
from stub.tokens import is_empty

from .apps import make_app, options_of
from .command import Command
from .log import Log
from .options import Settings, Start
from .probe import Probe
from .reports import ReportFile
from .stderr import say
from .tokens import warnings_of_mode, with_token_file
from .watch import Watch, stamps_of

FEW_CONNECTIONS = 200  # of a team's tests, or of a browser and a few tools


class Serving:
    """The app, and what surrounds it in a run: a command, a probe or a watch where asked for.

    `settings` are those that were `given`, with the tokens of the file. Raises `click.UsageError`
    and `OSError` for files that cannot be used.
    """

    command: Command | None = None
    probe: Probe | None = None
    watch: Watch | None = None

    def __init__(self, start: Start, given: Settings) -> None:
        stamps = stamps_of(given)
        settings = with_token_file(given)
        self.report = ReportFile(settings.report) if settings.report else None
        log = Log(settings, shows_latest=bool(start.words or settings.fail_on))
        make = partial(make_app, start, options_of(settings), log)
        if start.words:
            self.command = Command(start.words, start.environ)
        if self.command and settings.probe:
            self.probe = Probe(self.command, settings, log, make)
            self.app = self.probe.plain_app
        else:
            self.app = make()
        if settings.watch:
            self.watch = Watch(self.app, start, given, log, stamps)
        self.settings = settings
        self.environ = start.environ
        self.log = log

    def serve(self) -> None:
        """Serve until a signal, or until the command has ended.

        Raises `server.ListenError`, `click.ClickException` if the server fails, and the exception
        that has ended a watch.
        """
        settings = self.settings
        options = server.ServerOptions(
            threads=settings.threads,
            grace=settings.grace,
            trusted_hosts=settings.trusted_host,
            on_listening=self.follow,
            on_rejected=self.note_rejected,
            headers_for=partial(stub.cors_headers, settings.cors_origin),
        )
        runner = self.probe or self.watch
        served = runner.wsgi_app if runner else self.app
        try:
            server.serve(served, settings.host, settings.port, options)
        except server.ListenError:
            raise
        except (OSError, RuntimeError) as error:  # RuntimeError: no more threads can be started
            raise click.ClickException(f"the server failed: {error}") from None
        finally:
            if self.command:
                self.command.end()
            if self.watch:
                self.watch.end()
                self.app = self.watch.app
        if self.watch and self.watch.failure:
            raise self.watch.failure

    def follow(self, port: int, stop: Callable[[], None]) -> None:
        """Once the server listens: say so, and start what this run has beside the app."""
        command = self.command
        url = self.settings.reachable_url(port)
        if command:
            command.forward_signals()
            say(f"listening on {url}\n")
        else:
            with suppress(OSError):  # stdout may be closed
                print(f"listening on {url}", flush=True)
        for line in self.notes(url, port):
            say(f"{line}\n")
        if command:
            command.environ.update(STUB_URL=url, STUB_TOKEN=self.settings.secrets[0])
            runner = self.probe or command
            command.start(runner.run, stop)
        if self.watch:
            self.watch.start(stop)

    def note_rejected(self, rejected: server.RejectedRequest) -> None:
        """Log and count a request that the server rejected."""
        self.log.add_rejected(rejected)
        runner = self.probe or self.watch  # which replaces the app meanwhile
        app = runner.app if runner else self.app
        if app:
            worlds: stub.Worlds = app.extensions["worlds"]
            worlds.common.rejections.count(*rejected)

    def notes(self, url: str, port: int) -> Iterator[str]:
        """What the start says on stderr: how to call the program, and what is unusual."""
        settings = self.settings
        if not self.command:
            yield f'try: curl -H "Authorization: Bearer {shown_token(settings)}" {url}/v1/projects'
            yield f"open {url}/"
        for address in server.addresses_for_others(settings.host):
            yield f"for other machines: http://{server.in_brackets(address)}:{port}"
        yield from room_warnings()
        yield from token_warnings(settings)
        if settings.grease:
            axes = ",".join(settings.grease)
            seed = settings.grease_seed
            yield f'responses vary on purpose: --grease "{axes}" --grease-seed {seed}'
        least, most = settings.delay
        if least != most:
            yield f"delays are random: --delay {least}-{most} --ids-seed {settings.delay_seed}"
        if settings.like:
            like = self.app.extensions["worlds"].common.like
            for warning in like.warnings:
                yield f"warning: {settings.like}: {warning}"
            line = f"responses are like {settings.like}"
            lacks = lacking(like)
            if lacks:
                line += f"; as the contract says, since it lacks them: {', '.join(lacks)}"
            yield line


def shown_token(settings: Settings) -> str:
    """What a shell sends as the token: never a secret."""
    if settings.secrets == [DEFAULT_TOKEN]:
        return DEFAULT_TOKEN
    if settings.token_file or settings.token[0] != settings.secrets[0]:
        return "TOKEN"
    return "$STUB_TOKEN"


def room_warnings() -> Iterator[str]:
    room = server.connection_limit()
    if room < FEW_CONNECTIONS:
        yield (
            f"warning: more than {room} connections at once have to wait for each other: raise "
            "the limit of open files (ulimit -n)"
        )


def token_warnings(settings: Settings) -> Iterator[str]:
    if any(len(token) < SHORT for token in settings.secrets):
        yield (
            f"warning: a token of less than {SHORT} characters is masked in the log and in the "
            "journal only where it is a whole word"
        )
    yield from warnings_of_mode(settings.token_file)
    if any(map(is_empty, settings.token)):
        yield "warning: a token ends with its only `=`: if it is to be a name, its token is missing"
