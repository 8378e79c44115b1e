"""One connection: its deadline, its idle time, and an end that loses no response."""

import socket
from contextlib import suppress
from typing import Any

from waitress.channel import HTTPChannel

from .parser import Parser
from .problems import log_failure
from .responses import AppTask, RejectionTask
from .settings import IDLE, LINGER, MAX_BODY, MAX_HEAD, Settings


class Connection(HTTPChannel):
    parser_class = Parser
    task_class = AppTask
    error_task_class = RejectionTask

    adj: Settings
    socket: Any
    request: Parser | None  # that arrives
    requests: list[Parser]  # that have arrived
    requests_lock: Any
    is_waiting = False  # whether a request waits for the client to read; under requests_lock
    active_at: float  # by the clock of the options, as the time below
    linger_until: float | None = None

    def note_activity(self, _: float) -> None:
        self.active_at = self.adj.options.clock()

    # waitress uses the wall clock. When it jumps, every client would be idle.
    last_activity: Any = property(fset=note_activity)

    # Urgent data, which HTTP does not have: waitress logs it again and again, at full speed.
    handle_expt = HTTPChannel.handle_close

    def received(self, data: bytes) -> bool:
        return self.linger_until is None and super().received(data)

    def handle_write(self) -> None:
        # Always under the lock: waitress flushes without it when no request is running, while a
        # worker may be sending a deferred 100 Continue.
        self._flush_exception(self._flush_some_if_lockable)  # type: ignore[attr-defined]
        with self.requests_lock:  # add_task() holds it, too, so no request is missed
            if self.is_waiting:
                self.server.add_task(self)  # type: ignore[arg-type]
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and self.connected and not self.total_outbufs_len:
            self.linger()

    def linger(self) -> None:
        """Close our side, and read and drop what comes for a moment (§9.6).

        waitress closes at once. If the client still sends, the kernel resets the connection, and
        the client may lose the response.
        """
        with suppress(OSError):  # a broken connection, which the next poll finds
            self.socket.shutdown(socket.SHUT_WR)
        self.linger_until = self.adj.options.clock() + LINGER
        self.close_when_flushed = False  # which would keep waitress from reading

    def close_if_overdue(self, now: float) -> None:
        """Close a connection that has taken too long.

        waitress allows a request any time to arrive, and never closes a connection whose client
        does not read its response.
        """
        if self.requests and not self.total_outbufs_len:
            self.active_at = now  # the client waits for the app
        due = self.active_at + IDLE
        if self.linger_until is not None:
            due = self.linger_until
        elif self.request and (self.requests or self.total_outbufs_len):
            self.request.arriving_since = now  # nothing is read meanwhile
        elif self.request:
            due = self.request.arriving_since + self.adj.options.deadline
        if now > due:
            self.handle_close()

    def read_last(self) -> None:
        """Read what the kernel has received, even while a request is running.

        The last request then closes the connection. Without one and without output it closes now.
        """
        with suppress(OSError):  # nothing there, or a broken connection, which the next poll finds
            self.received(self.socket.recv(MAX_HEAD + MAX_BODY))
        with self.requests_lock:
            last = self.last_request()
            if last:
                last.close_connection()
        if not (last or self.total_outbufs_len or self.linger_until):
            self.handle_close()

    def last_request(self) -> Parser | None:
        """The last request whose head has arrived; some of its body may be missing."""
        if self.request and self.request.headers_finished:
            return self.request
        return next(reversed(self.requests), None)

    def handle_error(self) -> None:
        log_failure("a connection failed")
        self.handle_close()
