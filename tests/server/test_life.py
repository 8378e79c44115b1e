"""What the app may do to a connection, what fails, and the end of the server."""

import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from flask import Flask

from server import Server, ServerOptions, create_server, serve
from tests.conftest import ROOT, eventually
from tests.live import running
from tests.program import Process, process, process_state, run
from tests.server.conftest import Echo
from tests.wire import AUTHORIZATION, SECRET, Connection, Reply, get, post

pytestmark = pytest.mark.process

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def test_a_request_that_waits_on_purpose_leaves_its_thread_to_others(
    server: Server, echo: Echo
) -> None:
    with Connection(server.effective_port) as waiting, Connection(server.effective_port) as other:
        waiting.send(get("/on-purpose"))
        assert echo.entered.acquire(timeout=10)
        other.send(get("/1"))
        assert other.reply().json["path"] == "/1"
    eventually(lambda: len(server.dispatcher.threads) == 1)  # it sees that the client is gone


def test_a_thread_that_cannot_be_started_is_not_counted(server: Server) -> None:
    known = len(server.dispatcher.threads)
    previous = threading.stack_size(1 << 46)
    try:
        with server.waiting():
            assert len(server.dispatcher.threads) == known
    finally:
        threading.stack_size(previous)
    assert server.thread_count == known


def test_an_end_waits_for_no_thread_that_is_being_started() -> None:
    with running(Flask("app")) as server:
        with server.dispatcher.lock:  # as the main thread has it when a signal comes
            starting = threading.Thread(target=server.add_threads, args=[1])
            starting.start()
            eventually(server.threads_lock.locked)
            stopping = threading.Thread(target=server.stop, daemon=True)
            stopping.start()
            stopping.join(10)
            assert not stopping.is_alive()
        starting.join()


def test_the_app_can_end_the_connection_after_its_response_or_without_one(port: int) -> None:
    with Connection(port) as client:
        client.send(get("/cut") + get())
        assert b"\r\nConnection: close\r\n" in client.until(b"\r\n\r\n")
        assert client.exactly(4) == b"last"
        assert client.closed()
    with Connection(port) as client:
        client.send(get("/drop") + get())
        assert client.closed()


def served(app: Any, ask: Callable[[int], None], **options: Any) -> None:
    """Serve in this thread, as the program does, while another one asks."""

    def follow(port: int, stop: Callable[[], None]) -> None:
        def ask_and_stop() -> None:
            try:
                ask(port)
            finally:
                stop()

        threading.Thread(target=ask_and_stop).start()

    with process_state():
        serve(app, "127.0.0.1", 0, ServerOptions(on_listening=follow, **options))


def test_of_a_failure_the_place_is_logged_and_nothing_that_was_sent(
    echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def ask(port: int) -> None:
        with Connection(port) as client:
            client.send(get(f"/boom?{SECRET}", "Host: localhost", AUTHORIZATION))
            assert client.reply().status_code == 500
        with Connection(port) as client:
            client.send(get("/cut"))
            client.until(b"last")
        with Connection(port) as client:  # it leaves before its response
            client.send(get(f"/{SECRET}", "Host: localhost", AUTHORIZATION))
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    served(echo.app, ask)
    assert [record.name for record in caplog.records] == ["waitress"]
    assert "failed: FileNotFoundError" in caplog.text
    assert "in boom" in caplog.text
    assert SECRET not in caplog.text


def test_a_stop_after_the_end_writes_to_no_other_file(echo: Echo) -> None:
    server = create_server(echo.app, "127.0.0.1", 0)
    server.close()
    files = [os.memfd_create("other") for _ in range(8)]  # with the descriptors of the server
    server.stop()
    assert [os.fstat(each).st_size for each in files] == [0] * 8
    for each in files:
        os.close(each)


# The end


def path_of(reply: Reply) -> str:
    return "/gate" if reply.data == b"late" else reply.json["path"]


def until_it_drains(server: Server) -> None:
    """Stop the server, and wait until it drains, which closes an idle connection."""
    with Connection(server.effective_port) as idle:
        idle.send(get("/settle"))
        idle.reply()
        server.stop()
        assert idle.closed()
    with pytest.raises(ConnectionRefusedError):
        Connection(server.effective_port)


def test_every_pipelined_request_gets_its_response_and_the_last_one_closes(echo: Echo) -> None:
    with running(echo.app) as server, Connection(server.effective_port) as client:
        client.send(get("/gate") + b"".join(get(f"/{n}") for n in range(100)) + b"GET /half")
        assert echo.entered.acquire(timeout=10)
        until_it_drains(server)
        echo.gate.set()
        replies = [client.reply() for _ in range(101)]
        assert client.closed()
    assert [path_of(reply) for reply in replies] == ["/gate", *(f"/{n}" for n in range(100))]
    closes = [reply.headers.get("Connection") == "close" for reply in replies]
    assert closes == [False] * 100 + [True]


def test_a_request_whose_body_arrives_after_the_signal_is_served(echo: Echo) -> None:
    with running(echo.app) as server, Connection(server.effective_port) as client:
        client.send(post("Content-Length: 5", body=b"he"))
        until_it_drains(server)
        client.send(b"llo" + get("/too-late"))
        reply = client.reply()
        assert (reply.json["body"], reply.headers["Connection"]) == ("hello", "close")
        assert client.closed()


def test_requests_that_the_kernel_has_received_get_their_responses(echo: Echo) -> None:
    server = create_server(echo.app, "127.0.0.1", 0)
    with closing(server), Connection(server.effective_port) as client:
        client.send(get("/1") + get("/2"))
        server.stop()
        server.run()
        assert [path_of(client.reply()) for _ in range(2)] == ["/1", "/2"]
        assert client.closed()


def test_the_end_waits_for_the_grace_at_most(echo: Echo) -> None:
    with (
        running(echo.app, grace=0.2) as server,
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


def test_a_wait_on_purpose_ends_with_the_server(server: Server, echo: Echo) -> None:
    with Connection(server.effective_port) as client:
        client.send(get("/on-purpose"))
        assert echo.entered.acquire(timeout=10)
        server.stop()
        assert client.reply().data == b"gone"


# Its app writes "running" to stdout, and waits for the end of stdin.
PROGRAM = """
import os, sys
from server import ServerOptions, serve

def app(environ, start_response):
    os.write(1, b"running\\n")
    sys.stdin.read()
    start_response("200 OK", [("Content-Length", "4")])
    return [b"late"]

def listening(port, stop):
    os.write(1, b"%d\\n" % port)

serve(app, "127.0.0.1", 0, ServerOptions(threads=1, grace=600, on_listening=listening))
os.write(1, b"returned\\n")
"""


@contextmanager
def stopping(number: signal.Signals) -> Iterator[tuple[Process, Connection]]:
    """A process whose request runs when a signal comes, and its client."""
    more: dict[str, Any] = {"env": {"PYTHONPATH": str(ROOT)}, "stdin": subprocess.PIPE}
    with process("-c", PROGRAM, **more) as program:
        port = int(program.stdout.readline())
        with Connection(port) as client, Connection(port) as idle:
            client.send(get())
            assert program.stdout.readline() == "running\n"
            program.send_signal(number)
            assert idle.closed()
            yield program, client


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_after_a_signal_the_request_that_runs_gets_its_response(number: signal.Signals) -> None:
    with stopping(number) as (program, client):
        assert program.stdin
        program.stdin.close()
        assert client.reply().data == b"late"
        assert client.closed()
        program.stdin = None
        assert program.communicate(timeout=30) == ("returned\n", "")
        assert program.returncode == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with stopping(signal.SIGTERM) as (program, _):
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == -signal.SIGINT


def test_the_process_gets_its_signals_back() -> None:
    before = [signal.getsignal(number) for number in STOPS]
    assert run("--quiet").status == 0
    assert [signal.getsignal(number) for number in STOPS] == before
