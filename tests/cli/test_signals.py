"""Signals and terminals: what reaches the COMMAND, how often, and what ends both."""

import io
import os
import pty
import signal
import subprocess
import sys
import termios
from typing import Any

import pytest

from tests.cli.conftest import script
from tests.program import process, run
from tests.wire import call

pytestmark = pytest.mark.process

# A COMMAND that sends signals to the program at once, which has just started it. Its own ones are
# blocked until it counts them.
BLOCKS = """
signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
def send(number):
  os.kill(os.getppid(), number)
  call('/v1/projects')  # the main thread responds, so it has passed on what signals it had
def end():
  number = signal.sigwait(signals)
  call('/v1/projects')
  sys.exit(100 if signal.sigpending() else number)
"""


# What is done with a SIGHUP when the program starts, the signals that it gets, and the one that
# reaches the command: nohup lets it ignore SIGHUP.
SIGNALS = [
    (signal.SIG_DFL, [signal.SIGHUP], signal.SIGHUP),
    (signal.SIG_IGN, [signal.SIGHUP, signal.SIGTERM], signal.SIGTERM),
    (signal.SIG_IGN, [signal.SIGHUP, signal.SIGINT], signal.SIGINT),
]


@pytest.mark.parametrize(("hangup", "sent", "number"), SIGNALS)
def test_a_signal_reaches_the_command_once_unless_nohup_ignores_it(
    hangup: signal.Handlers, sent: list[int], number: int
) -> None:
    sends = "\n".join(f"send({int(each)})" for each in sent)
    previous = signal.signal(signal.SIGHUP, hangup)
    try:
        done = run("--", *script(f"{BLOCKS}\n{sends}\nend()"))
    finally:
        signal.signal(signal.SIGHUP, previous)
    assert done.status == number
    assert "coverage: " in done.stderr


def test_a_command_that_ends_with_0_at_a_signal_was_cut_short() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        ends = f"signal.signal({int(number)}, lambda *_: sys.exit(0))"
        sends = f"os.kill(os.getppid(), {int(number)})"
        done = run("--", *script(f"call('/v1/projects')\n{ends}\n{sends}\nsignal.pause()"))
        assert done.status == 128 + number
        assert f"warning: {number.name} cut the run short\n" in done.stderr


def test_a_signal_before_the_command_is_started_reaches_it() -> None:
    class Stderr(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("listening on "):
                signal.raise_signal(signal.SIGTERM)
            return super().write(text)

    assert run("--", "sleep", "20", stderr=Stderr()).status == 128 + signal.SIGTERM


# Writes its URL, and the number of each signal that it gets; at a line exits with 10 plus
# their number. A command that a failing test leaves is ended by the alarm.
COUNTS = """
import os, signal, sys
count = 0
def note(number, frame):
    global count
    count += 1
    os.write(1, b"%d\\n" % number)
for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, note)
signal.signal(signal.SIGALRM, lambda number, frame: os._exit(os.write(1, b"too late\\n")))
signal.alarm(20)
os.write(1, os.environ["STUB_URL"].encode() + b"\\n")
sys.exit(10 + count if sys.stdin.readline() == "end\\n" else 9)
"""
# Starts another one, which has the same streams.
STARTS = f"""
import signal, subprocess, sys
for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, lambda number, frame: None)
signal.alarm(20)
subprocess.run([sys.executable, "-S", "-c", {COUNTS!r}])
"""


def assert_still_serves(url: str) -> None:
    """The main thread responds, so it has passed on what signals it had."""
    assert call(url, "/v1/projects").status_code == 200


@pytest.mark.xdist_group("time")
def test_a_second_signal_ends_all_unless_it_comes_at_once() -> None:
    """The program, the command, and what this one has started; the command has its own group."""
    words = ("app.py", "--quiet", "--", sys.executable, "-S", "-c", STARTS)
    with process(*words, stdin=subprocess.PIPE, start_new_session=True) as running:
        url = running.stdout.readline().strip()
        for each in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):  # at once
            os.killpg(running.pid, each)
        assert running.stdout.readline() in ("2\n", "15\n")
        assert_still_serves(url)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.3)  # longer than the time in which a signal is a repetition
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == -signal.SIGTERM
        assert running.stdout.read() == ""  # the end of the pipe: nobody is left who writes


TAKES_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_in_a_terminal_reads_from_it_and_gets_a_signal_once(number: int) -> None:
    mine, its = pty.openpty()
    settings = termios.tcgetattr(its)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(its, termios.TCSANOW, settings)
    words = ("-c", TAKES_TERMINAL, "app.py", "--quiet", "--", sys.executable, "-S", "-c", COUNTS)
    streams: dict[str, Any] = {"stdin": its, "stdout": its, "stderr": its}
    with (
        os.fdopen(mine, "r+b", 0) as terminal,
        os.fdopen(its),
        process(*words, start_new_session=True, **streams) as running,
    ):
        # The program writes a line of its own, in a thread.
        url, listening = sorted(terminal.readline().decode().strip() for _ in range(2))
        assert listening == f"listening on {url}"
        assert_still_serves(url)
        if number == signal.SIGINT:  # the terminal sends it to both, to the command first
            running.send_signal(signal.SIGSTOP)
            terminal.write(b"\x03")
        else:
            running.terminate()
        assert terminal.readline() == b"%d\r\n" % number
        running.send_signal(signal.SIGCONT)
        assert_still_serves(url)
        terminal.write(b"end\n")
        assert running.wait(20) == 11


def test_the_command_runs_in_a_terminal_that_is_not_the_controlling_one() -> None:
    other, terminal = pty.openpty()
    stdin = os.dup(0)
    os.dup2(terminal, 0)
    try:
        assert run("--", "sh", "-c", "test -t 0 && exit 7").status == 7
    finally:
        os.dup2(stdin, 0)
        for each in (other, terminal, stdin):
            os.close(each)
