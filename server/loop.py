"""The server: its connections, its threads, the loop that reads and sends, and its end."""

import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, create_server
from waitress.task import WSGITask

from .options import App, ServerOptions
from .protocol import MAX_BODY, MAX_HEAD, Parser, RejectionTask

TICK = 1.0  # seconds between two looks for idle connections, where nothing else happens


class AppTask(WSGITask):
    channel: Any
    request: Parser  # type: ignore[assignment]

    def get_environment(self) -> dict[str, Any]:
        """What WSGI lacks: the end of the connection, and a wait on purpose."""
        environ: dict[str, Any] = super().get_environment()
        environ["server.close"] = self.request.close_connection
        environ["server.drop"] = self.drop
        environ["server.is_open"] = self.is_open
        environ["server.waiting"] = self.channel.owner.waiting
        return environ

    def write(self, data: bytes) -> None:
        """Send the head and what is there of the body in one piece."""
        if self.wrote_header:
            super().write(data)
        else:
            with self.channel.in_one_piece():
                super().write(data)

    def drop(self) -> None:
        """Send no head, and end the connection; the body must be empty."""
        self.wrote_header = True
        self.close_on_finish = True

    def is_open(self) -> bool:
        """Whether the client has not closed the connection, and the server goes on."""
        sock = self.channel.socket
        if self.channel.owner.is_stopping or sock is None:  # closed by this side
            return False
        try:
            return bool(sock.recv(1, socket.MSG_PEEK))
        except OSError as error:
            return isinstance(error, BlockingIOError)


class Connection(HTTPChannel):
    task_class = AppTask
    error_task_class = RejectionTask

    owner: "Server"
    requests: list[Parser]  # that have arrived
    request: Parser | None  # that arrives
    requests_lock: Any
    pieces: list[bytes] | None = None

    @contextmanager
    def in_one_piece(self) -> Iterator[None]:
        """Send at once what is written meanwhile, by one thread."""
        pieces: list[bytes] = []
        self.pieces = pieces
        try:
            yield
        finally:
            self.pieces = None
        self.write_soon(b"".join(pieces))

    def write_soon(self, data: Any) -> int:
        if self.pieces is None:
            return int(super().write_soon(data) or 0)
        self.pieces.append(data)
        return len(data)


class Server:
    """Listens on the sockets from the start. `run()` until `stop()`; then `close()`."""

    is_stopping = False
    is_closed = False

    def __init__(
        self,
        app: App,
        sockets: Sequence[socket.socket],
        hosts: re.Pattern[str],
        connections: int,
        options: ServerOptions,
    ) -> None:
        self.options = options
        self.effective_port: int = sockets[0].getsockname()[1]
        self.trigger_lock = RLock()  # a signal handler may interrupt what holds it
        self.threads_lock = Lock()
        self.thread_count = options.threads
        self.map: dict[int, Any] = {}  # what waitress polls, by descriptor
        settings: dict[str, Any] = {
            "sockets": sockets,
            "threads": options.threads,
            "connection_limit": connections,
            "max_request_header_size": MAX_HEAD + 1,
            "max_request_body_size": MAX_BODY + 1,
            "inbuf_overflow": 2 * MAX_BODY,  # neither a request nor a response goes to the disk
            "outbuf_overflow": 2 * MAX_BODY,
            "clear_untrusted_proxy_headers": False,  # the app gets the fields as they were sent
        }
        made = create_server(app, self.map, **settings)
        self.dispatcher: Any = made.task_dispatcher
        self.listeners = [each for each in self.map.values() if isinstance(each, BaseWSGIServer)]
        for each in self.listeners:
            each.channel_class = connection_class(self, hosts)

    @property
    def connections(self) -> list[Connection]:
        return [each for each in self.map.values() if isinstance(each, Connection)]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a request waits on purpose, one more thread serves the others."""
        is_added = self.add_threads(1)
        try:
            yield
        finally:
            if is_added:
                self.add_threads(-1)

    def add_threads(self, count: int) -> bool:
        """Start or end threads; False if the server is closed, or no more can be started."""
        with self.threads_lock:
            if self.is_closed:
                return False
            known = {*self.dispatcher.threads}
            try:
                self.dispatcher.set_thread_count(self.thread_count + count)
            except RuntimeError:
                with self.dispatcher.lock:  # waitress has counted a thread that did not start
                    self.dispatcher.threads &= known
                return False
            self.thread_count += count
            return True

    def run(self) -> None:
        try:
            while not self.is_stopping:
                self.run_once(TICK)
            self.drain()
        finally:
            for each in self.connections:
                each.handle_close()

    def run_once(self, timeout: float) -> None:
        # poll: waitress' select() fails on a descriptor above 1023.
        wasyncore.loop(timeout, use_poll=True, map=self.map, count=1)

    def stop(self) -> None:
        """End `run()`, from any thread or a signal handler."""
        self.is_stopping = True
        with self.trigger_lock:
            if not self.is_closed:  # the descriptor of the trigger may be that of another file
                self.listeners[0].pull_trigger()

    def drain(self) -> None:
        """Respond to each request whose head has been received, for up to `grace` seconds.

        waitress would lose it at SIGTERM, and after 5 seconds at SIGINT.
        """
        ends = time.monotonic() + self.options.grace
        known = 0
        while known != len(self.map):  # accept what the kernel has received
            known = len(self.map)
            for each in self.listeners:
                each.handle_accept()
        self.run_once(0)
        self.close_listeners()
        while True:
            for connection in self.connections:
                end(connection)
            left = ends - time.monotonic()
            if not self.connections or left <= 0:
                return
            self.run_once(min(TICK, left))

    def close_listeners(self) -> None:
        for each in self.listeners:
            wasyncore.dispatcher.close(each)  # without its trigger, which wakes the loop

    def close(self) -> None:
        self.close_listeners()
        with self.trigger_lock, self.threads_lock:
            self.is_closed = True
        self.dispatcher.shutdown(timeout=0.5)  # seconds, in which idle threads end
        for each in self.listeners:
            each.close()


def connection_class(server: Server, hosts: re.Pattern[str]) -> type[Connection]:
    """waitress makes the connections and the parsers itself: the class has what they need."""

    class BoundParser(Parser):
        hosts_served = hosts

    class BoundConnection(Connection):
        parser_class = BoundParser
        owner = server

    return BoundConnection


def end(connection: Connection) -> None:
    """Close a connection after the last request whose head has arrived."""
    with connection.requests_lock:
        current = [*connection.requests]
        if connection.request and connection.request.headers_finished:
            current.append(connection.request)
        if current:
            current[-1].close_connection()
    if not current and not connection.total_outbufs_len:
        connection.handle_close()
