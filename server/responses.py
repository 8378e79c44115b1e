"""Tasks: one request served, by the app or by an error of the server's own."""

import socket
from typing import Any

from waitress.channel import ClientDisconnected
from waitress.task import ErrorTask, Task, WSGITask

from .parser import Parser
from .problems import Rejection, log_failure
from .settings import MAX_JOINED, RejectedRequest


class ResponseTask(Task):
    """What the responses of the app and of the server have in common."""

    request: Parser  # type: ignore[assignment]
    is_dropped = False

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
            return
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
        return environ

    def drop(self) -> None:
        """Send nothing of this response, and close the connection."""
        self.is_dropped = self.close_on_finish = True

    def is_open(self) -> bool:
        """Whether the client has not closed the connection."""
        sock: Any = self.channel.socket
        try:
            return bool(sock.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:  # also one that this side has closed
            return False


class RejectionTask(ResponseTask, ErrorTask):
    """A response of the server's own. waitress sends text/plain, perhaps as HTTP/1.0."""

    def execute(self) -> None:
        request, error, options = self.request, self.request.error, self.request.adj.options
        assert error
        headers = {"Cache-Control": "no-store", "Content-Type": "application/problem+json"}
        headers.update(options.headers_for(request.headers.get("ORIGIN")))
        sent = (request.command, request.request_uri, request.headers.get("HOST", ""))
        options.on_rejected(RejectedRequest(*sent, error.status, error.code, error.detail))
        self.version = "1.1"
        self.status = f"{error.status} {error.title}"
        self.response_headers = list(headers.items())
        self.content_length = len(error.body)
        request.close_connection()
        self.write(b"" if request.command == "HEAD" else error.body)
