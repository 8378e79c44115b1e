"""Finds the addresses of a host, and listens on them."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from .hosts import check_hosts


class ListenError(OSError):
    """An error for an address, such as `cannot listen on localhost, port 80: in use`."""


def resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """Return the family and the first address of a host. IPv4 addresses come first.

    `resolve("localhost", 8080)` is `(AF_INET, ("127.0.0.1", 8080))`. Raises `ListenError` for a
    host without an address.
    """
    try:
        check_hosts([host])  # `getaddrinfo("*")` would return an address.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise ListenError(f"no address is known for {host!r}") from None
    # False sorts before True.
    family, _, _, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    return family, address


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on the address of a host. For `localhost`, listen also on `::1`.

    Some clients try `::1` first. Raises `ListenError` if the address is in use or not of this
    machine.
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
        # Python adds ` (while attempting to bind on address ...)`.
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


def find_address(host: str) -> IPv4Address | IPv6Address:
    """Return the address that `listen()` uses. Raises `ListenError` for an unknown host."""
    return ip_address(resolve(host, 0)[1][0])
