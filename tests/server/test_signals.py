"""What only a process of its own shows: signals, its end, and failures of the running server."""

import errno
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.conftest import ROOT
from tests.program import FAILING, environment, process, ready_url, run
from tests.raw import get
from tests.wire import Connection, port_of

pytestmark = pytest.mark.process

STOPS = [signal.SIGTERM, signal.SIGINT]
BIG = 4_000_000

# Its app writes "running" to stdout at /gate, and waits there for the end of stdin.
PROGRAM = """
import os, signal, sys, threading
from server import ServerOptions, serve

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

grace = float(sys.argv[1])
serve(app, "127.0.0.1", 0, ServerOptions(threads=2, grace=grace, on_listening=listening))
os.write(1, b"returned\\n")
"""


class Program:
    def __init__(self, stack: ExitStack, grace: float, *more: str) -> None:
        self.process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(grace), *more],
                env=environment({"PYTHONPATH": str(ROOT)}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        stack.callback(self.process.kill)
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
        code = self.process.wait(timeout=30)
        assert self.process.stderr
        return code, self.process.stderr.read()


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Starts a program, which may take this many seconds to drain."""
    with ExitStack() as stack:
        yield lambda grace=600, *more: Program(stack, grace, *more)


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


def test_a_signal_before_the_first_turn_is_not_lost(start: Callable[..., Program]) -> None:
    program = start(600, "early")
    assert program.line() == b"returned\n"
    assert program.outcome() == (0, b"")


def test_a_second_signal_ends_it_at_once(start: Callable[..., Program]) -> None:
    program = start()
    with Connection(program.port) as client:
        client.send(get("/gate"))
        assert program.line() == b"running\n"
        program.stop(signal.SIGTERM)
        program.process.send_signal(signal.SIGINT)
        assert program.outcome() == (-signal.SIGINT, b"")


def test_the_process_may_open_more_files_and_has_its_signals_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[int, int]] = []
    before = [signal.getsignal(number) for number in STOPS]
    with monkeypatch.context() as patched:
        patched.setattr(resource, "getrlimit", lambda kind: (1024, 100_000))
        patched.setattr(resource, "setrlimit", lambda kind, both: limits.append(both))
        assert run("--quiet").status == 0
    assert limits[0] == (4096 + 128, 100_000)  # `run` puts the first one back
    assert [signal.getsignal(number) for number in STOPS] == before


def test_a_failure_of_the_running_server_says_what_failed() -> None:
    words = ("-c", FAILING, "--port", "0", "--quiet")
    with process(*words) as failing, Connection(port_of(ready_url(failing))) as client:
        client.send(get("/fail", "Host: localhost"))
        _, stderr = failing.communicate(timeout=30)
    *_, line = stderr.splitlines()
    assert line == f"error: the server failed: [Errno {errno.EINVAL}] Invalid argument"
    assert failing.returncode == 1


def test_threads_that_cannot_be_started_are_a_failure_of_the_server() -> None:
    previous = threading.stack_size(1 << 46)
    try:
        done = run(create_app=lambda **options: None)
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"
