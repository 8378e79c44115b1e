"""The server: its connections, the loop that reads and sends, and its end."""

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

from .hosts import App
from .parser import MAX_BODY, MAX_HEAD, Parser
from .problems import RejectionTask

TICK = 1.0  # seconds between two looks for idle connections, where nothing else happens
MAX_CONNECTIONS = 1000  # waitress counts its listeners, too; its own limit is 100
HALF_CLOSED = 0.1  # seconds after its request in which a client that sends its end waits on


class ServerOptions(NamedTuple):
    """How to serve. `on_wrong_host` is called with a host in the thread of its request."""

    threads: int = 64
    grace: float = 10.0  # seconds to finish the current requests after a signal
    trusted_hosts: Collection[str] = ()  # served on loopback besides its own names and the host
    on_listening: Callable[[int, Callable[[], None]], None] = lambda port, stop: None
    on_wrong_host: Callable[[str], None] = lambda host: None
    prepare: Callable[["Server"], None] = lambda server: None  # as `speed_up`


class AppTask(WSGITask):
    """Lets the app end its connection."""

    channel: "Connection"
    request: Parser  # type: ignore[assignment]

    def get_environment(self) -> dict[str, Any]:
        """Add what WSGI lacks: functions for the connection of the request."""
        environ: dict[str, Any] = super().get_environment()
        environ.update(self.connection_members())
        return environ

    def connection_members(self) -> dict[str, Any]:
        """Return three functions. None refers to the environment, which would be a cycle."""
        self.channel.was_looked_at = False
        return {
            "server.close": self.request.close_connection,
            "server.drop": self.request.drop,
            "server.is_open": self.channel.is_open,
        }

    def build_response_header(self) -> bytes:
        """Return the head of the response; nothing of a dropped one."""
        if self.request.is_dropped:
            self.close_on_finish = True
            return b""
        return bytes(super().build_response_header())


class Connection(HTTPChannel):
    """A connection that knows its server."""

    task_class = AppTask
    error_task_class = RejectionTask
    parser_class = Parser

    requests: list[Parser]  # that have arrived
    request: Parser | None  # that arrives
    requests_lock: Any
    was_looked_at = False  # by `is_open`, since the request began
    has_half_closed = False

    def __init__(self, owner: "Server", *args: Any, **kwargs: Any) -> None:
        self.owner = owner
        super().__init__(*args, **kwargs)

    def is_open(self) -> bool:
        """Return whether the client waits for the response, and the server goes on.

        A client that sends its end (FIN) may have closed, or only have said that it sends no more.
        It waits if it does so right after its request, as `nc -N`, which is before the first look,
        however late that is; and has left if it does so later.
        """
        is_first_look = not self.was_looked_at
        self.was_looked_at = True
        sock = self.socket
        if self.owner.is_stopping or sock is None:  # closed by this side
            return False
        if self.has_half_closed:
            return True
        try:
            if sock.recv(1, socket.MSG_PEEK):
                return True
        except OSError as error:
            return isinstance(error, BlockingIOError)
        since = time.time() - self.last_activity
        self.has_half_closed = is_first_look or since < HALF_CLOSED
        return self.has_half_closed

    def has_input(self) -> bool:
        """Return whether the kernel has received something that is not read yet."""
        with suppress(OSError):
            return self.socket is not None and bool(self.socket.recv(1, socket.MSG_PEEK))
        return False


class Server:
    """Listens on the sockets from the start. `run()` until `stop()`; then `close()`."""

    is_stopping = False
    is_closed = False

    def __init__(self, app: App, sockets: Sequence[socket.socket], options: ServerOptions) -> None:
        self.grace = options.grace
        self.effective_port: int = sockets[0].getsockname()[1]
        self.trigger_lock = RLock()  # a signal handler may interrupt what holds it
        self.map: dict[int, Any] = {}  # what waitress polls, by descriptor
        settings: dict[str, Any] = {
            "sockets": sockets,
            "threads": options.threads,
            "connection_limit": MAX_CONNECTIONS,
            "max_request_header_size": MAX_HEAD + 1,
            "max_request_body_size": MAX_BODY + 1,
            "inbuf_overflow": 2 * MAX_BODY,  # neither a request nor a response goes to the disk
            "outbuf_overflow": 2 * MAX_BODY,
            "clear_untrusted_proxy_headers": False,  # the app gets the fields as they were sent
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
        """Serve until `stop()`, and drain."""
        try:
            while not self.is_stopping:
                self.run_once(TICK)
            self.drain()
        finally:
            for each in self.connections:
                each.handle_close()

    def run_once(self, timeout: float) -> None:
        """Read and send what there is, or wait for it for so many seconds."""
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
        ends = time.monotonic() + self.grace
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
        """Accept no more connections."""
        for each in self.listeners:
            wasyncore.dispatcher.close(each)  # without its trigger, which wakes the loop

    def close(self) -> None:
        """Close all files, and end the threads."""
        self.close_listeners()
        with self.trigger_lock:
            self.is_closed = True
        self.dispatcher.shutdown(timeout=0.5)  # seconds, in which idle threads end
        for each in self.listeners:
            each.close()


def end(connection: Connection) -> None:
    """Close a connection after the last request whose head has arrived.

    What the kernel has of the next one is read first.
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
