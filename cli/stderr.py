"""The program's stderr: a thread writes to it, so that a reader that does not read blocks nobody.

Not a `QueueHandler` of `logging`: at its end it waits for whoever does not read, and warnings and
tracebacks pass it by.
"""

import io
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from queue import SimpleQueue
from typing import TextIO

MAX_WAITING = 1000  # pieces of text
WRITE_GRACE = 1.0  # seconds to write what is waiting at the end


class BackgroundWriter(io.TextIOBase):
    """A text stream to a file descriptor; `write()` never blocks.

    Text that does not fit into the queue is dropped.
    """

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        # Not in the thread, which an exception would end.
        data = text.encode(self._encoding, "backslashreplace")
        if self._waiting.qsize() < MAX_WAITING:
            self._waiting.put(data)
        return len(text)

    def finish(self) -> None:
        """Write what is waiting, for up to `WRITE_GRACE` seconds."""
        self._waiting.put(None)
        self._thread.join(WRITE_GRACE)

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None:
            # Nobody reads any more; or select() has no place for a descriptor above 1023.
            with suppress(OSError, ValueError):
                self._send(data)

    def _send(self, data: bytes) -> None:
        while data:
            try:
                sent = os.write(self._descriptor, data)
            except BlockingIOError:  # another process made it non-blocking
                select.select([], [self._descriptor], [])
            else:
                data = data[sent:]


@contextmanager
def background_stderr(stderr: TextIO) -> Iterator[None]:
    """Make `stderr` the process' own, written in the background; a closed one stays closed."""
    with ExitStack() as stack:
        stream = stderr
        # There is none, it is not that of a process, or no more threads can be started.
        with suppress(AttributeError, OSError, RuntimeError):
            writer = BackgroundWriter(stderr.fileno(), stderr.encoding)
            stack.callback(writer.finish)
            stream = writer  # type: ignore[assignment]
        stack.enter_context(redirect_stderr(stream))
        yield


def say(text: str) -> None:
    """Write to stderr; ignore a closed stream."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(text)


def say_error(message: str) -> None:
    """Say what is wrong, each line of it as an error."""
    for line in message.split("\n"):
        say(f"error: {line}\n")
