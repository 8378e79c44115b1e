"""Addresses to listen on."""

import socket
from collections.abc import Callable

import pytest

from server import create_server
from tests.server.conftest import Gate, make_app
from tests.wire import Connection, get


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


def test_the_error_for_a_taken_port_is_one_line(port: int) -> None:
    with pytest.raises(OSError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(make_app(Gate()), "127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70, "192.0.2.1", "a..b"])
def test_the_error_for_an_unusable_host_is_one_line(host: str) -> None:
    with pytest.raises(OSError, match=r"^(cannot listen on|no address is known for) \S+"):
        create_server(make_app(Gate()), host, 0)


@pytest.mark.parametrize("number", [-1, 65536, 99999])
def test_a_port_out_of_range_is_an_error(number: int) -> None:
    with pytest.raises(ValueError, match=f"^port {number} is not between 0 and 65535$"):
        create_server(make_app(Gate()), "127.0.0.1", number)
