"""One connection: its deadline, its idle time, and an end that loses no response."""

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from waitress.channel import HTTPChannel

from .parser import Parser
from .problems import log_failure
from .responses import AppTask, RejectionTask
from .settings import IDLE, LINGER, MAX_BODY, MAX_HEAD, Settings


class Connection(HTTPChannel):
    """A client's connection."""

    parser_class = Parser
    task_class = AppTask
    error_task_class = RejectionTask

    adj: Settings
    socket: Any
    requests: list[Parser]
    requests_lock: threading.Lock
    _flush_exception: Callable[..., object]
    _flush_some_if_lockable: Callable[..., object]
    is_waiting = False  # whether a request waits for the client to read; under requests_lock
    active_at: float  # by the clock of the options, as the times below
    arriving_since: float | None = None  # when the first byte of a request came
    linger_until: float | None = None

    @property
    def last_activity(self) -> float:
        return self.active_at

    @last_activity.setter
    def last_activity(self, _: float) -> None:
        # waitress uses the wall clock. When it jumps, every client would be idle.
        self.active_at = self.adj.options.clock()

    def received(self, data: bytes) -> bool:
        previous = self.request
        accepted = super().received(data)
        if self.request is None:
            self.arriving_since = None
        elif self.request is not previous:
            self.arriving_since = self.adj.options.clock()
        return accepted

    def readable(self) -> bool:
        return self.linger_until is not None or super().readable()

    def writable(self) -> bool:
        return self.linger_until is None and bool(super().writable())

    def write_soon(self, data: bytes) -> int:
        self.active_at = self.adj.options.clock()  # the app may have taken its time
        return super().write_soon(data)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Do not block the thread, as waitress would: unread output stays in memory.

        The next request of the connection waits instead, from `must_wait()` to `handle_write()`.
        """

    def must_wait(self) -> bool:
        """Whether the next request waits, as too much is unread; its `requests_lock` is held."""
        self.is_waiting = self.total_outbufs_len > self.adj.outbuf_high_watermark
        return self.is_waiting

    def handle_write(self) -> None:
        # Always under the lock: waitress flushes without it when no request is running, while a
        # worker may be sending a deferred 100 Continue.
        self._flush_exception(self._flush_some_if_lockable)
        with self.requests_lock:  # must_wait() holds it, too, so no request is missed
            if self.is_waiting:
                self.server.add_task(self)  # type: ignore[arg-type]
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and self.connected and not self.total_outbufs_len:
            self.linger()

    def service(self) -> None:
        try:
            super().service()
        except BaseException as error:  # whose message the thread pool would log
            log_failure("a request failed", error)
            self.will_close = True

    def linger(self) -> None:
        """Close our side and read on for a moment (§9.6).

        waitress closes at once. If the client still sends, the kernel resets the connection, and
        the client may lose the response.
        """
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()
        else:
            self.linger_until = self.adj.options.clock() + LINGER

    def close_if_overdue(self, now: float) -> None:
        """Close a connection that has taken too long.

        waitress allows a request any time to arrive, and never closes a connection whose client
        does not read its response.
        """
        idle = now - self.active_at > IDLE
        if self.linger_until is not None:
            overdue = now > self.linger_until
        elif self.requests or self.total_outbufs_len:
            overdue = idle and self.total_outbufs_len > 0
            if self.arriving_since is not None:
                self.arriving_since = now  # nothing is read meanwhile: the client waits for us
        elif self.arriving_since is not None:
            overdue = now - self.arriving_since > self.adj.options.deadline
        else:
            overdue = idle
        if overdue:
            self.handle_close()

    def read_last(self) -> None:
        """Read what the kernel has received, even while a request is running.

        The last request then closes the connection. Without requests and output it closes now.
        """
        with suppress(OSError):  # nothing there, or a broken connection, which the next poll finds
            self.received(self.socket.recv(MAX_HEAD + MAX_BODY))
        with self.requests_lock:
            if self.requests:
                self.requests[-1].close_connection()
        if not (self.requests or self.total_outbufs_len or self.linger_until):
            self.handle_close()

    def handle_expt(self) -> None:
        # Urgent data, which HTTP does not have: waitress logs it again and again, at full speed.
        self.handle_close()

    def handle_error(self) -> None:
        log_failure("a connection failed", sys.exc_info()[1])
        self.handle_close()
