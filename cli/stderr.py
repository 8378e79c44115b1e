"""stderr through a thread of its own, so that a reader that does not read blocks no request.

`logging.handlers.QueueListener` waits at its end for whoever does not read, and counts nothing.
"""

import io
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TextIO

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

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def finish(self) -> None:
        """Write what is waiting, for up to `WRITE_GRACE` seconds."""
        self._waiting.put(None)
        self._thread.join(WRITE_GRACE)

    def _run(self) -> None:
        while (text := self._waiting.get()) is not None:
            with self._lock:
                dropped, self._dropped = self._dropped, 0
            if dropped:
                text += f"{dropped} lines were dropped: stderr was not read\n"
            self._send(text)

    def _send(self, text: str) -> None:
        data = text.encode(self._encoding, "backslashreplace")
        with suppress(OSError):  # nobody reads any more
            while data:
                data = data[self._send_some(data) :]

    def _send_some(self, data: bytes) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # a descriptor that another process made non-blocking
            select.select([], [self._descriptor], [])
            return 0


@contextmanager
def background_stderr(stderr: TextIO) -> Iterator[None]:
    """Make `stderr` the process' own, written in the background; a closed one stays closed."""
    previous = sys.stderr
    try:
        writer = BackgroundWriter(stderr.fileno(), stderr.encoding)
    except (AttributeError, OSError, RuntimeError):  # RuntimeError: no thread can be started
        writer = None
    sys.stderr = writer or stderr
    try:
        yield
    finally:
        sys.stderr = previous
        if writer:
            writer.finish()


def say(text: str) -> None:
    """Write to stderr; ignore a closed stream."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)
