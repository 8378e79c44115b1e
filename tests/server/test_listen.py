"""Addresses to listen on, and room for connections."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from server import ListenError, connection_limit, create_server
from tests.live import running, serving
from tests.server.conftest import Echo
from tests.wire import Connection, get

pytestmark = pytest.mark.process

UNUSABLE = ("no.such.host.invalid", "192.0.2.1", "a..b", "*")
ROOM = [(20, 10), (64, 48), (1024, 1008), (100_000, 1030)]  # open files, and connections


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


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_many_idle_connections_are_in_nobodys_way(many_files: None, echo: Echo) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(serving(echo.app, threads=1))
        # Both ends are in this process: some have a descriptor above 1023.
        clients = [stack.enter_context(Connection(port)) for _ in range(520)]
        for client in (clients[-1], clients[0]):
            client.send(get())
            assert client.reply().status_code == 200


def test_clients_beyond_the_limit_of_files_wait_until_others_leave(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        with monkeypatch.context() as patched:
            for files, connections in ROOM[::-1]:
                patched.setattr(resource, "getrlimit", lambda kind, soft=files: (soft, soft))
                assert connection_limit() == connections
            port = stack.enter_context(serving(echo.app, threads=1))
        clients = [stack.enter_context(Connection(port)) for _ in range(12)]
        for client in clients:
            client.send(get())
        for client in clients[:8]:
            assert client.reply().status_code == 200
        for _ in range(20):
            clients[0].send(get())
            assert clients[0].reply().status_code == 200
        assert all(client.is_silent() for client in clients[8:])
        for client in clients[:4]:
            client.sock.close()
        for client in clients[8:]:
            assert client.reply().status_code == 200
