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


def ipv6() -> list[str]:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return []
    return ["::1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "127.1", *ipv6()])
def test_loopback_serves_its_own_names(echo: Echo, host: str) -> None:
    with serving(echo.app, host, threads=1) as port:
        with Connection(port, host) as client:
            client.send(get("/", f"Host: [{host}]" if ":" in host else f"Host: {host}"))
            assert client.reply().status_code == 200
        with Connection(port, host) as client:
            client.send(get("/", "Host: stub.example"))
            assert_problem(client.reply(), 400, "host_not_allowed")


def test_any_name_is_served_beyond_loopback(echo: Echo) -> None:
    with serving(echo.app, "0.0.0.0", threads=1) as port, Connection(port) as client:
        client.send(get("/", "Host: stub.example"))
        assert client.reply().status_code == 200


def test_a_name_with_addresses_of_both_kinds_is_its_ipv4_one(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lambda *args, **options: found)
        server = create_server(echo.app, "both.test", 0)
    with closing(server), Connection(server.effective_port, "127.0.0.1") as client:
        assert client.sock.getpeername()[0] == "127.0.0.1"


def test_the_error_for_a_taken_port_is_one_line(port: int, echo: Echo) -> None:
    with pytest.raises(ListenError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(echo.app, "127.0.0.1", port)


@pytest.mark.parametrize(
    "host",
    ["no.such.host.invalid", "x" * 70, "192.0.2.1", "a..b", "*", "224.0.0.1", "255.255.255.255"],
)
def test_the_error_for_an_unusable_host_is_one_line(echo: Echo, host: str) -> None:
    with pytest.raises(
        ListenError, match=r"^(cannot listen on|no address is known for|'.*' is no)"
    ):
        create_server(echo.app, host, 0)


@pytest.mark.parametrize("number", [-1, 65536, 99999])
def test_a_port_out_of_range_is_an_error(echo: Echo, number: int) -> None:
    with pytest.raises(ValueError, match=f"^port {number} is not between 0 and 65535$"):
        create_server(echo.app, "127.0.0.1", number)


@pytest.mark.parametrize(
    ("files", "connections"),
    [
        (100, 50),
        (256, 128),
        (1024, 1024 - 128),
        (4096 + 127, 4095),
        (4096 + 128, 4096),
        (100_000, 4096),
        (NO_LIMIT, 4096),
    ],
)
def test_some_files_are_left_for_other_things_than_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (files, NO_LIMIT))
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
@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (1024, 100_000, [(4096 + 128, 100_000)]),
        (1024, NO_LIMIT, [(4096 + 128, NO_LIMIT)]),
        (1024, 2048, [(2048, 2048)]),
        (1024, 1024, []),
        (4096 + 128, 100_000, []),
        (100_000, 100_000, []),
        (NO_LIMIT, NO_LIMIT, []),
    ],
)
def test_the_limit_of_files_is_raised_as_far_as_the_connections_need(
    monkeypatch: pytest.MonkeyPatch,
    soft: int,
    hard: int,
    raised: list[tuple[int, int]],
    error: type[Exception] | None,
) -> None:
    limits: list[tuple[int, int]] = []

    def set_limit(kind: int, both: tuple[int, int]) -> None:
        limits.append(both)
        if error:  # the limit stays
            raise error

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    raise_file_limit()
    assert limits == raised
