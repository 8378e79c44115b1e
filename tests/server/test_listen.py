"""Addresses to listen on, and connections."""

import os
import resource
import socket
from contextlib import ExitStack

import pytest

from server import ListenError, create_server
from tests.conftest import limited, needs
from tests.server.conftest import Echo, serving
from tests.wire import Connection, get

pytestmark = pytest.mark.process

# What the server listens on, a name of it, and whether it serves any other name.
HOSTS = [
    ("127.0.0.1", "127.0.0.1", False),
    ("localhost", "127.0.0.1", False),
    ("localhost", "::1", False),
    ("127.1", "127.1", False),
    ("0.0.0.0", "127.0.0.1", True),
]


def test_loopback_serves_its_own_names_and_another_address_any(echo: Echo) -> None:
    needs("IPv6")
    for host, address, is_open in HOSTS:
        with serving(echo, host, threads=1) as port:
            for name, is_served in ((host, True), ("stub.example", is_open)):
                with Connection(port, address) as client:
                    client.send(get("/", f"Host: {name}"))
                    assert client.reply().status_code == (200 if is_served else 400)
            if host != "localhost":
                with pytest.raises(ConnectionRefusedError):
                    Connection(port, "::1")


def test_the_error_for_an_address_that_cannot_be_used_is_one_line(echo: Echo) -> None:
    with (
        serving(echo) as port,
        pytest.raises(ListenError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"),
    ):
        create_server(echo, "127.0.0.1", port)
    for host in ("no.such.host.invalid", "192.0.2.1", "a..b", "*"):
        with pytest.raises(ListenError, match=r"^(cannot listen on|no address is known for) .*$"):
            create_server(echo, host, 0)


def test_localhost_is_both_loopbacks_or_none(echo: Echo) -> None:
    needs("IPv6")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"^cannot listen on localhost, port {port}: "):
            create_server(echo, "localhost", port)


def test_a_connection_may_have_a_high_descriptor(echo: Echo) -> None:
    with (
        limited(resource.RLIMIT_NOFILE, 4096),
        serving(echo, threads=1) as port,
        ExitStack() as stack,
    ):
        for _ in range(1100):
            stack.callback(os.close, os.dup(0))
        with Connection(port) as client:
            client.send(get())
            assert client.reply().status_code == 200
