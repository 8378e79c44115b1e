"""Addresses to listen on, and how many connections there may be."""

import resource
import socket

import pytest

from server import ListenError, connection_limit, create_server, raise_file_limit
from tests.live import running, serving
from tests.server.conftest import Echo
from tests.wire import Connection, get

pytestmark = pytest.mark.process

UNUSABLE = ("no.such.host.invalid", "192.0.2.1", "a..b", "*")
# The soft and the hard limit of files, the number of connections, and what the limit is raised to.
FILES = [
    ((100, 100), 50, (100, 100)),
    ((1024, 2048), 896, (2048, 2048)),
    ((1024, 100_000), 896, (4224, 100_000)),
    ((4223, 4224), 4095, (4224, 4224)),
    ((100_000, 100_000), 4096, (100_000, 100_000)),
]


def test_loopback_serves_its_own_names_and_another_address_any(echo: Echo) -> None:
    for host in ("127.0.0.1", "localhost", "127.1", "0.0.0.0"):
        with serving(echo.app, host, threads=1) as port:
            for name, is_served in ((host, True), ("stub.example", host == "0.0.0.0")):
                with Connection(port, host) as client:
                    client.send(get("/", f"Host: {name}"))
                    assert client.reply().status_code == (200 if is_served else 400)


def test_localhost_is_both_loopbacks(echo: Echo) -> None:
    addresses = ["127.0.0.1", *(["::1"] if socket.has_dualstack_ipv6() else [])]
    with running(echo.app, "localhost") as server:
        port = server.effective_port
        for address in addresses:
            with Connection(port, address) as client:
                client.send(get("/"))
                assert client.reply().status_code == 200
                *_, newest = server.active_channels.values()
                # Nagle's algorithm would delay each response.
                assert newest.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with pytest.raises(ListenError):  # of the last one alone
            create_server(echo.app, addresses[-1], port)
    for address in addresses:
        with pytest.raises(OSError, match="refused"):
            Connection(port, address)


def test_the_error_for_an_address_that_cannot_be_used_is_one_line(port: int, echo: Echo) -> None:
    with pytest.raises(ListenError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(echo.app, "127.0.0.1", port)
    for host in UNUSABLE:
        with pytest.raises(ListenError, match=r"^(cannot listen on|no address is known for) .*$"):
            create_server(echo.app, host, 0)


def test_the_limit_of_files_is_that_of_connections_and_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[tuple[int, int]] = []

    def set_limit(kind: int, both: tuple[int, int]) -> None:
        raised.append(both)
        raise (OSError, ValueError)[len(raised) % 2]  # the limit stays

    monkeypatch.setattr(resource, "setrlimit", set_limit)
    for limits, connections, expected in FILES:
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=limits: limits)
        assert connection_limit() == connections
        raise_file_limit()
        assert raised[-1] == expected
