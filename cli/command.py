"""The command that the program runs beside the server: `app.py -- COMMAND`."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO

import server

from .stderr import say, say_error

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
REPEAT_WINDOW = 0.2  # seconds; `timeout` sends its signal twice, to the process and to its group
COULD_NOT_RUN = 126
NOT_FOUND = 127


class Command:
    """A command, which is run once, or several times by --probe.

    `status` is the exit status of the latest run, in the terms of a shell, and a failure until it
    has ended.
    `signal` is the first one that came. `grace` is the number of seconds that the command has to
    end when the server has failed.
    """

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], *, grace: float = 5.0
    ) -> None:
        self._words = words
        self.environ = {**environ}
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None  # of the latest run
        self._shares_terminal = False
        self._thread: threading.Thread | None = None
        self._has_ended = False  # whether the latest `work` has
        self._signalled_at = 0.0  # monotonic
        # Of `_process` and `signal`: else both sides send a signal that comes during a start.
        self._lock = threading.RLock()
        self.signal: int | None = None
        self.status = COULD_NOT_RUN
        self.seconds = 0.0  # that the latest run took

    def forward_signals(self) -> None:
        """From now on signals are for the command, also before it is started."""
        if hasattr(signal, "SIGCHLD"):  # with a parent that ignores it, every status would be 0
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in server.STOP_SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as `nohup` has set it
                signal.signal(each, self._forward)

    @contextmanager
    def forwarding_signals(self) -> Iterator[None]:
        """Forward the signals that come between two runs, too; then put the handlers back."""
        previous = {each: signal.getsignal(each) for each in server.STOP_SIGNALS}
        self.forward_signals()
        try:
            yield
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)

    def start(self, work: Callable[[], int], then: Callable[[], None]) -> None:
        """In a thread note the status that `work` returns, which runs the command; call `then`.

        A run that a signal cut short is a failure, also if the command ended with 0 then.
        """
        self.status = COULD_NOT_RUN
        self._has_ended = False

        def run_all() -> None:
            try:
                status = work()
                if status == 0 and self.signal is not None:
                    say(f"warning: {signal.Signals(self.signal).name} cut the run short\n")
                    status = 128 + self.signal
                self.status = status
            finally:
                self._has_ended = True
                then()

        self._thread = threading.Thread(target=run_all, daemon=True)
        self._thread.start()

    def run(self, output: IO[bytes] | None = None, limit: float | None = None, **more: str) -> int:
        """Run it, for so many seconds at most, with more environment variables; return its status.

        It has the standard streams of this process; with a file for its `output`, no input. Its
        group is its own, to which a signal is passed on once. Only a command with a terminal stays
        in our group: another could not read from it.
        """
        self._process = None
        self._shares_terminal = not output and has_terminal()
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                self._words,
                env={**self.environ, **more},
                start_new_session=not self._shares_terminal,
                stdin=output and subprocess.DEVNULL,
                stdout=output,
                stderr=output and subprocess.STDOUT,
            )
        except OSError as error:
            say_error(f"{self._words[0]}: {error.strerror}")
            return NOT_FOUND if isinstance(error, FileNotFoundError) else COULD_NOT_RUN
        with self._lock:
            self._process = process
            missed = self.signal  # it came while the run was started
        if missed is not None:
            self._send(missed)
        timer = threading.Timer(limit or 0, self.kill_group)  # `wait(limit)` would poll
        timer.daemon = True
        if limit is not None:
            timer.start()
        code = process.wait()
        timer.cancel()
        self.seconds = time.monotonic() - started
        return code if code >= 0 else 128 - code

    def kill_group(self) -> None:
        """Kill what the latest run has in its group, if that is not ours."""
        if self._process and not self._shares_terminal:
            self._send(KILL)

    def end(self) -> None:
        """End it, if it still runs after the server."""
        if self.signal is None and not self._has_ended:
            self.signal = signal.SIGTERM
        for number in (signal.SIGTERM, KILL):
            process = self._process
            if process and process.poll() is None:
                self._send(number)
            if self._thread:
                self._thread.join(self._grace)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        """Pass the first signal on. A second one ends the command and this process."""
        now = time.monotonic()
        with self._lock:
            is_first = self.signal is None
            has_process = self._process is not None
            if is_first:
                self.signal = number
                self._signalled_at = now
        if is_first:
            # A terminal has sent its Ctrl-C to the command, too.
            is_known = self._shares_terminal and number != signal.SIGTERM
            if has_process and not is_known:
                self._send(number)
        elif has_process and now - self._signalled_at > REPEAT_WINDOW:
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


def has_terminal() -> bool:
    """Whether this process is in the foreground of the terminal that it reads from."""
    if not hasattr(os, "killpg"):  # Windows: a command has no group of its own
        return True
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # it is not the controlling terminal, as after `setsid`
        return False
