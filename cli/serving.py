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
from stub.failures import STALLED, Failures
from stub.profile import NO_PROFILE, Profile, read_profile
from stub.seed import EMPTY_SEED, SAMPLE, Seed, read_seed, read_states
from web.routing import CONTROLS

from .command import Command
from .log import Log
from .options import Settings
from .probe import Probe
from .startup import typed
from .stderr import say

Files = tuple[Seed, dict[str, Seed], Profile]
"""The seed, the provider states, and the profile of a service."""


def make_app(
    create_app: Callable[..., Flask],
    settings: Settings,
    log: Log,
    files: Files,
    varied: tuple[str, ...] = (),
    failures: Failures | None = None,
) -> Flask:
    """The app for these settings, or that of a run of --probe: what it varies, and its failures.

    Raises `click.UsageError` for an unknown part, or a store that cannot be used.
    """
    seed, states, like = files
    stub_options = stub.StubOptions(
        states=states,
        cors_origins=settings.cors_origin,
        grease=varied or settings.grease,
        grease_seed=settings.grease_seed,
        ids_seed=settings.ids_seed,
        freeze=settings.freeze,
        delay=settings.delay,
        delay_seed=settings.delay_seed,
        announces_grease=not varied,
        journal_bytes=settings.journal_bytes,
        failures=failures,
        like=like,
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
        raise click.UsageError(f"--grease: {error}.") from None


def connect_store(url: str, threads: int) -> Callable[..., Store]:
    """What makes the stores of --store. Raises `click.UsageError` if it cannot be used."""
    try:
        from redis_store import connect
    except ModuleNotFoundError as error:
        file = Path(__file__).parent.with_name("requirements-redis.txt")  # which stub.pyz has not
        what = ["-r", str(file)] if file.exists() else ["redis"]
        command = typed(sys.executable, "-m", "pip", "install", *what)
        raise click.UsageError(
            f"--store: {error.name} is not installed: run `{command}`."
        ) from None
    try:
        return connect(url, threads)
    except ValueError as error:
        raise click.UsageError(f"--store: {error}.") from None


def read_files(settings: Settings) -> Files:
    """The files that the options name. Raises `click.UsageError` for an invalid one."""
    seed = EMPTY_SEED if settings.empty else read_seed(SAMPLE)
    states: dict[str, Seed] = {}
    like = NO_PROFILE
    try:
        if settings.seed:
            seed = read_seed(settings.seed)
        if settings.states:
            states = read_states(settings.states)
        if settings.like:
            like = read_profile(settings.like)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return seed, states, like


def server_options(
    app: Flask, settings: Settings, log: Log, command: Command | None, probe: Probe | None
) -> server.ServerOptions:
    """How to serve: the rejections that are logged and counted, and what follows the start."""

    def note_rejected(rejected: server.RejectedRequest) -> None:
        log.add_rejected(rejected)
        current = probe.app if probe else app
        if current and "stub" in current.extensions:
            worlds = current.extensions["stub"].worlds
            worlds.count_rejection(stub.RejectedRequest(*rejected))

    def follow(port: int, stop: Callable[[], None]) -> None:
        url = settings.reachable_url(port)
        if command:
            command.forward_signals()
            say(f"listening on {url}\n")
        else:
            announce(settings, port)
        tell_own_address(settings, port)
        tell_seeds(settings)
        tell_profile(settings, app)
        if command:
            variables = {"STUB_URL": url, "STUB_TOKEN": settings.token[0]}
            start = probe.start if probe else command.start_beside
            start(variables, stop)

    # Each operation stalls once, and nothing else waits for that.
    stalls = len(app.extensions["stub"].operations) if STALLED in settings.probe else 0
    return server.ServerOptions(
        threads=settings.threads + stalls,
        deadline=settings.deadline,
        grace=settings.grace,
        trusted_hosts=settings.trusted_host,
        control_prefix=None if settings.no_stub else CONTROLS,
        on_listening=follow,
        on_rejected=note_rejected,
        headers_for=partial(stub.cors_headers, settings.cors_origin),
    )


def announce(settings: Settings, port: int) -> None:
    """Print the address on stdout, which is the command's if there is one, and how to call it."""
    with suppress(OSError):  # stdout may be closed
        print(f"listening on http://{server.in_brackets(settings.host)}:{port}", flush=True)
    url = settings.reachable_url(port)
    hint, token = "try, where STUB_TOKEN is one token", "$STUB_TOKEN"  # it may be from --token
    if settings.token == (DEFAULT_TOKEN,):
        hint, token = "try", DEFAULT_TOKEN
    say(f'{hint}: curl -H "Authorization: Bearer {token}" {url}/v1/projects\n')
    if not settings.no_stub:
        say(f"open {url}/\n")


def tell_own_address(settings: Settings, port: int) -> None:
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
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as udp:
        udp.connect((far, 9))
        host = server.in_brackets(udp.getsockname()[0])
        say(f"from another machine: http://{host}:{port}\n")


def tell_profile(settings: Settings, app: Flask) -> None:
    """Say what of the service of --like the responses do not show."""
    if settings.like:
        count = len(app.extensions["stub"].parts.like.get("not_imitated", ()))
        say(f"responses are like {settings.like}; not imitated: {count}, see GET /_stub/like\n")


def tell_seeds(settings: Settings) -> None:
    """Say how to repeat what is random in this run."""
    if settings.grease:
        axes = shlex.quote(",".join(settings.grease))  # a part may have a space
        say(f"responses vary on purpose: --grease {axes} --grease-seed {settings.grease_seed}\n")
    least, most = settings.delay
    if least != most:
        say(f"delays are random: --delay {least}-{most} --ids-seed {settings.delay_seed}\n")
