"""Requests that wait: behind long bodies, and behind responses that their client does not read."""

import socket
import tempfile
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.live import serving
from tests.raw import SECRET, get
from tests.server.timed import Timed, timed
from tests.wire import Connection

pytestmark = pytest.mark.process

LONG = 64 * 1024 + 1
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (LONG, LONG * b"x")


def test_long_bodies_hold_no_short_control_request() -> None:
    entered, gate = threading.Semaphore(0), threading.Event()

    def app(environ: Any, start_response: Any) -> list[bytes]:
        if int(environ.get("CONTENT_LENGTH", 0)) >= LONG:
            entered.release()
            gate.wait(60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    head = "/control/reset", "Host: localhost"
    sized = get(*head, f"Content-Length: {LONG}", method="POST") + LONG * b"x"
    chunked = get(*head, "Transfer-Encoding: chunked", method="POST") + CHUNKS
    with serving(app, control_prefix="/control/") as port, ExitStack() as stack:
        stack.callback(gate.set)
        clients = [stack.enter_context(Connection(port)) for _ in range(4)]
        for client, sent in zip(clients, [sized, chunked, chunked, sized], strict=True):
            client.send(sent)
        assert entered.acquire(timeout=10)
        control = stack.enter_context(Connection(port))
        for _ in range(100):
            control.send(get("/control/health"))
            assert control.reply().status_code == 200
        gate.set()
        assert [client.reply().status_code for client in clients] == [200] * 4


MIB = 1024 * 1024
BIG = 6 * MIB  # more than the kernel takes, and than a connection may have unread beside that


@pytest.fixture(autouse=True)
def _one_mib_may_be_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of 16 would copy a hundred."""
    monkeypatch.setattr("server.loop.MAX_UNREAD", MIB)


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


def reader(port: int) -> Connection:
    """A client for which the kernel keeps little that it has not read."""
    client = Connection(port)
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
    return client


def get_each(letters: str) -> bytes:
    return b"".join(get(f"/big/{letter}") for letter in letters)


def read_big(stream: BinaryIO, letter: str) -> bytes:
    """The head of a response to `get_each()`, the body of which is whole."""
    head = b"".join(iter(stream.readline, b"\r\n"))
    assert stream.read(BIG) == BIG * letter.encode()
    return head


def read_each(client: Connection, letters: str) -> list[bytes]:
    """The heads of the responses to `get_each()`, which are whole and in order."""
    with client.sock.makefile("rb") as stream:
        return [read_big(stream, letter) for letter in letters]


@pytest.mark.parametrize("pieces", [1, 32])
def test_clients_that_do_not_read_hold_no_thread(pieces: int) -> None:
    app = BigApp(pieces)
    with serving(app, threads=2) as port, ExitStack() as stack:
        clients = [stack.enter_context(reader(port)) for _ in range(3)]
        for client in clients:
            client.send(get_each("abc"))
            assert app.served.acquire(timeout=10)
        other = stack.enter_context(Connection(port))
        for _ in range(100):
            other.send(get("/small/x"))
            assert other.reply().data == b"x"
        for client in clients:
            read_each(client, "abc")


class SlowMark(int):
    """A limit; to see that it is exceeded takes until `passed`, or a while."""

    def __new__(cls, value: int) -> "SlowMark":
        mark = super().__new__(cls, value)
        mark.passed = threading.Event()
        return mark

    passed: threading.Event

    def __lt__(self, unread: int) -> bool:
        is_exceeded = int(self) < unread
        if is_exceeded:
            self.passed.wait(0.5)
        return is_exceeded


def test_a_request_that_is_to_wait_while_its_client_reads_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = SlowMark(MIB)
    monkeypatch.setattr("server.loop.MAX_UNREAD", mark)
    app = BigApp()
    with (
        serving(app, threads=2) as port,
        reader(port) as client,
        Connection(port) as other,
        client.sock.makefile("rb") as stream,
    ):
        client.send(get_each("ab"))
        read_big(stream, "a")
        other.send(get("/small/x"))  # served when the loop has done with the first response
        assert other.reply().data == b"x"
        mark.passed.set()
        read_big(stream, "b")


@pytest.fixture
def _no_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))


@pytest.mark.usefixtures("_no_disk")
def test_a_response_that_waits_for_its_client_is_not_on_the_disk() -> None:
    with serving(BigApp(), threads=1) as port, reader(port) as client:
        client.send(get_each("a"))
        read_each(client, "a")


@pytest.mark.usefixtures("_no_disk")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_long_body_is_not_on_the_disk(chunked: bool) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Length", "7")])
        return [b"%07d" % len(body)]

    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {BIG}"
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (BIG, BIG * b"x") if chunked else BIG * b"x"
    with serving(app, control_prefix="/control/") as port, Connection(port) as client:
        client.send(get("/control/reset", "Host: localhost", framing, method="POST") + body)
        assert client.reply().data == b"%07d" % BIG


def test_responses_in_pieces_go_on_when_their_client_reads() -> None:
    app = BigApp(pieces=32)
    with serving(app, threads=1) as port, reader(port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        read_each(client, "abcd")


def test_a_client_that_never_reads_is_closed_with_its_waiting_requests() -> None:
    app = BigApp()
    with timed(app) as server, reader(server.port) as client:
        client.send(get_each("abcd"))
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
    with timed(app) as server, reader(server.port) as client:
        client.send(get_each("ab"))
        assert app.served.acquire(timeout=10)
        for _ in range(3):
            server.advance(120)
            client.exactly(BIG // 4)
        assert client.exactly(BIG // 4)


def until_it_drains(server: Timed) -> None:
    """Stop the server, and wait until it drains, which closes an idle connection."""
    with Connection(server.port) as idle:
        server.server.stop()
        assert idle.closed()


def test_the_drain_serves_the_requests_that_wait_for_their_client() -> None:
    app = BigApp()
    with timed(app) as server, reader(server.port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        until_it_drains(server)
        heads = read_each(client, "abcd")
        assert client.closed()
    assert [b"Connection: close" in head for head in heads] == [False, False, False, True]


def test_the_drain_does_not_wait_for_a_client_that_never_reads() -> None:
    app = BigApp()
    with timed(app, grace=5) as server, reader(server.port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        until_it_drains(server)
        server.now += 5
        server.server.close()
        assert not server.server.active_channels


def test_a_failure_of_a_thread_is_logged_without_its_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise ValueError(SECRET)

    def app(environ: Any, start_response: Any) -> list[bytes]:
        channel = environ["waitress.client_disconnected"].__self__
        if environ["PATH_INFO"] == "/fail":
            channel.requests[0].close = fail
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with timed(app) as server:
        for _ in range(2):
            with Connection(server.port) as client:
                client.send(get("/fail"))
                server.settle()
                assert client.reply().status_code == 200
                assert client.closed()
    assert "a request failed: ValueError" in caplog.text
    assert SECRET not in caplog.text
