"""What the program prints: its announcement, what is unusual, and what it cannot write."""

import errno
import io
import os
import re
import select
import signal
import threading
from pathlib import Path

import pytest

from cli.stderr import background_stderr, say
from tests.conftest import eventually, needs
from tests.program import process, run
from tests.wire import call, port_of

pytestmark = pytest.mark.process


def test_it_prints_its_address_an_example_and_the_coverage() -> None:
    done = run(during=lambda url: (url, call(url, "/v1/projects").status_code))
    url, status = done.result
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    assert (done.status, status) == (0, 200)
    assert done.stdout == f"listening on {url}\n"
    hint, page, line, *coverage = done.stderr.splitlines()
    assert hint == f'try: curl -H "Authorization: Bearer dev-token" {url}/v1/projects'
    assert page == f"open {url}/"
    assert re.fullmatch(r"#1 GET /v1/projects 200 \d+\.\d ms", line)
    assert coverage[0].startswith("coverage: 1 of ")


def test_an_open_address_is_printed_for_this_machine() -> None:
    needs("IPv6")
    for host, own in (("0", "127.0.0.1"), ("::", "[::1]")):
        done = run("--host", host, "--token", "long-token", during=port_of)
        url = f"http://{own}:{done.result}"
        assert done.stdout == f"listening on {url}\n"
        assert f'try: curl -H "Authorization: Bearer TOKEN" {url}/v1/projects\n' in done.stderr


# Options, and what the start says of them. An empty text is for nothing.
NOTES = [
    (["--grease", "ids@projects", "--grease-seed", "7"], '--grease "ids@projects" --grease-seed 7'),
    (["--delay", "0.001"], ""),
    (["--token", "test-12"], "warning: a token of less than 8 characters is masked in the log"),
    (["--token", "test-123"], ""),
    (["--outcome", "faild"], "warning: the status faild is not known: did you mean failed?"),
    (["--outcome", "cancelled", "--outcome", "a=failed"], "did you mean canceled?"),
    (["--outcome", "rolled_back"], ""),
]


def test_what_is_unusual_is_said_at_the_start() -> None:
    for options, note in NOTES:
        _, _, *notes = run("--quiet", *options).stderr.partition("coverage: ")[0].splitlines()
        assert len(notes) == bool(note)
        assert note in "".join(notes)


def test_what_is_random_has_another_seed_in_each_run() -> None:
    options = ("--grease", "ids")
    seeds = re.findall(r"-seed (\d+)\n", run(*options).stderr + run(*options).stderr)
    assert len({*seeds}) == 2


def test_output_that_cannot_be_written_is_ignored() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("try: "):
                signal.raise_signal(signal.SIGTERM)
            raise BrokenPipeError

    assert run(stdout=Closed(), stderr=Closed()).status == 0


def test_a_full_stdout_is_named() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    done = run("docs", "profile", stdout=Full())
    assert (done.status, done.stderr) == (2, "error: stdout: No space left on device.\n")


def test_a_full_disk_or_a_closed_pipe_as_stdout_makes_no_other_status() -> None:
    with Path("/dev/full").open("w") as full:
        for words, status in ((["--help"], 2), (["--port", "0"], 0)):
            with process("app.py", *words, stdout=full) as started:
                if not status:
                    started.stderr.readline()
                    started.terminate()
                assert started.wait(20) == status
                assert "Exception" not in started.stderr.read()


def test_a_console_gets_what_its_encoding_has(tmp_path: Path) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="koi8-r")
    with (tmp_path / "err").open("w", encoding="koi8-r") as stderr:
        assert run("docs", "openapi", stdout=stdout).status == 0
        assert run("--seed", "\xe9\udcff", stderr=stderr).status == 2
    stdout.flush()
    assert rb"\xa7" in stdout.buffer.getvalue()
    assert rb"there is no file \xe9\udcff." in (tmp_path / "err").read_bytes()


# stderr that is not read: a pipe takes 64 KiB.


def read_late(lines: list[str], count: int, *, blocks: bool) -> list[str]:
    """The first lines that a reader gets which begins when all were said and the pipe is full."""
    receiving, sending = os.pipe()
    os.set_blocking(sending, blocks)
    received: list[str] = []
    with os.fdopen(receiving, encoding="utf-8") as reader:
        thread = threading.Thread(target=received.extend, args=(reader,))
        with os.fdopen(sending, "w", encoding="utf-8") as stderr, background_stderr(stderr):
            for line in lines:
                say(line)
            eventually(lambda: not select.select([], [sending], [], 0)[1])
            thread.start()
            eventually(lambda: len(received) >= count)
        thread.join()
    return received


def test_unread_lines_block_nobody() -> None:
    line = f"{1000 * 'x'}\n"
    received = read_late(1500 * [line], 1000, blocks=True)
    assert received == len(received) * [line]
    assert 1000 <= len(received) < 1500  # 1,000 wait


def test_a_stderr_that_does_not_block_gets_every_line() -> None:
    """What shares a terminal with the program may make it non-blocking."""
    lines = [f"{number} {1000 * 'x'}\n" for number in range(500)]
    assert read_late(lines, 500, blocks=False) == lines


def test_the_end_does_not_wait_for_whoever_does_not_read() -> None:
    receiving, sending = os.pipe()

    def write() -> None:
        with background_stderr(stderr):
            say(100_000 * "x")

    before = {*threading.enumerate()}
    with os.fdopen(sending, "w", encoding="utf-8") as stderr:
        with os.fdopen(receiving):
            thread = threading.Thread(target=write, daemon=True)
            thread.start()
            thread.join(20)  # it takes a second
            assert not thread.is_alive()
        # Else what it still writes goes to the next file that gets the descriptor.
        eventually(lambda: {*threading.enumerate()} <= before)
