"""waitress made strict: exact framing, JSON errors, deadlines, and a drain on signals.

It knows nothing of the app. It uses waitress' public seams where there are any: the settings, the
class attributes `channel_class`, `parser_class`, `task_class` and `error_task_class`. It overrides
the names below. Some of them are private, so `requirements.txt` pins waitress:

| overridden | what a user sees of it |
|---|---|
| `HTTPRequestParser.received` | exact heads, rejected as soon as they are wrong; Host checked |
| `ChunkedReceiver.received` | exact chunks; bounded lines |
| `Task.service` | a 500 in JSON for an exception that escapes the app; no token in the log |
| `Task.write` | head and body in one packet |
| `WSGITask.get_environment` | `//v1/x` is not `/v1/x`; a cut response ends its connection |
| `ErrorTask.execute` | errors in JSON; HEAD without a body |
| `HTTPChannel.received` | a client that sends too much can read why |
| `HTTPChannel.handle_write` | the same; clients that do not read hold no thread |
| `HTTPChannel.handle_error` | no token in the log of a failure |
| `HTTPChannel.handle_expt` | urgent data is no busy loop |
| `BaseWSGIServer.add_task` | threads for control routes alone; clients that do not read hold none |
| `BaseWSGIServer.run`, `close`, `_map` | the deadlines; the drain; more than 1,024 connections |
| `BaseWSGIServer.pull_trigger`, `trigger._closed` | no write to another file |
| `BaseWSGIServer.handle_error` | the server goes on listening after a failed accept |
"""

import logging
import signal
import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import FrameType
from typing import Any

from .loop import Server as Server
from .settings import MAX_CONNECTIONS, App, make_settings
from .settings import OTHER_THREADS as OTHER_THREADS
from .settings import RejectedRequest as RejectedRequest
from .settings import ServerOptions as ServerOptions
from .settings import check_hosts as check_hosts
from .settings import in_brackets as in_brackets

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SPARE_FILES = 128  # file descriptors for everything but connections
# Windows has no SIGHUP.
STOP_SIGNALS = [each for each in signal.Signals if each.name in ("SIGTERM", "SIGINT", "SIGHUP")]
DEFAULTS = ServerOptions()
FAR: dict[int, str] = {  # addresses of other networks (RFC 5737, RFC 3849)
    socket.AF_INET: "192.0.2.1",
    socket.AF_INET6: "2001:db8::1",
}


class ListenError(OSError):
    """An address that cannot be listened on."""


def resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """The family and the first address of a host, an IPv4 one if it has any; or ListenError."""
    try:
        check_hosts([host])  # getaddrinfo() takes * for an address
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise ListenError(f"no address is known for {host!r}") from None
    family, _, _, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    return family, address


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on the address that `resolve()` gives; ListenError if it is not ours or taken.

    For `localhost` also on ::1, which clients may try first.
    """
    family, address = resolve(host, port)
    sockets: list[socket.socket] = []
    try:
        sockets.append(socket.create_server(address, family=family))
        if host.lower() == "localhost" and family == socket.AF_INET and has_address("::1"):
            other = ("::1", sockets[0].getsockname()[1])
            sockets.append(socket.create_server(other, family=socket.AF_INET6))
    except OSError as error:
        for each in sockets:
            each.close()
        reason, _, _ = str(error.strerror).partition(" (while")
        raise ListenError(f"cannot listen on {host}, port {port}: {reason}") from error
    return sockets


def has_address(address: str) -> bool:
    """Whether this machine has an IPv6 address."""
    try:
        socket.create_server((address, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def address_of(host: str) -> IPv4Address | IPv6Address:
    """What `listen()` listens on. Raises ListenError as `resolve()` does."""
    return ip_address(resolve(host, 0)[1][0])


def addresses_for_others(host: str) -> list[str]:
    """The addresses of this machine for other machines, if the host is a wildcard such as 0.0.0.0.

    They are that of the default route, and those of the machine's name.
    """
    family, address = resolve(host, 0)
    if not ip_address(address[0]).is_unspecified:
        return []
    found: list[str] = []
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:  # which sends nothing
        sock.connect((FAR[family], 9))
        found.append(sock.getsockname()[0])
    with suppress(OSError):
        name = socket.gethostname()
        for *_, named in socket.getaddrinfo(name, None, family):
            found.append(str(named[0]))
    distinct = dict.fromkeys(found)
    return [each for each in distinct if not ip_address(each).is_loopback]


def connection_limit() -> int:
    """The number of connections for which there are files: without one, accept() would spin."""
    # On Windows select() has the limit.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else 512
    return min(MAX_CONNECTIONS, max(files - SPARE_FILES, files // 2))


def raise_file_limit() -> None:
    """Raise this process' soft limit on open files as far as the connections need."""
    with suppress(AttributeError, OSError, ValueError):  # Windows has none
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = max(soft, min(MAX_CONNECTIONS + SPARE_FILES, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def create_server(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> Server:
    """Listen, and return the server, whose port is `effective_port`. Raises as `listen()` does."""
    sockets = listen(host, port)
    try:
        on_loopback = ip_address(sockets[0].getsockname()[0]).is_loopback
        settings = make_settings(options, connection_limit(), host if on_loopback else None)
        return Server(app, sockets, settings)
    except BaseException:
        for each in sockets:
            each.close()
        raise


def serve(app: App, host: str, port: int, options: ServerOptions = DEFAULTS) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, drain, and return; in a process' main thread.

    A second signal ends the process at once. Raises as `create_server()` does; any other OSError
    is a failure of the running server.
    """
    raise_file_limit()
    # waitress warns of each response that is cut short on purpose.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    server = create_server(app, host, port, options)

    def drain(number: int, frame: FrameType | None) -> None:
        for each in previous:
            signal.signal(each, signal.SIG_DFL)
        server.stop()

    previous = {
        each: signal.signal(each, drain)
        for each in STOP_SIGNALS
        if each.name != "SIGHUP" or signal.getsignal(each) is not signal.SIG_IGN  # by `nohup`
    }
    try:
        options.on_listening(server.effective_port, server.stop)
        server.run()
    finally:
        server.close()
        for each, handler in previous.items():
            signal.signal(each, handler)
