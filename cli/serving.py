"""Makes the app and the server's options from the settings, and says where it listens."""

import shlex
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from flask import Flask

import server
import stub
from auth import DEFAULT_TOKEN
from store import Store
from stub.seed import EMPTY_SEED, SAMPLE, Seed, read_seed, read_states, room_for
from web.routing import CONTROLS

from .command import Command
from .log import Log
from .options import Settings
from .probe import Probe
from .startup import typed
from .stderr import say

Files = tuple[Seed, dict[str, Seed]]
"""The seed and the provider states."""


class NotStarted(click.ClickException):
    """A reason not to start, for stderr."""

    exit_code = 2


def make_app(
    create_app: Callable[..., Flask],
    settings: Settings,
    log: Log,
    files: Files,
    *,
    probed: tuple[str, ...] | None = None,
) -> Flask:
    """The app for these settings, with the axes of a run of --probe in place of --grease.

    Raises `NotStarted` for an unknown part.
    """
    seed, states = files
    stub_options = stub.StubOptions(
        states=states,
        cors_origins=settings.cors_origin,
        grease=settings.grease if probed is None else probed,
        grease_seed=settings.grease_seed,
        ids_seed=settings.ids_seed,
        freeze=settings.freeze,
        delay=settings.delay,
        delay_seed=settings.delay_seed,
        announces_grease=probed is None,
        journal_bytes=settings.journal_bytes,
    )
    new_store = {}  # without --store it is that of `create_app`
    if settings.store:
        threads = settings.threads + server.OTHER_THREADS
        new_store["new_store"] = connect_store(settings.store, threads)
    try:
        return create_app(
            tokens=settings.token,
            pace=settings.pace,
            max_projects=settings.max_projects,
            seed=seed,
            strict=settings.strict,
            stub_options=None if settings.no_stub else stub_options,
            log=log.add,
            **new_store,
        )
    except stub.UnknownPart as error:
        raise NotStarted(f"--grease: {error}.") from None


def make_probe(
    create_app: Callable[..., Flask], settings: Settings, log: Log, files: Files, command: Command
) -> Probe:
    """The probe of these settings, with the app of its plain run. Raises `NotStarted`."""

    def app_of(grease: str) -> Flask:
        log.is_muted = bool(grease)
        axes = stub.parse_axes(grease) if grease else ()
        return make_app(create_app, settings, log, files, probed=axes)

    return Probe(command, settings.probe, settings.grease_seed, app_of, settings.token)


def connect_store(url: str, threads: int) -> Callable[..., Store]:
    """What makes the stores of --store. Raises `NotStarted` if its server cannot be used."""
    try:
        from redis_store import connect
    except ModuleNotFoundError as error:
        file = Path(__file__).parent.with_name("requirements-redis.txt")  # which stub.pyz has not
        what = ["-r", str(file)] if file.exists() else ["redis"]
        command = typed(sys.executable, "-m", "pip", "install", *what)
        raise NotStarted(f"--store: {error.name} is not installed: run `{command}`.") from None
    try:
        return connect(url, threads)
    except ValueError as error:
        raise NotStarted(f"--store: {error}.") from None


def read_files(settings: Settings) -> Files:
    """The seed and the provider states. Raises `NotStarted` for an invalid file."""
    seed = EMPTY_SEED if settings.empty else read_seed(SAMPLE)
    states: dict[str, Seed] = {}
    try:
        if settings.seed:  # which may be an export of the sample
            room = room_for(settings.max_projects, seed)
            seed = read_seed(settings.seed, max_projects=room)
        if settings.states:
            room = room_for(settings.max_projects, seed)
            states = read_states(settings.states, max_projects=room)
    except ValueError as error:
        raise NotStarted(str(error)) from None
    return seed, states


def open_log(settings: Settings, *, has_command: bool) -> Log:
    """The log. Raises `NotStarted` if the file of --log cannot be written."""
    try:
        return Log(
            settings.token,
            quiet=settings.quiet,
            file=settings.log,
            shows_latest=has_command or bool(settings.fail_on),
        )
    except OSError as error:
        raise NotStarted(f"--log: {settings.log}: {error.strerror}.") from None


def server_options(
    app: Flask, settings: Settings, log: Log, command: Command | Probe | None
) -> server.ServerOptions:
    """How to serve: the rejections that are logged and counted, and what follows the start."""

    def note_rejected(rejected: server.RejectedRequest) -> None:
        log.add_rejected(rejected)
        current = command.app if isinstance(command, Probe) else app
        if "stub" in current.extensions:
            worlds = current.extensions["stub"].worlds
            worlds.count_rejection(stub.RejectedRequest(*rejected))

    return server.ServerOptions(
        threads=settings.threads,
        deadline=settings.deadline,
        grace=settings.grace,
        trusted_hosts=settings.trusted_host,
        control_prefix=None if settings.no_stub else CONTROLS,
        on_listening=partial(start_command, settings, command)
        if command
        else partial(announce, settings),
        on_rejected=note_rejected,
        headers_for=partial(stub.cors_headers, settings.cors_origin),
    )


def announce(settings: Settings, port: int, stop: Callable[[], None]) -> None:
    """Print the address, and how to call it."""
    with suppress(OSError):  # stdout may be closed
        print(f"listening on http://{server.in_brackets(settings.host)}:{port}", flush=True)
    url = settings.reachable_url(port)
    hint, token = "try, where STUB_TOKEN is set", "$STUB_TOKEN"  # it may be from --token
    if settings.token == (DEFAULT_TOKEN,):
        hint, token = "try", DEFAULT_TOKEN
    elif len(settings.token) > 1:
        token = "${STUB_TOKEN%% *}"  # the first of them
    say(f'{hint}: curl -H "Authorization: Bearer {token}" {url}/v1/projects\n')
    if not settings.no_stub:
        say(f"open {url}/\n")
    print_own_address(settings, port)
    print_seeds(settings)


def start_command(
    settings: Settings, command: Command | Probe, port: int, stop: Callable[[], None]
) -> None:
    """Start the command; the server stops when it ends. stdout is the command's alone."""
    command.forward_signals()
    url = settings.reachable_url(port)
    say(f"listening on {url}\n")
    print_own_address(settings, port)
    print_seeds(settings)
    error = command.start({"STUB_URL": url, "STUB_TOKEN": settings.token[0]}, then=stop)
    if error:
        say(f"error: {error}\n")


def print_own_address(settings: Settings, port: int) -> None:
    """For 0.0.0.0 or ::, print an address for other machines, if there is any.

    It is the source address of the route to an address for documentation (RFC 5737, RFC 3849).
    Connecting a UDP socket sends nothing and asks no name server.
    """
    address = server.address_of(settings.host)
    if not address.is_unspecified:
        return
    family, far = socket.AF_INET, "192.0.2.1"
    if address.version == 6:
        family, far = socket.AF_INET6, "2001:db8::1"
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far, 9))
        host = server.in_brackets(probe.getsockname()[0])
        say(f"from another machine: http://{host}:{port}\n")


def print_seeds(settings: Settings) -> None:
    """Say how to repeat what is random in this run."""
    if settings.grease:
        axes = shlex.quote(",".join(settings.grease))  # a part may have a space
        say(f"responses vary on purpose: --grease {axes} --grease-seed {settings.grease_seed}\n")
    least, most = settings.delay
    if least != most:
        say(f"delays are random: --delay {least}-{most} --ids-seed {settings.delay_seed}\n")
