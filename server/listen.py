"""Addresses: what to listen on, and how many connections there may be."""

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from .settings import MAX_CONNECTIONS, check_hosts

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SPARE_FILES = 128  # file descriptors for everything but connections


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


def listen(host: str, port: int) -> socket.socket:
    """Listen on the one address that `resolve()` gives; ListenError if it is not ours or taken."""
    family, address = resolve(host, port)
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        reason, _, _ = str(error.strerror).partition(" (while")
        raise ListenError(f"cannot listen on {host}, port {port}: {reason}") from error


def address_of(host: str) -> IPv4Address | IPv6Address:
    """What `listen()` listens on. Raises ListenError as `resolve()` does."""
    return ip_address(resolve(host, 0)[1][0])


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
