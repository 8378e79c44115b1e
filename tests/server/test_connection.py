"""Connections: deadlines, idle ones, and how they end."""

import logging
import socket
import time
from typing import Any

import pytest

from tests.conftest import eventually
from tests.contract import assert_problem
from tests.live import serving
from tests.server.conftest import Echo, Timed, timed
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

DEADLINE = 30.0  # seconds for a request to arrive whole
LINGER = 2.0  # seconds that a rejected client may send on
REST = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("opening", [b"", post("Content-Length: 200")], ids=["head", "body"])
def test_a_request_that_trickles_has_a_deadline(stopped: Timed, echo: Echo, opening: bytes) -> None:
    with Connection(stopped.port) as client:
        client.send(opening + b"G")
        for _ in range(3):
            stopped.advance(DEADLINE / 3)
            assert client.is_silent()
            client.send(b"G")
        stopped.advance(1)
        assert client.closed()
    (noted,) = echo.rejections
    assert noted[:2] == (("POST", "/") if opening else ("", ""))
    detail = "it did not arrive whole within 30 seconds"
    assert noted[3:] == (None, "incomplete_request", detail)


@pytest.mark.parametrize(
    ("sent", "noted"),
    [
        *((b"", None), (b"\r\n", None), (get("/x"), None), (b"GE", ("", "", ""))),
        (b"GET /x HTTP/1.1\r\nHo", ("GET", "/x", "")),
        (post("Content-Length: 9") + b"12345678", ("POST", "/", "localhost")),
        (get("/x") + b"GET /y HTTP/1.1\r\n", ("GET", "/y", "")),
    ],
)
def test_a_request_whose_connection_ends_too_early_is_reported(
    stopped: Timed, echo: Echo, sent: bytes, noted: tuple[str, str, str] | None
) -> None:
    with Connection(stopped.port) as client:
        client.send(sent)
        stopped.settle()
    stopped.settle()
    detail = "the connection ended before it had arrived whole"
    expected = [(*noted, None, "incomplete_request", detail)] if noted else []
    assert echo.rejections == expected


def test_a_request_that_the_stop_of_the_server_cuts_off_is_reported(echo: Echo) -> None:
    with (
        timed(echo.app, on_rejected=echo.note_rejection) as server,
        Connection(server.port) as client,
    ):
        client.send(b"GET /x HTTP/1.1\r\nHo")
        server.settle()
        server.until_it_drains()
        assert client.closed()
    (noted,) = echo.rejections
    assert noted.detail == "the server stopped before it had arrived whole"


def test_a_response_that_waits_for_its_client_ends_with_the_server(echo: Echo) -> None:
    seen = []

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        seen.append(environ["server.is_open"]())
        while environ["server.is_open"]():
            time.sleep(0.001)
        return echo.app(environ, start_response)

    with timed(app) as server, Connection(server.port) as client:
        client.send(get("/x"))
        eventually(lambda: seen == [True])
        server.server.stop()
        assert client.reply().status_code == 200


def test_urgent_data_closes_its_connection(port: int) -> None:
    with Connection(port) as client:
        client.sock.send(b"!", socket.MSG_OOB)
        assert client.closed()


def test_an_idle_connection_has_no_deadline_before_its_next_request(stopped: Timed) -> None:
    with Connection(stopped.port) as silent, Connection(stopped.port) as kept:
        kept.send(b"GET /1")
        stopped.settle()
        kept.send(REST)
        assert kept.reply().status_code == 200
        stopped.advance(10 * DEADLINE)
        for client in (silent, kept):
            client.send(b"GET /2")
        stopped.advance(DEADLINE)
        for client in (silent, kept):
            client.send(REST)
            assert client.reply().json["path"] == "/2"


def test_the_deadline_is_not_for_the_response(echo: Echo) -> None:
    with timed(echo.app, threads=2) as server, Connection(server.port) as slow:
        slow.send(get("/gate") + b"GET /half")
        assert echo.entered.acquire(timeout=10)
        server.advance(10 * DEADLINE)
        echo.gate.set()
        assert slow.reply().data == b"late"


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


def test_a_client_that_leaves_is_not_logged(echo: Echo, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(echo.app, threads=1) as port:
        with Connection(port) as client:
            client.send(get(f"/until-gone/{SECRET}", "Host: localhost", AUTHORIZATION))
            client.until(b"first")
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        echo.gate.set()
    assert not [record for record in caplog.records if record.name != "waitress.queue"]
