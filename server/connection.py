"""One connection: its deadline, an end that loses no response, and the tasks of its requests.

A task is one request served, by the app or by an error of the server's own.
"""

import logging
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.task import ErrorTask, Task, WSGITask

from .parser import Parser, Rejection
from .settings import LINGER, MAX_JOINED, RejectedRequest, Settings


class ResponseTask(Task):
    """What the responses of the app and of the server have in common."""

    request: Parser  # type: ignore[assignment]
    is_dropped = False  # whether nothing is to be sent

    def service(self) -> None:
        # waitress would log the path, which may hold a token. For an OSError of the app it would
        # close the connection without a response or a log line.
        try:
            self.start()
            self.execute()  # type: ignore[attr-defined]
            self.finish()
        except ClientDisconnected:
            self.close_on_finish = True
        except BaseException:  # SystemExit, too, would leave the connection open
            log_failure("an exception escaped the app")
            if not self.wrote_header and self.request.error is None:
                self.request.error = Rejection(code="internal_error")
                RejectionTask(self.channel, self.request).service()  # type: ignore[arg-type]
            self.close_on_finish = True

    def write(self, data: bytes) -> None:
        """Send the head and a short body at once; waitress sends the head alone."""
        if self.is_dropped:
            raise ClientDisconnected
        if len(data) == self.content_length and len(data) < MAX_JOINED:
            head = self.build_response_header()
            self.wrote_header = True
            self.content_bytes_written = len(data)
            self.channel.write_soon(head + data)
        else:
            super().write(data)


class AppTask(ResponseTask, WSGITask):
    def get_environment(self) -> dict[str, Any]:
        environ = super().get_environment()
        # waitress strips leading slashes, which makes another path of the one that was sent.
        environ["PATH_INFO"] = self.request.path
        # Ends the connection after this response: PEP 3333 forbids an app the header for it.
        environ["server.close"] = self.request.close_connection
        environ["server.drop"] = self.drop
        environ["server.is_open"] = self.is_open
        server: Any = self.channel.server
        environ["server.waiting"] = server.waiting
        return environ

    def drop(self) -> None:
        """Send nothing, and end the connection."""
        self.is_dropped = True

    def is_open(self) -> bool:
        """Whether the client has not closed the connection, and the server goes on."""
        server: Any = self.channel.server
        sock: Any = self.channel.socket
        if server.is_stopping or sock is None:  # closed by this side
            return False
        try:
            return bool(sock.recv(1, socket.MSG_PEEK))
        except OSError as error:
            return isinstance(error, BlockingIOError)


class RejectionTask(ResponseTask, ErrorTask):
    """A response of the server's own. waitress sends text/plain, perhaps as HTTP/1.0."""

    def execute(self) -> None:
        request = self.request
        options = request.adj.options
        error = request.error
        assert error
        rejected = RejectedRequest(*request.sent, error.status, error.code, error.detail)
        options.on_rejected(rejected)
        more = options.headers_for(request.headers.get("ORIGIN"))
        self.version = "1.1"
        self.status = f"{error.status} {error.title}"
        self.response_headers = [
            ("Cache-Control", "no-store"),
            ("Content-Type", "application/problem+json"),
            *more.items(),
        ]
        self.content_length = len(error.body)
        request.close_connection()
        self.write(b"" if request.command == "HEAD" else error.body)


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
    linger_until: float | None = None  # by the clock of the options
    is_noted = False  # whether a request that did not arrive whole was reported

    def handle_expt(self) -> None:
        # Urgent data, which HTTP does not have: waitress logs it again and again, at full speed.
        self.handle_close()

    def received(self, data: bytes) -> bool:
        return self.linger_until is None and super().received(data)

    def handle_write(self) -> None:
        self._flush_exception(self._flush_some_if_lockable)  # type: ignore[attr-defined]
        with self.requests_lock:  # add_task() holds it, too, so no request is missed
            if self.is_waiting:
                self.server.add_task(self)  # type: ignore[arg-type]
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
        if self.linger_until is not None:
            if now > self.linger_until:
                self.handle_close()
        elif self.request and not self.requests:
            deadline = self.adj.options.deadline
            if now > self.request.arriving_since + deadline:
                self.note_incomplete(f"it did not arrive whole within {deadline:g} seconds")
                self.handle_close()

    def handle_close(self) -> None:
        server: Any = self.server
        what = "the server stopped" if server.is_stopping else "the connection ended"
        self.note_incomplete(f"{what} before it had arrived whole")
        super().handle_close()

    def note_incomplete(self, reason: str) -> None:
        """Report a request of which only a part has arrived, once; it gets no response."""
        request = self.request
        if request and request.has_begun and not self.is_noted:
            self.is_noted = True
            rejected = RejectedRequest(*request.sent, None, "incomplete_request", reason)
            self.adj.options.on_rejected(rejected)

    def end(self) -> None:
        """Close the connection after the last request whose head has arrived."""
        with self.requests_lock:
            last = self.requests[-1] if self.requests else None
            if self.request and self.request.headers_finished:
                last = self.request
            if last:
                last.close_connection()
        is_idle = not last and not self.total_outbufs_len
        if is_idle and self.linger_until is None:
            self.handle_close()

    def handle_error(self) -> None:
        log_failure("a connection failed")
        self.handle_close()


def log_failure(what: str) -> None:
    """Log where the current exception came from but not its message: it may quote the request."""
    kind, _, trace = sys.exc_info()
    frames = "".join(traceback.format_tb(trace))
    logging.getLogger(__name__).error("%s: %s\n%s", what, kind and kind.__name__, frames)
