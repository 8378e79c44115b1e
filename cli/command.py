"""The command that the program runs while it serves: `app.py -- COMMAND`."""

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

from . import stderr

COULD_NOT_RUN = 126  # exit statuses of a shell
NOT_FOUND = 127
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL.


class Command:
    """A command that is run once, or several times by --probe.

    `status` is the exit status of the latest run as a shell has it, such as 143 after SIGTERM;
    until the run has ended, it is a failure. `signal` is the first signal that this process got.
    If the server fails, the command has `grace` seconds to end.
    """

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], *, grace: float = 5.0
    ) -> None:
        self._words = words
        self.environ = {**environ}
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._shares_terminal = False
        self._thread: threading.Thread | None = None
        self._has_ended = False
        self._signalled_at = 0.0  # time.monotonic()
        # Guards `_process` and `signal`, so that a signal during a start is sent only once.
        self._lock = threading.RLock()
        self.signal: int | None = None
        self.status = COULD_NOT_RUN
        self.seconds = 0.0  # duration of the latest run

    def forward_signals(self) -> server.Handlers:
        """Forward signals to the command, also before its start; return the previous handlers."""
        if hasattr(signal, "SIGCHLD"):
            # If this process ignored SIGCHLD, every exit status would be 0.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return server.handle_stop_signals(self._forward)

    @contextmanager
    def forwarding_signals(self) -> Iterator[None]:
        """Forward signals, also between two runs; then restore the previous handlers."""
        previous = self.forward_signals()
        try:
            yield
        finally:
            server.set_handlers(previous)

    def start(self, work: Callable[[], int], then: Callable[[], None]) -> None:
        """Run the command by calling `work` in a thread; store its status, and call `then`.

        A run that a signal cut short is a failure, even if the command ended with 0.
        """
        self.status = COULD_NOT_RUN
        self._has_ended = False

        def run_all() -> None:
            try:
                status = work()
                if status == 0 and self.signal is not None:
                    stderr.say(f"warning: {signal.Signals(self.signal).name} cut the run short\n")
                    status = 128 + self.signal
                self.status = status
            finally:
                self._has_ended = True
                then()

        self._thread = threading.Thread(target=run_all, daemon=True)
        self._thread.start()

    def run(self, output: IO[bytes] | None = None, limit: float | None = None, **more: str) -> int:
        """Run the command for at most `limit` seconds; return its exit status.

        `more` are environment variables: `STUB_PROBE_RUN="plain"`. The command has the
        standard streams of this process; with an `output` file, it has no input. It runs in a
        process group of its own, to send a signal to its children, too. A command that reads from a
        terminal stays in the group of this process: otherwise it could not read.
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
            stderr.say_error(f"{self._words[0]}: {error.strerror}")
            return NOT_FOUND if isinstance(error, FileNotFoundError) else COULD_NOT_RUN
        with self._lock:
            self._process = process
            missed = self.signal  # A signal may come while the command is started.
        if missed is not None:
            self._send(missed)
        timer = threading.Timer(limit or 0, self.kill_group)  # `process.wait(limit)` would poll.
        timer.daemon = True
        if limit is not None:
            timer.start()
        code = process.wait()
        timer.cancel()
        self.seconds = time.monotonic() - started
        return code if code >= 0 else 128 - code

    def kill_group(self) -> None:
        """Kill the process group of the latest run, unless it is the group of this process."""
        if self._process and not self._shares_terminal:
            self._send(KILL)

    def end(self) -> None:
        """End the command if it still runs: first with SIGTERM, then with SIGKILL."""
        if self.signal is None and not self._has_ended:
            self.signal = signal.SIGTERM
        for number in (signal.SIGTERM, KILL):
            process = self._process
            if process and process.poll() is None:
                self._send(number)
            if self._thread:
                self._thread.join(self._grace)

    def _forward(self, number: int, frame: FrameType | None, repeat_window: float = 0.2) -> None:
        """Forward the first signal. The second signal kills the command and this process.

        A signal in the next `repeat_window` seconds is a repetition: timeout(1) sends its signal to
        the process and to its group.
        """
        now = time.monotonic()
        with self._lock:
            is_first = self.signal is None
            has_process = self._process is not None
            if is_first:
                self.signal = number
                self._signalled_at = now
        if is_first:
            # A terminal sends Ctrl-C to the command, too.
            is_known = self._shares_terminal and number != signal.SIGTERM
            if has_process and not is_known:
                self._send(number)
        elif has_process and now - self._signalled_at > repeat_window:
            self._send(KILL)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _send(self, number: int) -> None:
        """Send a signal to the command, and to its children if it has a group of its own."""
        assert self._process is not None
        # macOS raises PermissionError if the group has ended.
        with suppress(ProcessLookupError, PermissionError):
            if self._shares_terminal:
                self._process.send_signal(number)
            else:
                os.killpg(self._process.pid, number)


def has_terminal() -> bool:
    """Return whether this process is in the foreground of the terminal that it reads from."""
    if not hasattr(os, "killpg"):  # Windows has no process groups.
        return True
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # It is not the controlling terminal, such as after `setsid`.
        return False
