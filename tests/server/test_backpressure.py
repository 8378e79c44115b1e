"""Requests that wait: behind long bodies, and behind responses that their client does not read."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.server.conftest import running, serving
from tests.wire import SECRET, Connection, get

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


BIG = 18 * 1024 * 1024  # more than a connection may have unread before its next request is served


class BigApp:
    """Responds to /big/<letter> with that letter again and again, in so many pieces."""

    def __init__(self, pieces: int = 1) -> None:
        self.served = threading.Semaphore(0)
        self.pieces = pieces

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        _, kind, letter = environ["PATH_INFO"].split("/")
        length = BIG if kind == "big" else 1
        start_response("200 OK", [("Content-Length", str(length))])
        if kind == "big":
            self.served.release()
        pieces = self.pieces if kind == "big" else 1
        return (letter.encode() * (length // pieces) for _ in range(pieces))


def get_each(letters: str) -> bytes:
    return b"".join(get(f"/big/{letter}") for letter in letters)


def read_each(client: Connection, letters: str) -> list[bytes]:
    """The heads of the responses to `get_each()`, the bodies of which are whole and in order."""
    heads = []
    with client.sock.makefile("rb") as stream:
        for letter in letters:
            heads.append(b"".join(iter(stream.readline, b"\r\n")))
            assert stream.read(BIG) == BIG * letter.encode()
    return heads


def test_clients_that_do_not_read_hold_no_thread() -> None:
    app = BigApp()
    with serving(app, threads=2) as port, ExitStack() as stack:
        clients = [stack.enter_context(Connection(port)) for _ in range(3)]
        for client in clients:
            client.send(get_each("abc"))
            assert app.served.acquire(timeout=10)
        other = stack.enter_context(Connection(port))
        for _ in range(100):
            other.send(get("/small/x"))
            assert other.reply().data == b"x"
        for client in clients:
            read_each(client, "abc")


def test_responses_in_pieces_go_on_when_their_client_reads() -> None:
    app = BigApp(pieces=36)
    with serving(app, threads=1) as port, Connection(port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        read_each(client, "abcd")


def test_an_app_that_responds_in_pieces_waits_for_its_client() -> None:
    piece, pieces = b"x" * 1024 * 1024, 64
    finished = threading.Event()

    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Length", str(pieces * len(piece)))])
        for _ in range(pieces):
            yield piece
        finished.set()

    with serving(app, threads=1) as port, Connection(port) as client:
        client.send(get())
        client.until(b"\r\n\r\n")
        assert not finished.wait(1)
        with client.sock.makefile("rb") as stream:
            rest = pieces * len(piece) - len(client.unread)
            assert len(stream.read(rest)) == rest
        assert finished.wait(10)


def test_a_client_that_never_reads_is_closed_with_its_waiting_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.connection.IDLE", 0.5)
    with (
        running(BigApp(), threads=1) as server,
        Connection(server.effective_port) as client,
        Connection(server.effective_port) as other,
    ):
        client.send(get_each("abcd"))
        give_up = time.monotonic() + 10
        while len(server.active_channels) > 1 and time.monotonic() < give_up:
            other.send(get("/small/x"))
            assert other.reply().data == b"x"
        assert time.monotonic() < give_up


def test_the_drain_serves_the_requests_that_wait_for_their_client() -> None:
    app = BigApp()
    with running(app, threads=1) as server, Connection(server.effective_port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        server.stop()
        heads = read_each(client, "abcd")
        assert client.closed()
    assert [b"Connection: close" in head for head in heads] == [False, False, False, True]


def test_the_drain_does_not_wait_for_a_client_that_never_reads() -> None:
    app = BigApp()
    with running(app, threads=1, grace=0.5) as server, Connection(server.effective_port) as client:
        client.send(get_each("abcd"))
        assert app.served.acquire(timeout=10)
        started = time.monotonic()
        server.close()
        assert time.monotonic() - started < 5


def test_a_failure_of_a_thread_is_logged_without_its_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise ValueError(SECRET)

    def app(environ: Any, start_response: Any) -> list[bytes]:
        channel = environ["waitress.client_disconnected"].__self__
        channel.requests[0].close = fail
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with serving(app, threads=1) as port:
        for _ in range(2):
            with Connection(port) as client:
                client.send(get())
                assert client.reply().status_code == 200
                assert client.closed()
    assert "a request failed: ValueError" in caplog.text
    assert SECRET not in caplog.text
