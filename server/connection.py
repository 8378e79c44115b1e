"""One connection: its deadline, and an end that loses no response."""

import socket
from contextlib import suppress
from typing import Any

from waitress.channel import HTTPChannel

from .parser import Parser
from .problems import log_failure
from .responses import AppTask, RejectionTask
from .settings import LINGER, Settings


class Connection(HTTPChannel):
    parser_class = Parser
    task_class = AppTask
    error_task_class = RejectionTask

    adj: Settings
    socket: Any
    request: Parser | None  # that arrives
    requests: list[Parser]  # that have arrived
    requests_lock: Any
    linger_until: float | None = None  # by the clock of the options

    def received(self, data: bytes) -> bool:
        return self.linger_until is None and super().received(data)

    def handle_write(self) -> None:
        self._flush_exception(self._flush_some_if_lockable)  # type: ignore[attr-defined]
        if self.will_close:
            self.handle_close()
        elif self.close_when_flushed and self.connected and not self.total_outbufs_len:
            self.linger()

    def linger(self) -> None:
        """Close our side, and read and drop what comes for a moment (RFC 9112 §9.6).

        waitress closes at once. If the client still sends, the kernel resets the connection, and
        the client may lose the response.
        """
        with suppress(OSError):  # a broken connection, which the next poll finds
            self.socket.shutdown(socket.SHUT_WR)
        self.linger_until = self.adj.options.clock() + LINGER
        self.close_when_flushed = False  # which would keep waitress from reading

    def close_if_overdue(self, now: float) -> None:
        """Close a connection whose request has not arrived by its deadline; waitress has none."""
        due = self.linger_until
        if due is None and self.request and not self.requests:
            due = self.request.arriving_since + self.adj.options.deadline
        if due is not None and now > due:
            self.handle_close()

    def end(self) -> None:
        """Close the connection after the last request whose head has arrived."""
        with self.requests_lock:
            started = [*self.requests]
            if self.request and self.request.headers_finished:
                started.append(self.request)
            if started:
                started[-1].close_connection()
        if not started and not self.total_outbufs_len and self.linger_until is None:
            self.handle_close()

    def handle_error(self) -> None:
        log_failure("a connection failed")
        self.handle_close()
