"""The server: its thread pools, the loop that reads and sends, and the drain at its end."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from waitress import wasyncore
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from .connection import Connection, log_failure
from .settings import MAX_JOINED, MAX_UNREAD, OTHER_THREADS, TICK, App, Settings


class OtherListener(wasyncore.dispatcher):
    """A further address, whose connections are those of the server."""

    def __init__(self, server: "Server", sock: socket.socket) -> None:
        super().__init__(sock, map=server._map)
        self.server = server
        self.accepting = True

    def readable(self) -> bool:
        return bool(self.server.readable())

    def writable(self) -> bool:
        return False

    def handle_accept(self) -> None:
        server = self.server
        with suppress(OSError):  # as in waitress: the client has closed the connection already
            if accepted := self.accept():
                sock, address = accepted
                server.set_socket_options(sock)
                Connection(server, sock, address, server.adj, map=server._map)

    def handle_error(self) -> None:
        self.server.handle_error()


class Server(TcpWSGIServer):
    """`run()` until `stop()`, from any thread or a signal handler; then `close()`.

    It listens on all of the sockets.
    """

    channel_class = Connection

    adj: Settings
    active_channels: dict[int, Connection]  # type: ignore[assignment]
    effective_port: int
    trigger: Any
    _map: Any

    is_stopping = False
    is_closed = False
    next_check = 0.0  # by the clock of the options

    def __init__(self, app: App, sockets: Sequence[socket.socket], settings: Settings) -> None:
        self.options = settings.options
        self.pool: Any = ThreadedTaskDispatcher()
        self.pool.set_thread_count(self.options.threads)
        self.control_pool: Any = ThreadedTaskDispatcher()
        if self.options.control_prefix:
            self.control_pool.set_thread_count(OTHER_THREADS)
        self.waiting_lock = Lock()
        self.waiting_count = 0  # requests
        first, *others = sockets
        super().__init__(
            app, {}, _sock=first, adj=settings, bind_socket=False, dispatcher=self.pool
        )
        self.listeners: list[Any] = [self, *(OtherListener(self, sock) for sock in others)]
        self.effective_port = int(self.effective_port)

    def add_task(self, connection: Connection) -> None:  # type: ignore[override]
        """Serve the next request of a connection, whose `requests_lock` is held.

        The request waits for the client while too much is unread. One to a control route waits for
        no other.
        """
        connection.is_waiting = connection.total_outbufs_len > MAX_UNREAD
        if connection.is_waiting:
            return
        pool = self.control_pool if connection.requests[0].is_control else self.pool
        pool.add_task(connection)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a request waits on purpose, one more thread serves the others."""
        self._count_waiting(1)
        try:
            yield
        finally:
            self._count_waiting(-1)

    def _count_waiting(self, step: int) -> None:
        with self.waiting_lock:
            self.waiting_count += step
            if not self.is_closed:
                with suppress(RuntimeError):  # no more threads can be started
                    self.pool.set_thread_count(self.options.threads + self.waiting_count)

    def run(self) -> None:
        try:
            while not self.is_stopping:
                self.run_once(TICK)
            self.drain()
        finally:
            for connection in list(self.active_channels.values()):
                connection.handle_close()

    def run_once(self, timeout: float) -> None:
        # poll: waitress' select() fails on a descriptor above 1023.
        self.asyncore.loop(timeout=timeout, use_poll=True, map=self._map, count=1)
        now = self.options.clock()
        if now < self.next_check:
            return
        connections = list(self.active_channels.values())
        # The responses of one busy client are sent by the workers. Those of several are left to
        # the loop if they are short: saves 20 % of the processor time with 8 clients.
        busy = sum(each.last_activity > time.time() - TICK for each in connections)
        self.adj.send_bytes = MAX_JOINED if busy > 1 else 1
        self.next_check = now + TICK
        for connection in connections:
            connection.close_if_overdue(now)

    def stop(self) -> None:
        self.is_stopping = True
        self.pull_trigger()

    def pull_trigger(self) -> None:
        if not self.trigger._closed:  # its descriptor may be that of another file
            super().pull_trigger()

    def drain(self) -> None:
        """Respond to each request whose head had been received, for up to `grace` seconds.

        waitress loses it at SIGTERM, and at SIGINT what it had not sent within 5 s.
        """
        ends = self.options.clock() + self.options.grace
        known = -1
        while self.accepting and known != len(self._map):  # accept what the kernel has received
            known = len(self._map)
            for each in self.listeners:
                each.handle_accept()
        self.run_once(0)
        self.close_listeners()
        while True:
            for connection in list(self.active_channels.values()):
                connection.end()
            left = ends - self.options.clock()
            if not self.active_channels or left <= 0:
                return
            self.run_once(min(TICK, left))

    def close_listeners(self) -> None:
        for each in self.listeners:
            wasyncore.dispatcher.close(each)

    def close(self) -> None:
        self.close_listeners()
        with self.waiting_lock:
            self.is_closed = True
        self.pool.shutdown(timeout=0.5)  # seconds
        self.control_pool.shutdown(timeout=0.5)
        self.trigger.close()

    def handle_error(self) -> None:
        # waitress closes the listening socket, and the process lives on without it.
        log_failure("a connection could not be accepted")
