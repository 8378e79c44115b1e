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

SIGNALS = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)  # Windows has two of them
]
FROM_A_TERMINAL = SIGNALS[1:]
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
REPEAT_WINDOW = 0.2  # seconds; `timeout` sends its signal twice, to the process and to its group
COMMAND_GRACE = 5.0  # seconds that the command has to end when the server has failed


class Command:
    """A command and its exit status, in the terms of a shell.

    It has the standard input, output and error of this process.
    """

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self._words = words
        self._environ = environ
        self._previous: dict[int, Any] = {}  # the handlers of the signals
        self._process: subprocess.Popen[bytes] | None = None
        self._signalled_at: float | None = None  # monotonic
        self._early_signal: int | None = None  # one that came before the command was started
        self._owns_terminal = has_terminal()
        self.on_signal: Callable[[int], None] = lambda number: None
        self.status = 0

    def forward_signals(self) -> None:
        """From now on signals are for the command, also one that comes before it is started."""
        for each in SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as `nohup` has set it
                self._previous[each] = signal.signal(each, self._forward)

    def return_signals(self) -> None:
        """Undo `forward_signals()`, except where the handler has changed since."""
        for each, handler in self._previous.items():
            if signal.getsignal(each) == self._forward:
                signal.signal(each, handler)

    def start(self, variables: Mapping[str, str], then: Callable[[], None]) -> str | None:
        """Start it in the main thread, with more environment variables; return the error, if any.

        Call `then` when it has ended.
        """
        try:
            self._process = subprocess.Popen(
                self._words,
                env={**self._environ, **variables},
                # A signal to our group is passed on once, to the group of the command. A command
                # with a terminal stays in our group: another could not read from it.
                start_new_session=not self._owns_terminal,
            )
        except OSError as error:
            self.status = 127 if isinstance(error, FileNotFoundError) else 126
            then()
            return f"{self._words[0]}: {error.strerror}"
        if self._early_signal is not None:
            self._send(self._early_signal)
        threading.Thread(target=self._wait, args=(self._process, then), daemon=True).start()
        return None

    def start_quietly(
        self, variables: Mapping[str, str], output: IO[bytes]
    ) -> "subprocess.Popen[bytes]":
        """Start it once more, without input, in a group of its own, with its output in a file."""
        return subprocess.Popen(
            self._words,
            env={**self._environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def end_leftovers(self) -> None:
        """Kill what it has left running in its group, if that is not ours."""
        if self._process and not self._owns_terminal:
            end_group(self._process)

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process and self._process.poll() is None:
            self._send(KILL)

    def end(self) -> None:
        """End it, if it still runs; `status` is then its own."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._send(signal.SIGTERM)
            try:
                self._process.wait(COMMAND_GRACE)
            except subprocess.TimeoutExpired:
                self._send(KILL)
        self._note_status(self._process)

    def _wait(self, process: "subprocess.Popen[bytes]", then: Callable[[], None]) -> None:
        self._note_status(process)
        then()

    def _note_status(self, process: "subprocess.Popen[bytes]") -> None:
        code = process.wait()
        self.status = code if code >= 0 else 128 - code

    def _forward(self, number: int, frame: FrameType | None) -> None:
        """Pass the first signal on. A second one ends the command and this process."""
        self.on_signal(number)
        now = time.monotonic()
        if self._process is None:
            self._signalled_at, self._early_signal = now, number
        elif self._signalled_at is None:
            self._signalled_at = now
            # A terminal has sent its Ctrl-C to the command, too.
            if not (self._owns_terminal and number in FROM_A_TERMINAL):
                self._send(number)
        elif now - self._signalled_at > REPEAT_WINDOW:
            self._send(KILL)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _send(self, number: int) -> None:
        """Send a signal to the command, and to what it has started if it has its own group."""
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):  # macOS: the group has ended
            if self._owns_terminal:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what runs in the group of a process."""
    with suppress(ProcessLookupError, PermissionError):  # macOS: the group has ended
        os.killpg(process.pid, KILL)


def has_terminal() -> bool:
    """Whether this process is in the foreground of the terminal that it reads from."""
    if not hasattr(os, "killpg"):  # Windows: a command has no group of its own
        return True
    return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
