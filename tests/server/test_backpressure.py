"""Requests that wait: for a thread, behind long bodies, and for clients that do not read."""

import socket
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import pytest

from tests.live import serving
from tests.raw import get
from tests.server.conftest import Gate, timed
from tests.wire import Connection

pytestmark = pytest.mark.process

THREADS = 16  # by default
LONG = 64 * 1024 + 1  # bytes of the body of a control request that waits for others like it
MIB = 1024 * 1024
BIG = 6 * MIB  # more than the kernel takes, and than a connection may have unread beside that


@pytest.fixture(autouse=True)
def _one_mib_may_be_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of 16 would copy a hundred."""
    monkeypatch.setattr("server.loop.MAX_UNREAD", MIB)


def test_slow_requests_block_neither_the_next_nor_control_routes(port: int, gate: Gate) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Connection(port)) for _ in range(THREADS)]
        for number, client in enumerate(slow):
            if number == THREADS - 1:
                client.send(get())
                assert client.reply().status_code == 200
            client.send(get("/gate"))
            assert gate.entered.acquire(timeout=10)
        control = stack.enter_context(Connection(port))
        control.send(get("/control/1") + get("/gate") + get("/control/2"))
        assert control.reply().json["path"] == "/control/1"
        gate.open.set()
        assert control.reply().data == b"late"
        assert control.reply().json["path"] == "/control/2"
        assert all(client.reply().data == b"late" for client in slow)


@pytest.mark.parametrize("length", [0, LONG])
def test_a_slow_control_request_does_not_block_the_next(length: int) -> None:
    """Of those with a long body any number."""
    entered, gate = threading.Semaphore(0), threading.Event()

    def app(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/control/slow":
            entered.release()
            gate.wait(60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    sent = get("/control/slow", "Host: localhost", f"Content-Length: {length}") + length * b"x"
    with ExitStack() as stack:
        port = stack.enter_context(serving(app, threads=1, control_prefix="/control/"))
        stack.callback(gate.set)
        for _ in range(4 if length else 1):
            stack.enter_context(Connection(port)).send(sent)
        assert entered.acquire(timeout=10)
        quick = stack.enter_context(Connection(port))
        for _ in range(100):
            quick.send(get("/control/quick"))
            assert quick.reply().status_code == 200


class BigApp:
    """Responds to /big/<letter> with that letter again and again, in so many pieces."""

    def __init__(self, pieces: int = 1) -> None:
        self.served = threading.Semaphore(0)
        self.pieces = pieces

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        letter = environ["PATH_INFO"][-1]
        is_big = environ["PATH_INFO"].startswith("/big/")
        length, pieces = (BIG, self.pieces) if is_big else (1, 1)
        start_response("200 OK", [("Content-Length", str(length))])
        if is_big:
            self.served.release()
        return (letter.encode() * (length // pieces) for _ in range(pieces))


def reader(port: int, letters: str) -> Connection:
    """A client that gets each of these, and for which the kernel keeps little."""
    client = Connection(port)
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
    client.send(b"".join(get(f"/big/{letter}") for letter in letters))
    return client


def read_each(client: Connection, letters: str) -> list[bytes]:
    """The heads of the responses, which are whole and in order."""
    heads = []
    with client.sock.makefile("rb") as stream:
        for letter in letters:
            heads.append(b"".join(iter(stream.readline, b"\r\n")))
            assert stream.read(BIG) == BIG * letter.encode()
    return heads


@pytest.mark.parametrize("pieces", [1, 32])
def test_clients_that_do_not_read_hold_no_thread(pieces: int) -> None:
    app = BigApp(pieces)
    with serving(app, threads=2) as port, ExitStack() as stack:
        clients = []
        for _ in range(3):
            clients.append(stack.enter_context(reader(port, "abc")))
            assert app.served.acquire(timeout=10)
        other = stack.enter_context(Connection(port))
        for _ in range(100):
            other.send(get("/small/x"))
            assert other.reply().data == b"x"
        for client in clients:
            read_each(client, "abc")


def test_a_client_that_never_reads_is_closed_with_its_waiting_requests() -> None:
    app = BigApp()
    with timed(app) as server, reader(server.port, "abcd") as client:
        assert app.served.acquire(timeout=10)
        server.advance(120)
        assert server.serves(client)
        server.advance(1)
        assert not server.serves(client)
        received = 0
        while data := client.sock.recv(MIB):
            received += len(data)
        assert received < BIG
    assert not app.served.acquire(blocking=False)


def test_a_client_that_reads_slowly_is_not_closed() -> None:
    app = BigApp()
    with timed(app) as server, reader(server.port, "ab") as client:
        assert app.served.acquire(timeout=10)
        for _ in range(3):
            server.advance(120)
            client.exactly(BIG // 4)
        assert client.exactly(BIG // 4)


def test_the_drain_serves_the_requests_that_wait_for_their_client() -> None:
    app = BigApp()
    with timed(app) as server, reader(server.port, "abcd") as client:
        assert app.served.acquire(timeout=10)
        server.until_it_drains()
        heads = read_each(client, "abcd")
        assert client.closed()
    assert [b"Connection: close" in head for head in heads] == [False, False, False, True]
