"""The command that the program runs beside the server: `app.py -- COMMAND`."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO, Any

from .stderr import say

SIGNALS = [
    each for each in signal.Signals if each.name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
]
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
REPEAT_WINDOW = 0.2  # seconds; `timeout` sends its signal twice, to the process and to its group
COMMAND_GRACE = 5.0  # seconds that the command has to end when the server has failed


class Command:
    """A command, which is run once, or several times by --probe.

    `status` is the exit status of the run beside the server, in the terms of a shell. `signal` is
    the first one that came, if any.
    """

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self._words = words
        self._environ = environ
        self._previous: dict[int, Any] = {}  # the handlers of the signals
        self._process: subprocess.Popen[bytes] | None = None  # of the latest run
        self._shares_terminal = False
        self._thread: threading.Thread | None = None
        self._signalled_at = 0.0  # monotonic
        self._early_signal: int | None = None  # one that came while a run was started
        self.signal: int | None = None
        self.status = 0

    def forward_signals(self) -> None:
        """From now on signals are for the command, also one that comes before it is started."""
        for each in SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as `nohup` has set it
                self._previous[each] = signal.signal(each, self._forward)

    def start(
        self, variables: Mapping[str, str], output: IO[bytes] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start it with more environment variables. Raises `OSError`.

        It has the standard streams of this process; with a file for its `output`, no input. Its
        group is its own, to which a signal is passed on once. Only a command with a terminal stays
        in our group: another could not read from it.
        """
        quiet = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        streams: dict[str, Any] = quiet if output else {}
        self._process = None
        self._shares_terminal = not output and has_terminal()
        self._process = process = subprocess.Popen(
            self._words,
            env={**self._environ, **variables},
            start_new_session=not self._shares_terminal,
            **streams,
        )
        if self._early_signal is not None:
            self._send(self._early_signal)
        return process

    def start_beside(self, variables: Mapping[str, str], then: Callable[[], None]) -> None:
        """Start it in the main thread; note its status when it has ended, and call `then`."""
        try:
            process = self.start(variables)
        except OSError as error:
            self.status = 127 if isinstance(error, FileNotFoundError) else 126
            say(f"error: {self._words[0]}: {error.strerror}\n")
            then()
            return

        def wait() -> None:
            self.status = shell_status(process.wait())
            then()

        self._thread = threading.Thread(target=wait, daemon=True)
        self._thread.start()

    def kill_group(self) -> None:
        """Kill what the latest run has in its group, if that is not ours."""
        if self._process and not self._shares_terminal:
            self._send(KILL)

    def end(self) -> None:
        """End it, if it still runs after the server."""
        if self._process and self._process.poll() is None:
            self.signal = self.signal or signal.SIGTERM
            self._send(signal.SIGTERM)
            try:
                self._process.wait(COMMAND_GRACE)
            except subprocess.TimeoutExpired:
                self._send(KILL)
        if self._thread:
            self._thread.join()
        for each, handler in self._previous.items():
            if signal.getsignal(each) == self._forward:  # the server has put back the others
                signal.signal(each, handler)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        """Pass the first signal on. A second one ends the command and this process."""
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._signalled_at = number, now
            if self._process is None:
                self._early_signal = number
            # A terminal has sent its Ctrl-C to the command, too.
            elif not (self._shares_terminal and number != signal.SIGTERM):
                self._send(number)
        elif self._process and now - self._signalled_at > REPEAT_WINDOW:
            self._send(KILL)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _send(self, number: int) -> None:
        """Send a signal to the latest run, and to what it has started if it has its own group."""
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):  # macOS: the group has ended
            if self._shares_terminal:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)


def shell_status(code: int) -> int:
    """A return code of `subprocess` in the terms of a shell."""
    return code if code >= 0 else 128 - code


def has_terminal() -> bool:
    """Whether this process is in the foreground of the terminal that it reads from."""
    if not hasattr(os, "killpg"):  # Windows: a command has no group of its own
        return True
    return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
