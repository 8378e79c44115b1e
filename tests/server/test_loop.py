"""The life of a server: many connections, signals, and the drain."""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from server import create_server
from tests.conftest import ROOT, environment
from tests.server.conftest import Gate, make_app, serving
from tests.wire import Connection, get


def test_1100_connections_at_once_are_served_and_released() -> None:
    with serving(make_app(Gate())) as port:
        for _ in range(4):  # together more than there may be at once
            with ExitStack() as stack:
                crowd = [stack.enter_context(Connection(port)) for _ in range(1100)]
                for client in (crowd[0], crowd[-1]):
                    client.send(get())
                    assert client.reply().status_code == 200


def test_closing_is_immediate() -> None:
    started = time.monotonic()
    for _ in range(8):
        with serving(make_app(Gate())) as port, Connection(port) as client:
            client.send(get("/", "Host: localhost", "Connection: close"))
            client.reply()
    assert time.monotonic() - started < 2  # each would take half a second


def test_a_server_can_be_closed_before_and_after_it_runs() -> None:
    server = create_server(make_app(Gate()), "127.0.0.1", 0)
    server.close()
    server.run()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        Connection(server.effective_port)


STOPS = [signal.SIGTERM, signal.SIGINT]
BIG = 4_000_000

# Its app writes "running" to stdout at /gate, and waits there for the end of stdin.
PROGRAM = """
import os, signal, sys, threading
from server import Options, serve

opened = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), opened.set()), daemon=True).start()

def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path.startswith("/gate"):
        os.write(1, b"running\\n")
        opened.wait()
    body = b"x" * 4_000_000 if path == "/gate/big" else path.encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

def listening(port, stop):
    os.write(1, b"%d\\n" % port)
    if "early" in sys.argv:
        signal.raise_signal(signal.SIGTERM)

port, grace = int(sys.argv[1]), float(sys.argv[2])
serve(app, "127.0.0.1", port, Options(threads=2, grace=grace, on_listening=listening))
os.write(1, b"returned\\n")
"""


class Program:
    def __init__(self, port: int = 0, grace: float = 10, *more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(port), str(grace), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.port = int(self.line())

    def line(self) -> bytes:
        assert self.process.stdout
        return self.process.stdout.readline()

    def stop(self, number: signal.Signals) -> None:
        """Send a signal, and wait until the drain has begun, which closes an idle connection."""
        with Connection(self.port) as idle:
            self.process.send_signal(number)
            assert idle.closed()
        with pytest.raises(ConnectionRefusedError):
            Connection(self.port)

    def let_go(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def outcome(self) -> tuple[int, bytes]:
        """The exit status, and what it wrote to stderr."""
        code = self.process.wait(timeout=15)
        assert self.process.stderr
        return code, self.process.stderr.read()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    with ExitStack() as stack:

        def start(*arguments: object) -> Program:
            program = Program(*arguments)  # type: ignore[arg-type]
            stack.callback(program.close)
            return program

        yield start


@pytest.mark.parametrize("number", STOPS)
def test_every_received_request_gets_its_whole_response(
    start: Callable[..., Program], number: signal.Signals
) -> None:
    program = start()
    with ExitStack() as stack:
        clients = [stack.enter_context(Connection(program.port)) for _ in range(8)]
        for client in clients:
            client.send(get("/gate/big"))
        assert [program.line(), program.line()] == [b"running\n"] * 2
        program.stop(number)
        program.let_go()
        for client in clients:
            reply = client.reply()
            assert (reply.status_code, len(reply.data)) == (200, BIG)
            assert client.closed()
    assert program.outcome() == (0, b"")


def test_every_pipelined_request_gets_its_response_and_the_last_one_closes(
    start: Callable[..., Program],
) -> None:
    program = start()
    with Connection(program.port) as client:
        client.send(get("/gate") + b"".join(get(f"/{n}") for n in range(1000)) + b"GET /half")
        assert program.line() == b"running\n"
        program.stop(signal.SIGTERM)
        program.let_go()
        replies = [client.reply() for _ in range(1001)]
        assert client.closed()
    assert [reply.data.decode() for reply in replies] == ["/gate", *(f"/{n}" for n in range(1000))]
    assert ["Connection" in reply.headers for reply in replies] == [False] * 1000 + [True]
    assert program.outcome() == (0, b"")


def test_a_response_that_is_read_slowly_is_not_cut(start: Callable[..., Program]) -> None:
    program = start()
    program.let_go()
    with Connection(program.port) as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.send(get("/gate/big"))
        client.until(b"\r\n\r\n")
        started = time.monotonic()
        program.stop(signal.SIGINT)
        total = len(client.unread)
        while data := client.sock.recv(65536):
            total += len(data)
    assert total == BIG
    assert time.monotonic() - started < 8
    assert program.outcome() == (0, b"")


def test_requests_that_the_kernel_has_received_get_their_responses(
    start: Callable[..., Program],
) -> None:
    program = start()
    program.let_go()
    program.process.send_signal(signal.SIGSTOP)
    with ExitStack() as stack:
        clients = [stack.enter_context(Connection(program.port)) for _ in range(5)]
        for client in clients:
            client.send(get("/one") + get("/gate/big"))
        program.process.send_signal(signal.SIGTERM)
        program.process.send_signal(signal.SIGCONT)
        for client in clients:
            assert client.reply().data == b"/one"
            assert len(client.reply().data) == BIG
    assert program.outcome() == (0, b"")


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize(("sent", "within"), [(b"", 1.5), (get()[:-1], 1.5), (get(), 4)])
def test_without_current_requests_it_stops_at_once(
    start: Callable[..., Program], number: signal.Signals, sent: bytes, within: float
) -> None:
    program = start()
    with Connection(program.port) as client:
        client.send(sent)
        if sent == get():
            assert client.reply().data == b"/"
        started = time.monotonic()
        program.process.send_signal(number)
        assert client.closed()
        assert program.outcome() == (0, b"")
        assert time.monotonic() - started < within


def test_a_signal_before_the_first_turn_is_not_lost(start: Callable[..., Program]) -> None:
    program = start(0, 10, "early")
    assert program.line() == b"returned\n"
    assert program.outcome() == (0, b"")


@pytest.mark.parametrize("number", STOPS)
def test_a_second_signal_ends_it_at_once(
    start: Callable[..., Program], number: signal.Signals
) -> None:
    program = start()
    with Connection(program.port) as client:
        client.send(get("/gate"))
        assert program.line() == b"running\n"
        program.stop(number)
        program.process.send_signal(number)
        assert program.outcome() == (-number, b"")


def test_the_drain_ends_when_the_grace_is_over(start: Callable[..., Program]) -> None:
    program = start(0, 0.5)
    with Connection(program.port) as client:
        client.send(get("/gate"))
        assert program.line() == b"running\n"
        started = time.monotonic()
        program.process.send_signal(signal.SIGTERM)
        assert client.closed()
        assert program.line() == b"returned\n"
        assert program.outcome()[0] == 0
        assert 0.4 < time.monotonic() - started < 2


def test_a_port_is_free_again_after_a_kill(start: Callable[..., Program]) -> None:
    program = start()
    with Connection(program.port) as client:
        client.send(get("/gate"))
        assert program.line() == b"running\n"
        program.process.kill()
        assert client.closed()
    again = start(program.port)
    with Connection(again.port) as client:
        client.send(get("/again"))
        assert client.reply().data == b"/again"


# An app whose view takes all file descriptors from the process: poll() fails from then on.
FAILING = """
import resource, sys
import cli
from flask import Flask

def create_app(**options):
    app = Flask("failing")

    @app.get("/fail")
    def fail():
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        return "soon"

    return app

sys.exit(cli.main(create_app))
"""


def test_a_failure_of_the_running_server_says_what_failed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAILING, "--port", "0", "--quiet"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        port = int(process.stdout.readline().rpartition(":")[2])
        with Connection(port) as client:
            client.send(get("/fail", "Host: localhost"))
            _, stderr = process.communicate(timeout=10)
    *_, line = stderr.splitlines()
    assert line == f"error: the server failed: [Errno {errno.EINVAL}] Invalid argument"
    assert process.returncode == 1


def test_threads_that_cannot_be_started_are_a_failure_of_the_server() -> None:
    code = (
        "import sys, threading, cli\n"
        "threading.stack_size(1 << 46)\n"
        "sys.exit(cli.main(lambda **options: None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--port", "0"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "error: the server failed: can't start new thread\n"
    assert (done.returncode, done.stdout) == (1, "")
