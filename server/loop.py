"""The server: its connections, its loop, and its end."""

import socket
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, create_server
from waitress.task import WSGITask

from . import parser
from .hosts import App
from .problems import RejectionTask

TICK = 1.0  # seconds between two searches for idle connections


class ServerOptions(NamedTuple):
    """The options of a server.

    `grace` are the seconds to finish the current requests after a signal. On loopback the server
    also accepts `trusted_hosts`. It calls `on_listening(port, stop)` at its start, and
    `on_wrong_host(host)` in the thread of a rejected request. `prepare` may be `speed_up`.
    """

    threads: int = 64
    grace: float = 10.0
    trusted_hosts: Collection[str] = ()
    on_listening: Callable[[int, Callable[[], None]], None] = lambda port, stop: None
    on_wrong_host: Callable[[str], None] = lambda host: None
    prepare: Callable[["Server"], None] = lambda server: None


class AppTask(WSGITask):
    """A request whose app can end the connection."""

    channel: "Connection"
    request: parser.Parser  # type: ignore[assignment]

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment with functions for the connection: `server.close`."""
        environ: dict[str, Any] = super().get_environment()
        environ.update(self.make_functions())
        return environ

    def make_functions(self) -> dict[str, Any]:
        """Make the functions. They do not refer to the environment: that would be a cycle."""
        self.channel.was_looked_at = False
        return {
            "server.close": self.request.close_connection,
            "server.drop": self.request.drop,
            "server.is_open": self.channel.is_open,
        }

    def service(self) -> None:
        """Respond. An app cuts a response if it raises `ConnectionError` after its head."""
        try:
            super().service()
        except ConnectionError:  # The connection ends, and there is nothing to log.
            if not self.wrote_header:
                raise

    def build_response_header(self) -> bytes:
        """Return the head of the response, or nothing if the response is dropped."""
        if self.request.is_dropped:
            self.close_on_finish = True
            return b""
        return bytes(super().build_response_header())


class Connection(HTTPChannel):
    """A connection that knows its server."""

    task_class = AppTask
    error_task_class = RejectionTask
    parser_class = parser.Parser

    requests: list[parser.Parser]
    request: parser.Parser | None  # The request whose head or body has not arrived completely.
    requests_lock: Any
    was_looked_at = False  # It is true after the first call of `is_open()` for a request.
    has_half_closed = False

    def __init__(self, owner: "Server", *args: Any, **kwargs: Any) -> None:
        self.owner = owner
        super().__init__(*args, **kwargs)

    def is_open(self, half_closed: float = 0.1) -> bool:
        """Return whether the client waits for the response, and the server continues.

        A FIN may mean that the client has closed the connection, or that it only sends no more, as
        `nc -N` does. It still waits if the FIN came before the first call for this request, or at
        most `half_closed` seconds after the request.
        """
        is_first_look = not self.was_looked_at
        self.was_looked_at = True
        sock = self.socket
        if self.owner.is_stopping or sock is None:  # The server has closed it.
            return False
        if self.has_half_closed:
            return True
        try:
            if sock.recv(1, socket.MSG_PEEK):
                return True
        except OSError as error:
            return isinstance(error, BlockingIOError)
        since = time.time() - self.last_activity
        self.has_half_closed = is_first_look or since < half_closed
        return self.has_half_closed

    def has_input(self) -> bool:
        """Return whether the kernel has received bytes that are not read yet."""
        with suppress(OSError):
            return self.socket is not None and bool(self.socket.recv(1, socket.MSG_PEEK))
        return False


class Server:
    """A server that listens from the start.

    `run()` serves until another thread calls `stop()`. Then call `close()`.
    """

    is_stopping = False
    is_closed = False

    def __init__(self, app: App, sockets: Sequence[socket.socket], options: ServerOptions) -> None:
        self.grace = options.grace
        self.effective_port: int = sockets[0].getsockname()[1]
        self.trigger_lock = RLock()  # A signal handler may interrupt its owner.
        self.map: dict[int, Any] = {}  # waitress polls these dispatchers, by descriptor.
        settings: dict[str, Any] = {
            "sockets": sockets,
            "threads": options.threads,
            "connection_limit": 1000,  # waitress counts its listeners, too; the default is 100.
            "max_request_header_size": parser.MAX_HEAD + 1,
            "max_request_body_size": parser.MAX_BODY + 1,
            # No request or response is written to the disk.
            "inbuf_overflow": 2 * parser.MAX_BODY,
            "outbuf_overflow": 2 * parser.MAX_BODY,
            "clear_untrusted_proxy_headers": False,  # The app gets the fields unchanged.
        }
        made = create_server(app, self.map, **settings)
        self.dispatcher: Any = made.task_dispatcher
        self.listeners = [each for each in self.map.values() if isinstance(each, BaseWSGIServer)]
        self.make_connection: Callable[..., Connection] = Connection
        options.prepare(self)
        for each in self.listeners:
            each.channel_class = partial(self.make_connection, self)  # type: ignore[assignment]

    @property
    def connections(self) -> list[Connection]:
        return [each for each in self.map.values() if isinstance(each, Connection)]

    def run(self) -> None:
        """Serve until `stop()`, then finish the current requests."""
        try:
            while not self.is_stopping:
                self.run_once(TICK)
            self.drain()
        finally:
            for each in self.connections:
                each.handle_close()

    def run_once(self, timeout: float) -> None:
        """Read and send bytes. Wait for them at most `timeout` seconds."""
        # `poll`, since `select` of waitress fails with a descriptor above 1023.
        wasyncore.loop(timeout, use_poll=True, map=self.map, count=1)

    def stop(self) -> None:
        """End `run()`, from any thread or a signal handler."""
        self.is_stopping = True
        with self.trigger_lock:
            if not self.is_closed:  # Another file may have the descriptor of the trigger.
                self.listeners[0].pull_trigger()

    def drain(self) -> None:
        """Respond to all requests with a received head, for up to `grace` seconds.

        waitress would lose these requests at SIGTERM, and after 5 seconds at SIGINT.
        """
        ends = time.monotonic() + self.grace
        known = 0
        while known != len(self.map):  # Accept the connections that the kernel has received.
            known = len(self.map)
            for each in self.listeners:
                each.handle_accept()
        self.run_once(0)
        self.close_listeners()
        while True:
            for connection in self.connections:
                finish(connection)
            left = ends - time.monotonic()
            if not self.connections or left <= 0:
                return
            self.run_once(min(TICK, left))

    def close_listeners(self) -> None:
        """Accept no more connections."""
        for each in self.listeners:
            wasyncore.dispatcher.close(each)  # The trigger stays open: it wakes the loop.

    def close(self) -> None:
        """Close all files, and end the threads."""
        self.close_listeners()
        with self.trigger_lock:
            self.is_closed = True
        self.dispatcher.shutdown(timeout=0.5)  # Idle threads need a moment to end.
        for each in self.listeners:
            each.close()


def finish(connection: Connection) -> None:
    """Close a connection after its last request with a received head.

    If the kernel has bytes of a further request, they are read first.
    """
    with connection.requests_lock:
        current = [*connection.requests]
        if connection.request and connection.request.headers_finished:
            current.append(connection.request)
        if current:
            current[-1].close_connection()
    if current or connection.total_outbufs_len:
        return
    if not (connection.readable() and connection.has_input()):
        connection.handle_close()
