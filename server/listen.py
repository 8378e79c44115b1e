"""Addresses: what to listen on, and how many connections there may be."""

import re
import select
import socket
import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from .settings import HOST, MAX_CONNECTIONS

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SPARE_FILES = 128  # file descriptors for everything but connections


class ListenError(OSError):
    """An address that cannot be listened on."""


def resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """The family and the first address of a host, an IPv4 one if it has any.

    Raises ValueError for a port out of range, which getaddrinfo() would reduce modulo 65536, and
    ListenError for a host that is unknown or that no client could call.
    """
    if not 0 <= port <= 65535:
        raise ValueError(f"port {port} is not between 0 and 65535")
    try:
        name = host if ":" in host else host.encode("idna").decode()
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ListenError(f"no address is known for {host!r}") from None
    family, _, _, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    # getaddrinfo() takes * for an address, and bind() takes a group and the broadcast address.
    is_for_many = ip_address(address[0]).is_multicast or address[0] == "255.255.255.255"
    if is_for_many or not (":" in name or re.fullmatch(HOST, name)):
        raise ListenError(f"{host!r} is no address that a client could call")
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
    """The number of connections that the file descriptors allow.

    Without descriptors, accept() would be a busy loop.
    """
    if resource is None or not hasattr(select, "poll"):
        return 512 - SPARE_FILES  # Windows: the limit of select()
    soft, _ = map(number_of, resource.getrlimit(resource.RLIMIT_NOFILE))
    return min(MAX_CONNECTIONS, max(soft - SPARE_FILES, soft // 2))


def raise_file_limit() -> None:
    """Raise this process' soft limit on file descriptors as far as the connections need."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(MAX_CONNECTIONS + SPARE_FILES, number_of(hard))
    if number_of(soft) < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def number_of(limit: int) -> int:
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
