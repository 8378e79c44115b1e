"""Addresses to listen on, and how many connections there may be."""

import resource
import select
import socket
import sys
from contextlib import closing

import pytest

from server import ListenError, create_server
from server.listen import connection_limit, raise_file_limit
from tests.contract import assert_problem
from tests.live import serving
from tests.raw import get
from tests.server.conftest import Echo
from tests.wire import Connection

pytestmark = pytest.mark.process

NO_LIMIT = resource.RLIM_INFINITY
UNUSABLE = ("no.such.host.invalid", "x" * 70, "192.0.2.1", "a..b", "*", "224.0.0.1")
ADDRESSES = [
    (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
]
# The number of files that a process may have open, and that of its connections.
FILES = [(100, 50), (256, 128), (1024, 896), (4223, 4095), (100_000, 4096), (NO_LIMIT, 4096)]
# The soft and the hard limit, and what it is raised to.
RAISED = [
    (1024, 100_000, [(4224, 100_000)]),
    (1024, NO_LIMIT, [(4224, NO_LIMIT)]),
    (1024, 2048, [(2048, 2048)]),
    (1024, 1024, []),
    (4224, 100_000, []),
    (NO_LIMIT, NO_LIMIT, []),
]


def test_loopback_serves_its_own_names_and_another_address_any(echo: Echo) -> None:
    for host in ("127.0.0.1", "localhost", "127.1", "0.0.0.0"):
        with serving(echo.app, host, threads=1) as port:
            for name, is_served in ((host, True), ("stub.example", host == "0.0.0.0")):
                with Connection(port, host) as client:
                    client.send(get("/", f"Host: {name}"))
                    reply = client.reply()
                    assert reply.status_code == (200 if is_served else 400)
                    if not is_served:
                        assert_problem(reply, 400, "host_not_allowed")


def test_a_name_with_addresses_of_both_kinds_is_its_ipv4_one(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lambda *args, **options: ADDRESSES)
        server = create_server(echo.app, "both.test", 0)
    with closing(server), Connection(server.effective_port, "127.0.0.1") as client:
        assert client.sock.getpeername()[0] == "127.0.0.1"


def test_the_error_for_an_address_that_cannot_be_used_is_one_line(port: int, echo: Echo) -> None:
    with pytest.raises(ListenError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(echo.app, "127.0.0.1", port)
    for host in (*UNUSABLE, "255.255.255.255"):
        with pytest.raises(
            ListenError, match=r"^(cannot listen on|no address is known for|'.*' is no)"
        ):
            create_server(echo.app, host, 0)
    for number in (-1, 65536):
        with pytest.raises(ValueError, match=f"^port {number} is not between 0 and 65535$"):
            create_server(echo.app, "127.0.0.1", number)


def test_some_files_are_left_for_other_things_than_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for files, connections in FILES:
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=files: (soft, NO_LIMIT))
        assert connection_limit() == connections


def test_a_system_without_limits_or_poll_has_the_limit_of_select(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.delattr(select, "poll")
        assert connection_limit() == 512 - 128
    monkeypatch.setattr(sys.modules["server.listen"], "resource", None)
    assert connection_limit() == 512 - 128
    raise_file_limit()


@pytest.mark.parametrize("error", [None, OSError, ValueError])
def test_the_limit_of_files_is_raised_as_far_as_the_connections_need(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None
) -> None:
    limits: list[tuple[int, int]] = []

    def set_limit(kind: int, both: tuple[int, int]) -> None:
        limits.append(both)
        if error:  # the limit stays
            raise error

    monkeypatch.setattr(resource, "setrlimit", set_limit)
    for *both, raised in RAISED:
        monkeypatch.setattr(resource, "getrlimit", lambda kind, both=both: both)
        limits.clear()
        raise_file_limit()
        assert limits == raised
