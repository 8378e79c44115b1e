"""Addresses to listen on."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from .hosts import check_hosts


class ListenError(OSError):
    """An address that cannot be listened on."""


def resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """Return the family and the first address of a host, an IPv4 one if it has any.

    Raises ListenError for a host without an address.
    """
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
    """Return whether this machine has an IPv6 address."""
    try:
        socket.create_server((address, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def address_of(host: str) -> IPv4Address | IPv6Address:
    """Return what `listen()` listens on. Raises ListenError as `resolve()` does."""
    return ip_address(resolve(host, 0)[1][0])
