"""Connections: deadlines, idle ones, and how they end."""

import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.contract import assert_problem
from tests.server.conftest import AUTHORIZATION, Gate, make_app, serving
from tests.wire import SECRET, Connection, get, post

MIB = 1024 * 1024


def trickle(client: Connection, data: bytes) -> float:
    """Send a byte ten times a second until the server closes; return the seconds that took."""
    started = time.monotonic()
    client.sock.settimeout(0.1)
    for byte in data:
        try:
            client.send(bytes([byte]))
            if client.closed():
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("opening", "data"),
    [
        (b"", get("/" + "x" * 200)),
        (b"", b"\r\n" * 200),
        (post("Content-Length: 200"), b"x" * 200),
        (post("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 50),
        (post("Transfer-Encoding: chunked", body=b"0\r\n"), b"A: b\r\n" * 50),
    ],
    ids=["head", "empty lines", "body", "chunks", "trailer"],
)
def test_a_request_that_trickles_is_closed_at_its_deadline(
    serve: Callable[..., int], opening: bytes, data: bytes
) -> None:
    with Connection(serve(deadline=0.5)) as client:
        client.send(opening)
        assert 0.4 < trickle(client, data) < 2.5


def test_an_idle_connection_outlives_the_deadline(serve: Callable[..., int]) -> None:
    port = serve(deadline=0.3)
    with Connection(port) as silent, Connection(port) as kept, Connection(port) as trickler:
        kept.send(get("/1"))
        assert kept.reply().status_code == 200
        assert trickle(trickler, b"GET /" + b"x" * 100) > 0.2
        for client in (silent, kept):
            client.send(get("/2"))
            assert client.reply().json["path"] == "/2"


def test_the_deadline_does_not_limit_the_response(serve: Callable[..., int], gate: Gate) -> None:
    port = serve(deadline=2)
    with Connection(port) as slow, Connection(port) as trickler:
        slow.send(get("/gate") + get("/next") + b"GET /las")
        assert gate.entered.acquire(timeout=10)
        assert trickle(trickler, b"GET /" + b"x" * 100) > 1.9
        gate.open.set()
        assert slow.reply().data == b"late"
        assert slow.reply().json["path"] == "/next"
        slow.sock.settimeout(1.0)
        with pytest.raises(TimeoutError):
            slow.more()
        slow.send(b"t HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.reply().json["path"] == "/last"


@pytest.mark.parametrize("chunks", [False, True])
def test_a_client_that_sends_too_much_can_read_the_response(port: int, chunks: bool) -> None:
    framing = "Transfer-Encoding: chunked" if chunks else f"Content-Length: {2 * MIB}"
    body = (b"%x\r\n" % (2 * MIB) if chunks else b"") + 2 * MIB * b"x"
    with Connection(port) as client:
        client.send(post(framing, body=body))
        client.assert_rejected(413, "body_too_large")


def test_a_rejected_client_may_send_on_for_a_moment(port: int) -> None:
    with Connection(port) as client:
        client.send(get(version="9.9"))
        assert_problem(client.reply(), 400, "malformed_request")
        started = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < started + 10:
                client.send(b"x" * 1024)
        assert 1 < time.monotonic() - started < 4


def test_a_half_closed_connection_gets_its_response(port: int, gate: Gate) -> None:
    with Connection(port) as client:
        client.send(get("/gate"))
        client.sock.shutdown(socket.SHUT_WR)
        gate.entered.acquire()
        gate.open.set()
        assert client.reply().data == b"late"


def test_a_client_that_disconnects_is_not_logged(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(make_app(gate)) as port:
        with Connection(port) as client:
            client.send(get(f"/until-gone/{SECRET}", "Host: localhost", AUTHORIZATION))
            client.until(b"first")
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gate.open.set()
    assert not caplog.records


def test_urgent_data_closes_the_connection_and_is_not_logged(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Connection(port) as client:
        client.sock.send(b"x", socket.MSG_OOB)
        assert client.closed()
    assert not caplog.records


def test_a_jump_of_the_wall_clock_closes_no_idle_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall_clock = time.time
    with serving(make_app(Gate()), deadline=0.1) as port, Connection(port) as idle:
        idle.send(get())
        assert idle.reply().status_code == 200
        monkeypatch.setattr(time, "time", lambda: wall_clock() + 10 * 3600)
        with Connection(port) as late:
            late.send(b"GET /")
            assert late.closed()  # the overdue connections have been closed by now
        idle.send(get())
        assert idle.reply().status_code == 200
