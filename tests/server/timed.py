"""A server on a clock that stands still: a test of minutes takes no time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server import Server
from tests.live import running
from tests.wire import Connection, get


class Timed:
    """A server, and the clock by which it measures how long its clients take."""

    server: Server

    def __init__(self) -> None:
        self.now = 1000.0
        self.step = 0.0  # what each look at the clock takes
        self.read = threading.Event()

    def clock(self) -> float:
        self.read.set()
        self.now += self.step
        return self.now

    @property
    def port(self) -> int:
        return self.server.effective_port

    def serves(self, client: Connection) -> bool:
        """Whether the server still has this connection."""
        channels = list(self.server.active_channels.values())
        return client.sock.getsockname() in [channel.addr for channel in channels]

    def settle(self) -> None:
        """Wait until the server has done what it can with all that was sent to it.

        It has one thread, which serves this request last. The loop accepts the connection in one
        turn, at whose end it closes what is overdue, and reads the request in the next.
        """
        with Connection(self.port) as client:
            client.send(get("/settle"))
            client.until(b"\r\n\r\n")

    def advance(self, seconds: float) -> None:
        """Turn the clock, by at least the half second between two checks of the server."""
        self.settle()
        self.now += seconds
        self.settle()

    def until_it_drains(self) -> None:
        """Stop the server, and wait until it drains, which closes an idle connection."""
        with Connection(self.port) as idle:
            self.server.stop()
            assert idle.closed()
        with pytest.raises(ConnectionRefusedError):
            Connection(self.port)

    def wake(self) -> None:
        """Wait until the loop, which may no longer accept connections, has seen the time."""
        for _ in range(4):  # it reads the clock three times in a turn
            self.read.clear()
            self.server.pull_trigger()
            assert self.read.wait(10)


@contextmanager
def timed(app: Any, **options: Any) -> Iterator[Timed]:
    it = Timed()
    options = {"threads": 1, "clock": it.clock, **options}
    with running(app, **options) as it.server:
        try:
            yield it
        finally:
            it.step = 3600.0  # a drain that waits for a client ends
