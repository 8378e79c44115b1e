"""The limits of the server, and the options that `serve()` takes."""

import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from waitress.adjustments import Adjustments

MAX_HEAD = 16 * 1024  # bytes of a request line and its fields
MAX_FIELDS = 100
MAX_BODY = 1024 * 1024 + 64 * 1024  # bytes on the wire; waitress: 1 GiB, on the disk
MAX_CONTROL_BODY = 65 * 1024 * 1024
MAX_CHUNK_LINE = 4096  # bytes of a chunk's size and extensions, or of one trailer field
MAX_CONNECTIONS = 4096  # waitress: 100, and the 101st hangs in silence
MAX_UNREAD = 16 * 1024 * 1024  # bytes of responses; with more, the next request waits
MAX_JOINED = 64 * 1024  # bytes of a body that is sent together with its head
IDLE = 120  # seconds without a byte on a connection that waits for no response
LINGER = 2.0  # seconds that the input of a closed connection is still read
TICK = 0.5  # seconds between two checks for overdue connections
OTHER_THREADS = 3  # that call the app for control routes, beside those of `ServerOptions.threads`

HOST = r"(?:[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\])"
PORT = r"(?::[0-9]{0,5})?"
LOOPBACK = r"(?:[a-z0-9_.-]+\.)?localhost\.?|127(?:\.[0-9]+){3}|\[::1\]"

App = Callable[..., Iterable[bytes]]  # of WSGI (PEP 3333)


class RejectedRequest(NamedTuple):
    """A request that the server rejected, with what was read of it, and its response."""

    method: str  # these three are empty if the head is malformed, or has not arrived
    target: str  # as it was sent
    host: str  # the field Host
    status: int | None  # None if there is no response, since the request did not arrive whole
    code: str
    detail: str


class ServerOptions(NamedTuple):
    """How to serve. The callbacks run in the thread of the request.

    Paths that begin with `control_prefix` have threads of their own and a larger body limit, so
    that requests which sleep cannot block them.
    """

    threads: int = 16
    deadline: float = 30.0  # seconds for a request to arrive whole
    grace: float = 10.0  # seconds to finish the current requests after a signal
    trusted_hosts: Collection[str] = ()  # served on loopback besides its own names and the host
    control_prefix: str | None = None
    on_listening: Callable[[int, Callable[[], None]], None] = lambda port, stop: None
    on_rejected: Callable[[RejectedRequest], None] = lambda rejected: None
    headers_for: Callable[[str | None], Mapping[str, str]] = lambda origin: {}  # of a rejection
    clock: Callable[[], float] = time.monotonic  # seconds


class Settings(Adjustments):
    """waitress' settings, which reach every connection, parser and task, and ours."""

    options: ServerOptions
    allowed_hosts = re.compile(".*")


def make_settings(options: ServerOptions, connections: int, loopback: str | None) -> Settings:
    """The settings for these options, whose trusted hosts are host names: see `check_hosts()`.

    On loopback, only loopback names and the name that is listened on are served. Otherwise a page
    could make its own name resolve to 127.0.0.1 and read the responses (DNS rebinding).
    """
    settings = Settings(
        connection_limit=connections,
        max_request_body_size=sys.maxsize,  # the parser has a limit for each path
        inbuf_overflow=sys.maxsize,  # neither a request nor a response goes to the disk
        outbuf_overflow=sys.maxsize,
        outbuf_high_watermark=sys.maxsize,  # no thread waits for a client: see MAX_UNREAD
        channel_timeout=IDLE,
        clear_untrusted_proxy_headers=False,  # the app gets the fields as they were sent
        log_socket_errors=False,
    )
    settings.options = options
    if loopback is not None:
        trusted = [re.escape(in_brackets(name)) for name in (loopback, *options.trusted_hosts)]
        names = "|".join([LOOPBACK, *trusted])
        settings.allowed_hosts = re.compile(f"(?:{names}){PORT}", re.IGNORECASE)
    return settings


def check_hosts(names: Collection[str]) -> None:
    """Raise ValueError for one that is no host name: a URL, or a name with a port."""
    for name in names:
        if not re.fullmatch(HOST, in_brackets(name)):
            raise ValueError(f"{name} is not a host name: give it without scheme and port")


def in_brackets(host: str) -> str:
    """The host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if host.count(":") > 1 else host
