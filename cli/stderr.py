"""Writes to stderr in a thread, so that a request never waits for the reader of a full pipe.

`logging.handlers.QueueHandler` does not help: its end waits for the reader, and it does not get
warnings and tracebacks.
"""

import io
import os
import select
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from queue import SimpleQueue
from typing import TextIO


class BackgroundWriter(io.TextIOBase):
    """A text stream to a file descriptor. `write()` never blocks.

    If `max_waiting` texts wait in its queue, further texts are dropped.
    """

    def __init__(self, descriptor: int, encoding: str, max_waiting: int = 1000) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._max_waiting = max_waiting
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        # An exception here does not end the thread.
        data = text.encode(self._encoding, "backslashreplace")
        if self._waiting.qsize() < self._max_waiting:
            self._waiting.put(data)
        return len(text)

    def finish(self, grace: float = 1.0) -> None:
        """Write the waiting texts for up to `grace` seconds."""
        self._waiting.put(None)
        self._thread.join(grace)

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None:
            # Nobody reads any more. Or the descriptor is above 1023: select() raises ValueError.
            with suppress(OSError, ValueError):
                self._send(data)

    def _send(self, data: bytes) -> None:
        while data:
            try:
                sent = os.write(self._descriptor, data)
            except BlockingIOError:  # Another process made it non-blocking.
                select.select([], [self._descriptor], [])
            else:
                data = data[sent:]


@contextmanager
def background_stderr(stderr: TextIO) -> Iterator[None]:
    """Replace `sys.stderr` by `stderr`, and write to it in the background."""
    with ExitStack() as stack:
        stream = stderr
        # stderr may be closed, or no file, or no thread can be started: then use it directly.
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
    """Print the lines of a message as errors: `error: x.json: it has no projects`."""
    for line in message.split("\n"):
        say(f"error: {line}\n")


def annotate(environ: Mapping[str, str], kind: str, messages: Sequence[str]) -> None:
    """Print messages for GitHub Actions: `::error title=deployment-stub::no request`.

    `kind` is `error` or `warning`. Elsewhere nothing is printed.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    lines = []
    for message in messages:
        escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        lines.append(f"::{kind} title=deployment-stub::{escaped}\n")
    say("".join(lines))  # One call, since calls are dropped if nobody reads stderr.
