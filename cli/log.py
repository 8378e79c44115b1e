"""The log of a run: on stderr, in the file of --log, and its latest lines for the end.

stderr has a thread of its own, so that a reader that does not read blocks no request.
`logging.handlers.QueueListener` waits at its end for whoever does not read, and counts nothing.
"""

import io
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from queue import SimpleQueue
from typing import Any, TextIO

from flask import Response, g, request

import server
import stub
from store import Clock, utc_now
from web.access_log import line_of
from web.redaction import Redactor, name_of_host, printable
from web.routing import is_control_path

from .log_file import LogFile, members_of, members_of_rejected
from .options import Settings

UNLOGGED = (f"{stub.POLL_PATH}/", "/_stub/health", "/_stub/ready")  # where they succeed
LATEST = 20  # lines that the end of a run shows
MAX_WAITING = 1000  # pieces of text
WRITE_GRACE = 1.0  # seconds to write what is waiting at the end


class BackgroundWriter(io.TextIOBase):
    """A text stream to a file descriptor; `write()` never blocks.

    Text that does not fit into the queue is dropped. The number of dropped lines is written once
    there is room.
    """

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._dropped = 0
        self._lock = threading.RLock()  # the garbage collector may write a warning at any time
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        with self._lock:
            if self._waiting.qsize() < MAX_WAITING:
                self._waiting.put(text)
            else:
                self._dropped += text.count("\n")
        return len(text)

    def finish(self) -> None:
        """Write what is waiting, for up to `WRITE_GRACE` seconds."""
        self._waiting.put(None)
        self._thread.join(WRITE_GRACE)

    def _run(self) -> None:
        while (text := self._waiting.get()) is not None:
            with self._lock:
                dropped = self._dropped
                self._dropped = 0
            if dropped:
                text += f"{dropped} lines were dropped: stderr was not read\n"
            with suppress(OSError):  # nobody reads any more
                self._send(text.encode(self._encoding, "backslashreplace"))

    def _send(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # noqa: PERF203  # another process made it non-blocking
                select.select([], [self._descriptor], [])


@contextmanager
def background_stderr(stderr: TextIO) -> Iterator[None]:
    """Make `stderr` the process' own, written in the background; a closed one stays closed."""
    stream: Any = stderr
    with ExitStack() as stack:
        with suppress(AttributeError, OSError):  # there is none, or it is not that of a process
            stream = BackgroundWriter(stderr.fileno(), stderr.encoding)
            stack.callback(stream.finish)
        stack.enter_context(redirect_stderr(stream))
        yield


def say(text: str) -> None:
    """Write to stderr; ignore a closed stream."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


class Log:
    """The log of a run. With --quiet only what a client's own output may not show is printed.

    `shows_latest` is whether the end of the run may show the latest lines that were not printed.
    `clock` tells the time of the lines in the file. Raises `OSError` if that cannot be written.
    """

    _file: LogFile | None = None
    _lost = 0  # lines that the file could not take

    def __init__(self, settings: Settings, *, shows_latest: bool, clock: Clock = utc_now) -> None:
        self.redactor = Redactor(settings.secrets)
        self._quiet = settings.quiet
        if settings.log:
            self._file = LogFile(settings.log, clock)
        self._has_readers = bool(shows_latest or not settings.quiet or settings.log)
        self._latest: deque[str] = deque(maxlen=LATEST)  # lines that were not printed
        self.is_muted = False  # whether only the file gets what comes
        self._hints: set[str] = set()

    def add(self, response: Response) -> Response:
        """The last step of a request: log its response."""
        path = request.environ["PATH_INFO"]
        status = response.status_code
        if not self._has_readers and status < 400:
            return response
        # The console has many files and asks each second, a health check every 5 seconds.
        if path == stub.POLL_PATH or (status == 200 and path.startswith(UNLOGGED)):
            return response
        is_control = is_control_path(path)
        line = line_of(response, self.redactor)
        self._write_to_file(line, lambda: members_of(response, self.redactor))
        self._write(
            line,
            is_printed=is_control and status >= 400,  # a test's own log may not show it
            is_kept=not is_control,
        )
        if "hint" in g:
            self._hint(g.hint)
        return response

    def add_rejected(self, rejected: server.RejectedRequest) -> None:
        """Log a request that the server rejected."""
        line = "a request"
        if rejected.target:
            line = self.redactor.target(f"{rejected.method} {rejected.target}")
        if rejected.status:
            line += f" {rejected.status}"
        line += f" {rejected.code} ({rejected.detail})\n"
        path, _, _ = rejected.target.partition("?")
        self._write_to_file(line, lambda: members_of_rejected(rejected, self.redactor))
        self._write(line, is_printed=is_control_path(path))
        if rejected.code == "host_not_allowed":
            host = self.redactor.host(rejected.host)
            name = name_of_host(host)
            self._hint(f"Host {host} is not served: start with --trusted-host {name}")

    def latest(self) -> str:
        """The latest lines that were not printed."""
        before = "(--log FILE has all lines)\n" if len(self._latest) == LATEST else ""
        return before + "".join(self._latest)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _hint(self, hint: str) -> None:
        """Print what to start with instead: each text once."""
        text = printable(self.redactor.text(hint)) + "\n"
        if text not in self._hints:
            self._hints.add(text)
            self._write_to_file(text)
            self._write(text, is_printed=True)

    def _write_to_file(
        self, line: str, members: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        """Add to the file of --log. What it cannot take is counted, and breaks no request."""
        if not self._file:
            return
        try:
            self._file.add(line, members)
        except OSError as error:
            with suppress(OSError):
                self._file.close()  # the next line opens it
            if not self._lost:
                say(f"warning: --log: {error.strerror}: lines are lost until this ends\n")
            self._lost += 1
            return
        if self._lost:
            say(f"--log: it can be written again; {self._lost} lines were lost\n")
            self._lost = 0

    def _write(self, text: str, *, is_printed: bool = False, is_kept: bool = True) -> None:
        """Write a line to stderr, or keep it among the latest lines."""
        if self.is_muted:
            return
        if is_printed or not self._quiet:
            say(text)
        elif is_kept:
            self._latest.append(text)
