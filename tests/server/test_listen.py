"""Addresses to listen on."""

import socket
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from server import ListenError, create_server
from tests.contract import assert_problem
from tests.live import serving
from tests.raw import get
from tests.server.conftest import Echo
from tests.wire import Connection

pytestmark = pytest.mark.process


def ipv6() -> list[str]:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return []
    return ["::1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", *ipv6()])
def test_it_listens_on_loopback_by_any_name(serve: Callable[..., int], host: str) -> None:
    with Connection(serve(host=host), host) as client:
        client.send(get())
        assert client.reply().json["path"] == "/"


def test_many_clients_may_connect_before_the_first_is_accepted(echo: Echo) -> None:
    with closing(create_server(echo.app, "127.0.0.1", 0)) as server, ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(Connection(server.effective_port))


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
    with Connection(server.effective_port, "127.0.0.1"):
        server.close()


def test_the_error_for_a_taken_port_is_one_line(port: int, echo: Echo) -> None:
    with pytest.raises(OSError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(echo.app, "127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70, "192.0.2.1", "a..b"])
def test_the_error_for_an_unusable_host_is_one_line(echo: Echo, host: str) -> None:
    with pytest.raises(OSError, match=r"^(cannot listen on|no address is known for) \S+"):
        create_server(echo.app, host, 0)


@pytest.mark.parametrize("number", [-1, 65536, 99999])
def test_a_port_out_of_range_is_an_error(echo: Echo, number: int) -> None:
    with pytest.raises(ValueError, match=f"^port {number} is not between 0 and 65535$"):
        create_server(echo.app, "127.0.0.1", number)


IPV6_SPELLINGS = ["0:0:0:0:0:0:0:1", "0:0::1"] if ipv6() else []


@pytest.mark.parametrize("host", ["127.1", "0x7F.1", "2130706433", *IPV6_SPELLINGS])
def test_the_host_that_is_listened_on_is_trusted_as_it_was_given(echo: Echo, host: str) -> None:
    name = f"[{host}]" if ":" in host else host
    address = "::1" if ":" in host else "127.0.0.1"
    with serving(echo.app, host, threads=1) as port, ExitStack() as stack:
        dotted = [] if ":" in host else [f"{name}.", f"{name}.:80"]
        for trusted in (name, name.lower(), name.upper(), f"{name}:{port}", *dotted):
            client = stack.enter_context(Connection(port, address))
            client.send(get("/", f"Host: {trusted}"))
            assert client.reply().status_code == 200
        client = stack.enter_context(Connection(port, address))
        client.send(get("/", "Host: evil.example"))
        assert_problem(client.reply(), 400, "host_not_allowed")


def test_an_error_of_listening_is_a_class_of_its_own(port: int, echo: Echo) -> None:
    with pytest.raises(ListenError):
        create_server(echo.app, "127.0.0.1", port)
