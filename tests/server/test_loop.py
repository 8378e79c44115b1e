"""The life of a server in a thread: its threads, many connections, its wake-ups, and the drain."""

import os
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from server import Server, create_server
from server.connection import Connection as ServerConnection
from tests.live import running, serving
from tests.server.conftest import Echo, timed
from tests.wire import SECRET, Connection, Reply, get, post

pytestmark = pytest.mark.process

THREADS = 16  # by default


def test_slow_requests_block_neither_the_next_nor_control_routes(port: int, echo: Echo) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Connection(port)) for _ in range(THREADS)]
        for number, client in enumerate(slow):
            if number == THREADS - 1:
                client.send(get())
                assert client.reply().status_code == 200
            client.send(get("/gate"))
            assert echo.entered.acquire(timeout=10)
        control = stack.enter_context(Connection(port))
        control.send(get("/control/1") + get("/gate") + get("/control/2"))
        assert control.reply().json["path"] == "/control/1"
        echo.gate.set()
        assert control.reply().data == b"late"
        assert control.reply().json["path"] == "/control/2"
        assert all(client.reply().data == b"late" for client in slow)


@pytest.fixture
def descriptors_above_1023() -> Iterator[None]:
    """What is opened gets a descriptor that select() does not take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    null = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while null[-1] < 1024:
            null.append(os.dup(null[0]))
        yield
    finally:
        for each in null:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_clients_beyond_the_limit_wait_until_others_leave(
    descriptors_above_1023: None, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        with monkeypatch.context() as patched:
            patched.setattr(resource, "getrlimit", lambda kind: (20, 20))  # 10 descriptors
            port = stack.enter_context(serving(echo.app, threads=1))
        clients = [stack.enter_context(Connection(port)) for _ in range(12)]
        for client in clients:
            client.send(get())
        for client in clients[:8]:
            assert client.reply().status_code == 200
        for _ in range(20):
            clients[0].send(get())
            assert clients[0].reply().status_code == 200
        assert all(client.is_silent() for client in clients[8:])
        for client in clients[:4]:
            client.sock.close()
        for client in clients[8:]:
            assert client.reply().status_code == 200


@pytest.fixture
def no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop waits for half a minute, rather than half a second, if nothing wakes it."""
    monkeypatch.setattr("server.loop.TICK", 30.0)


def test_responses_wait_for_no_tick(no_tick: None, echo: Echo) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(serving(echo.app, threads=6))
        clients = [stack.enter_context(Connection(port)) for _ in range(8)]
        for _ in range(4):
            for client in clients:
                client.send(get())
            assert all(client.reply().status_code == 200 for client in clients)


def test_no_wake_up_is_written_to_another_file_when_the_server_has_closed(echo: Echo) -> None:
    server = create_server(echo.app, "127.0.0.1", 0)
    server.close()
    files = [os.memfd_create("other") for _ in range(8)]  # with the descriptors of the server
    server.stop()
    assert [os.fstat(each).st_size for each in files] == [0] * 8
    for each in files:
        os.close(each)


class FailsToRead(ServerConnection):
    def received(self, data: bytes) -> bool:
        raise ValueError(SECRET)


def fails_to_accept(server: Server, sock: socket.socket, *args: Any, **options: Any) -> None:
    sock.close()
    raise ValueError(SECRET)


def test_a_failure_of_a_connection_is_logged_without_its_message_and_ends_no_other(
    echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    with running(echo.app, threads=1) as server:
        for channel in (fails_to_accept, FailsToRead, Server.channel_class):
            server.channel_class = channel
            with Connection(server.effective_port) as client:
                client.send(get())
                if channel is Server.channel_class:
                    assert client.reply().status_code == 200
                else:
                    assert client.closed()
    for what in ("a connection could not be accepted", "a connection failed"):
        assert f"{what}: ValueError" in caplog.text
    assert SECRET not in caplog.text


def test_clients_that_do_not_read_hold_no_thread() -> None:
    big = 32 * 2**20 * b"x"  # more than the kernel takes and waitress lets a thread add to

    def app(environ: Any, start_response: Any) -> list[bytes]:
        body = big if environ["PATH_INFO"] == "/big" else b"x"
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    with serving(app, threads=1) as port, Connection(port) as client, Connection(port) as other:
        client.send(2 * get("/big"))
        for _ in range(20):
            other.send(get())
            assert other.reply().data == b"x"
        assert len(client.sock.makefile("rb").read(2 * len(big))) == 2 * len(big)


# The drain


def path_of(reply: Reply) -> str:
    return "/gate" if reply.data == b"late" else reply.json["path"]


def test_every_pipelined_request_gets_its_response_and_the_last_one_closes(echo: Echo) -> None:
    with timed(echo.app) as server, Connection(server.port) as client:
        client.send(get("/gate") + b"".join(get(f"/{n}") for n in range(100)) + b"GET /half")
        assert echo.entered.acquire(timeout=10)
        server.until_it_drains()
        echo.gate.set()
        replies = [client.reply() for _ in range(101)]
        assert client.closed()
    assert [path_of(reply) for reply in replies] == ["/gate", *(f"/{n}" for n in range(100))]
    closes = [reply.headers.get("Connection") == "close" for reply in replies]
    assert closes == [False] * 100 + [True]


@pytest.mark.parametrize("first", [b"", get("/gate")])
def test_a_request_whose_body_arrives_after_the_signal_is_served(echo: Echo, first: bytes) -> None:
    with timed(echo.app, threads=2) as server, Connection(server.port) as client:
        client.send(first + post("Content-Length: 5", body=b"he"))
        server.settle()
        server.until_it_drains()
        echo.gate.set()
        if first:
            assert client.reply().data == b"late"
        client.send(b"llo" + get("/too-late"))
        reply = client.reply()
        assert (reply.json["body"], reply.headers["Connection"]) == ("hello", "close")
        assert client.closed()


def test_requests_that_the_kernel_has_received_get_their_responses(echo: Echo) -> None:
    server = create_server(echo.app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    with closing(server):
        with ExitStack() as stack:
            port = server.effective_port
            clients = [stack.enter_context(Connection(port)) for _ in range(5)]
            for client in clients:
                client.send(get("/one") + get("/two"))
            server.stop()
            thread.start()
            for client in clients:
                assert [path_of(client.reply()) for _ in range(2)] == ["/one", "/two"]
                assert client.closed()
        thread.join()


@pytest.mark.parametrize("sent", [b"", get()[:-1], get()])
def test_without_current_requests_it_stops_at_once(no_tick: None, echo: Echo, sent: bytes) -> None:
    with timed(echo.app, grace=100) as server, Connection(server.port) as client:
        client.send(sent)
        if sent == get():
            assert path_of(client.reply()) == "/"
        server.settle()
        server.server.stop()
        assert client.closed()


@pytest.mark.parametrize("sent", [get("/gate"), post("Content-Length: 5", body=b"he")])
def test_the_drain_ends_when_the_grace_is_over(echo: Echo, sent: bytes) -> None:
    with timed(echo.app, threads=2) as server, Connection(server.port) as client:
        client.send(sent)
        server.settle()
        server.until_it_drains()
        server.now += 9.9
        server.wake()
        assert client.is_silent()
        server.now += 0.1
        server.server.pull_trigger()
        assert client.closed()
        echo.gate.set()
