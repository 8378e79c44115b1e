"""What fails in a server, and its end."""

import logging
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from server import ServerOptions, create_server, serve
from tests.conftest import eventually
from tests.program import process_state
from tests.server.conftest import LARGE, Echo, running
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

NO_LINGER = struct.pack("ii", 1, 0)  # a close resets the connection


@pytest.mark.parametrize(("age", "waits"), [(-60, True), (60, False)])
def test_a_client_that_half_closes_right_after_its_request_waits(
    echo: Echo, age: float, waits: bool
) -> None:
    """As `nc -N` does. One that closes later has left."""
    with running(echo) as server, Connection(server.effective_port) as client:
        client.send(get("/gate"))
        assert echo.entered.acquire(timeout=10)
        (connection,) = server.connections
        assert connection.is_open()
        client.sock.shutdown(socket.SHUT_WR)
        connection.last_activity = time.time() - age  # when the request came
        assert connection.is_open() == waits
        connection.last_activity -= 120
        assert connection.is_open() == waits
        echo.gate.set()
        assert client.reply().status_code == 200


def test_a_client_that_half_closed_before_the_first_look_waits(echo: Echo) -> None:
    """A request may have taken long until then, as one to a distant store."""
    with running(echo) as server, Connection(server.effective_port) as client:
        client.send(get("/gate"))
        client.sock.shutdown(socket.SHUT_WR)
        assert echo.entered.acquire(timeout=10)
        (connection,) = server.connections
        connection.last_activity -= 60
        assert connection.is_open()
        echo.gate.set()
        assert client.reply().status_code == 200


def test_a_client_that_resets_its_connection_has_left(echo: Echo) -> None:
    with running(echo) as server:
        with Connection(server.effective_port) as client:
            client.send(get("/while-open"))
            assert echo.entered.acquire(timeout=10)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        assert echo.left.acquire(timeout=10)


def test_a_dropped_response_is_a_closed_connection(echo: Echo) -> None:
    with running(echo) as server, Connection(server.effective_port) as client:
        client.send(get("/drop"))
        assert client.closed()


def until_it_drains(port: int, stop: Callable[[], None]) -> None:
    """Stop the server, and wait until it drains, which closes an idle connection."""
    with Connection(port) as idle:
        idle.send(get())
        idle.reply()
        stop()
        assert idle.closed()
    with pytest.raises(ConnectionRefusedError):
        Connection(port)


def test_what_has_been_received_gets_its_response_and_the_last_one_closes(echo: Echo) -> None:
    paths = ["/gate", *(f"/{number}" for number in range(9))]
    with running(echo) as server, ExitStack() as stack:
        port = server.effective_port
        pipelining, sending, waiting = (stack.enter_context(Connection(port)) for _ in range(3))
        pipelining.send(b"".join(map(get, paths)) + b"GET /half")
        sending.send(post("Content-Length: 5", body=b"he"))
        waiting.send(get("/while-open"))
        for _ in range(2):
            assert echo.entered.acquire(timeout=10)
        until_it_drains(port, server.stop)
        assert waiting.reply().status_code == 200
        sending.send(b"llo" + get("/too-late"))
        reply = sending.reply()
        assert (reply.json["body"], reply.headers["Connection"]) == ("hello", "close")
        assert sending.closed()
        echo.gate.set()
        replies = [pipelining.reply() for _ in paths]
        assert pipelining.closed()
    assert [reply.json["PATH_INFO"] for reply in replies] == paths
    closes = [reply.headers.get("Connection") == "close" for reply in replies]
    assert closes == [False] * 9 + [True]


def test_requests_that_the_kernel_has_received_get_their_responses(echo: Echo) -> None:
    server = create_server(echo, "127.0.0.1", 0, echo.options())
    with closing(server), ExitStack() as stack:
        port = server.effective_port
        clients = [stack.enter_context(Connection(port)) for _ in range(3)]
        for client in clients:
            client.send(get() + get())
        server.stop()
        server.run()
        for client in clients:
            assert [client.reply().status_code for _ in range(2)] == [200, 200]
            assert client.closed()


def test_a_request_behind_one_that_ends_gets_its_response(echo: Echo) -> None:
    """The client sends it when it has a response, which the server has not done with."""
    with running(echo) as server, Connection(server.effective_port) as client:
        client.send(get("/sent"))
        assert client.reply().status_code == 200
        assert echo.entered.acquire(timeout=10)
        client.send(get())
        until_it_drains(server.effective_port, server.stop)
        echo.gate.set()
        reply = client.reply()
        assert (reply.status_code, reply.headers["Connection"]) == (200, "close")
        assert client.closed()


def test_a_response_that_a_client_reads_slowly_arrives_whole(echo: Echo) -> None:
    with running(echo) as server, Connection(server.effective_port) as client:
        client.send(get("/large"))
        eventually(lambda: any(each.total_outbufs_len for each in server.connections))
        (connection,) = server.connections
        eventually(lambda: not connection.requests)
        until_it_drains(server.effective_port, server.stop)
        assert len(client.reply().data) == LARGE


def test_the_end_waits_for_the_grace_at_most(echo: Echo) -> None:
    with (
        running(echo, grace=0.2) as server,
        Connection(server.effective_port) as waiting,
        Connection(server.effective_port) as sending,
    ):
        waiting.send(get("/gate"))
        sending.send(post("Content-Length: 5", body=b"he"))
        assert echo.entered.acquire(timeout=10)
        server.stop()
        assert waiting.closed()
        assert sending.closed()
        echo.gate.set()


def test_a_stop_after_the_end_writes_to_no_other_file(echo: Echo) -> None:
    server = create_server(echo, "127.0.0.1", 0, echo.options())
    server.close()
    files = [os.memfd_create("other") for _ in range(8)]  # with the descriptors of the server
    server.stop()
    assert [os.fstat(each).st_size for each in files] == [0] * 8
    for each in files:
        os.close(each)


def served(app: Any, ask: Callable[[int], None]) -> None:
    """Serve in this thread, as the program does, until another one has asked."""
    asked: list[Future[None]] = []

    def listening(port: int, stop: Callable[[], None]) -> None:
        asked.append(pool.submit(ask, port))
        asked[0].add_done_callback(lambda _: stop())

    with ThreadPoolExecutor() as pool, process_state():
        serve(app, "127.0.0.1", 0, ServerOptions(on_listening=listening))
        asked[0].result()


def test_of_a_failure_the_place_is_logged_and_nothing_that_was_sent(
    echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    def ask(port: int) -> None:
        for path in ("/boom", "/cut"):  # waitress warns of the second
            with Connection(port) as client:
                client.send(get(f"{path}?{SECRET}", "Host: localhost", AUTHORIZATION))
                client.until(b"\r\n\r\n")
        with Connection(port) as client:  # it leaves before its response
            client.send(get(f"/{SECRET}", "Host: localhost", AUTHORIZATION))
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)

    caplog.set_level(logging.DEBUG)
    served(echo, ask)
    assert [record.name for record in caplog.records] == ["waitress"]
    assert "failed: FileNotFoundError" in caplog.text
    assert "in body" in caplog.text
    assert SECRET not in caplog.text


# A signal, and what the process does at SIGHUP, which `nohup` ignores.
SIGNALS = [
    (signal.SIGTERM, signal.SIG_IGN),
    (signal.SIGINT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
]


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number, _ in SIGNALS]


@pytest.mark.parametrize(("number", "hangup"), SIGNALS)
def test_a_signal_ends_it_and_a_second_one_at_once(
    echo: Echo, number: signal.Signals, hangup: signal.Handlers
) -> None:
    def ask(port: int) -> None:
        with Connection(port) as client:
            client.send(get("/gate"))
            assert echo.entered.acquire(timeout=10)
            until_it_drains(port, lambda: os.kill(os.getpid(), number))
            during.extend(handlers())
            echo.gate.set()
            assert client.reply().status_code == 200

    during: list[Any] = []
    previous = signal.signal(signal.SIGHUP, hangup)
    before = handlers()
    served(echo, ask)
    assert during == [signal.SIG_DFL, signal.SIG_DFL, hangup]
    assert handlers() == before
    signal.signal(signal.SIGHUP, previous)
