"""Connections: deadlines, idle ones, and how they end."""

import logging
import socket
from typing import Any

import pytest

from tests.contract import assert_problem
from tests.live import serving
from tests.server.conftest import Echo, Gate, Timed, timed
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

DEADLINE = 30.0  # seconds for a request to arrive whole
IDLE = 120.0  # seconds without a byte
LINGER = 2.0  # seconds that a rejected client may send on
REST = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
BIG = 6 * 1024 * 1024  # more than the kernel takes


@pytest.mark.parametrize("opening", [b"", post("Content-Length: 200")], ids=["head", "body"])
def test_a_request_that_trickles_is_closed_at_its_deadline(stopped: Timed, opening: bytes) -> None:
    with Connection(stopped.port) as client:
        client.send(opening + b"G")
        for _ in range(3):
            stopped.advance(DEADLINE / 3)
            assert client.is_silent()
            client.send(b"G")
        stopped.advance(1)
        assert client.closed()


def test_an_idle_connection_outlives_the_deadline(stopped: Timed) -> None:
    with Connection(stopped.port) as silent, Connection(stopped.port) as kept:
        kept.send(b"GET /1")
        stopped.settle()
        kept.send(REST)
        assert kept.reply().status_code == 200
        stopped.advance(IDLE)
        for client in (silent, kept):
            client.send(b"GET /2")
        stopped.advance(DEADLINE)  # which begins with the request
        for client in (silent, kept):
            client.send(REST)
            assert client.reply().json["path"] == "/2"
        stopped.advance(IDLE)
        assert silent.is_silent()
        stopped.advance(1)
        assert silent.closed()
        assert kept.closed()


def test_no_limit_of_time_is_for_the_response(echo: Echo, gate: Gate) -> None:
    with timed(echo.app, threads=2) as server, Connection(server.port) as slow:
        slow.send(get("/gate"))
        assert gate.entered.acquire(timeout=10)
        server.advance(10 * IDLE)
        gate.open.set()
        assert slow.reply().data == b"late"
        server.advance(IDLE)
        slow.send(get("/idle"))
        assert slow.reply().json["path"] == "/idle"


def test_a_client_that_does_not_read_is_closed_when_it_is_idle() -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        body = b"x" * (BIG if environ["PATH_INFO"] == "/big" else 1)
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    with timed(app) as server, Connection(server.port) as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
        client.send(get("/big"))
        client.until(b"\r\n\r\n")
        for _ in range(2):
            server.advance(IDLE)
            client.exactly(BIG // 3)
        server.advance(IDLE + 1)
        received = 0
        while data := client.more():
            received += len(data)
        assert received < BIG // 3


def test_a_rejected_client_may_send_on_for_a_moment(stopped: Timed) -> None:
    with Connection(stopped.port) as client:
        client.send(get(version="9.9"))
        assert_problem(client.reply(), 400, "malformed_request")
        assert client.more() == b""
        for _ in range(2):
            stopped.advance(LINGER / 2)
            client.send(b"x" * 1024 * 1024)
        stopped.advance(1)
        with pytest.raises(ConnectionError):
            client.sock.sendall(b"x" * 64 * 1024 * 1024)  # more than the kernel takes


def test_a_client_that_disconnects_is_not_logged(
    echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(echo.app, threads=1) as port:
        with Connection(port) as client:
            client.send(get(f"/until-gone/{SECRET}", "Host: localhost", AUTHORIZATION))
            client.until(b"first")
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        echo.gate.open.set()
    assert not [record for record in caplog.records if record.name != "waitress.queue"]
