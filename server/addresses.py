"""Addresses to listen on, the names of hosts that are served there, and room for connections."""

import re
import socket
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MAX_CONNECTIONS = 1030  # waitress counts its listeners, too; its own limit is 100
SPARE_FILES = 16  # file descriptors for everything but connections
HOST = r"(?:[A-Za-z0-9._~%-]+|\[[0-9A-Fa-f:.]+\])"
PORT = r"(?::[0-9]{0,5})?"
LOOPBACK = r"(?:[a-z0-9_.-]+\.)?localhost\.?|127(?:\.[0-9]+){3}|\[::1\]"
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


def hosts_served(sock: socket.socket, host: str, trusted: Collection[str]) -> re.Pattern[str]:
    """The fields Host that are served on a socket, which listens on a host.

    On loopback they are its own names, the host and the trusted ones. Otherwise a page could make
    its own name resolve to 127.0.0.1 and read the responses (DNS rebinding).
    """
    if not ip_address(sock.getsockname()[0]).is_loopback:
        return re.compile(".*")
    names = [re.escape(in_brackets(name)) for name in (host, *trusted)]
    return re.compile(f"(?:{'|'.join([LOOPBACK, *names])}){PORT}", re.IGNORECASE)


def check_hosts(names: Collection[str]) -> None:
    """Raise ValueError for one that is no host name: a URL, or a name with a port."""
    for name in names:
        if not re.fullmatch(HOST, in_brackets(name)):
            raise ValueError(f"{name} is not a host name: give it without scheme and port")


def in_brackets(host: str) -> str:
    """The host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if host.count(":") > 1 else host


def connection_limit() -> int:
    """The number of connections for which there are files; the others wait in the kernel."""
    # On Windows select() has the limit.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else 512
    return min(MAX_CONNECTIONS, max(files - SPARE_FILES, files // 2))
