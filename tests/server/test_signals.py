"""What only a process of its own shows: signals, its end, and failures of the running server."""

import errno
import resource
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask

from tests.conftest import ROOT
from tests.program import FAILING, Process, process, ready_url, run
from tests.wire import Connection, get, port_of

pytestmark = pytest.mark.process

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]

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
def program() -> Iterator[Process]:
    more: dict[str, Any] = {"env": {"PYTHONPATH": str(ROOT)}, "stdin": subprocess.PIPE}
    with process("-c", PROGRAM, **more) as started:
        yield started


@contextmanager
def stopping(program: Process, number: signal.Signals) -> Iterator[Connection]:
    """A client whose request runs when a signal comes; the drain closes an idle connection."""
    port = int(program.stdout.readline())
    with Connection(port) as client, Connection(port) as idle:
        client.send(get())
        assert program.stdout.readline() == "running\n"
        program.send_signal(number)
        assert idle.closed()
        yield client


def test_a_request_that_runs_gets_its_response() -> None:
    with program() as started:
        with stopping(started, signal.SIGHUP) as client:
            assert started.stdin
            started.stdin.close()
            assert client.reply().data == b"late"
            assert client.closed()
        started.stdin = None
        assert started.communicate(timeout=30) == ("returned\n", "")
        assert started.returncode == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with program() as started, stopping(started, signal.SIGTERM):
        started.send_signal(signal.SIGINT)
        assert started.wait(30) == -signal.SIGINT


def test_the_process_may_open_more_files_and_gets_its_signals_back(
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
        done = run(create_stub=lambda options: Flask("none"))
    finally:
        threading.stack_size(previous)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: the server failed: can't start new thread\n"
