"""stderr that nobody reads: the program goes on, and says how many lines it dropped."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cli.stderr import background_stderr, say
from tests.program import program
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process

REQUESTS = 1200  # 1,000 lines wait; a pipe of 4,096 bytes holds few more
LONG_PATH = "/v1/" + "x" * 1000


@contextmanager
def flooded() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A program that has written to stderr, which nobody has read, what does not fit."""
    with program(pipesize=4096) as (process, url):
        with Connection(port_of(url)) as client:
            for _ in range(REQUESTS):
                client.send(get(LONG_PATH))
                assert client.reply().status_code == 401
        yield process, url


@pytest.mark.slow
def test_unread_lines_block_neither_a_request_nor_a_rejection_nor_the_end() -> None:
    with flooded() as (process, url):
        with Connection(port_of(url)) as client:
            client.send(b"nonsense\r\n\r\n")
            assert client.reply().status_code == 400
        assert call(url, "/_stub/health").status_code == 200
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_the_number_of_dropped_lines_is_written_once_there_is_room() -> None:
    with flooded() as (process, _):
        assert process.stderr
        lines, dropped = 0, 0
        for line in process.stderr:
            lines += re.match(r"#\d+ GET /v1/x", line) is not None
            if found := re.fullmatch(r"(\d+) lines were dropped: stderr was not read\n", line):
                dropped = int(found[1])
            if dropped or lines == REQUESTS:
                break
        process.terminate()
        rest = process.stderr.read().splitlines()
        lines += sum(re.match(r"#\d+ GET /v1/x", line) is not None for line in rest)
        assert dropped > 0
        assert lines + dropped == REQUESTS
        assert any(line.startswith("coverage: ") for line in rest)


def test_a_stderr_that_does_not_block_gets_every_line() -> None:
    """What shares a terminal with the program may make it non-blocking."""
    lines = [f"{number} {1000 * 'x'}\n" for number in range(500)]  # a pipe takes 64 KiB
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    received: list[str] = []
    with os.fdopen(receiving, encoding="utf-8") as reader:
        thread = threading.Thread(target=lambda: received.extend(reader))
        with os.fdopen(sending, "w", encoding="utf-8") as stderr, background_stderr(stderr):
            for line in lines:
                say(line)
            thread.start()
        thread.join()
    assert received == lines


def test_the_end_does_not_wait_for_whoever_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.stderr.WRITE_GRACE", 0.05)
    receiving, sending = os.pipe()

    def write() -> None:
        with background_stderr(stderr):
            say(100_000 * "x")  # a pipe takes 64 KiB

    with os.fdopen(sending, "w", encoding="utf-8") as stderr, os.fdopen(receiving):
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
