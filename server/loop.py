"""The server: its thread pools, the loop that reads and sends, and the drain at its end."""

import math
import socket
import threading
from typing import Any

from waitress import wasyncore
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from .connection import Connection
from .problems import log_failure
from .settings import CONTROL_THREADS, LONG_BODY, MAX_JOINED, MAX_UNREAD, TICK, App, Settings


class Server(TcpWSGIServer):
    """`run()` until `stop()`, from any thread or a signal handler; `close()` waits for that."""

    channel_class = Connection

    adj: Settings
    active_channels: dict[int, Connection]  # type: ignore[assignment]
    effective_port: int
    trigger: Any
    _map: dict[int, object]

    is_stopping = False
    next_check = 0.0
    drain_ends = math.inf  # by the clock of the options

    def __init__(self, app: App, sock: socket.socket, settings: Settings) -> None:
        self.options = settings.options
        self.run_lock = threading.Lock()
        others = (0, 0) if self.options.control_prefix is None else (CONTROL_THREADS, 1)
        self.pools: list[Any] = []
        for threads in (self.options.threads, *others):
            self.pools.append(ThreadedTaskDispatcher())
            self.pools[-1].set_thread_count(threads)
        super().__init__(
            app, {}, _sock=sock, adj=settings, bind_socket=False, dispatcher=self.pools[0]
        )
        self.effective_port = int(self.effective_port)

    def add_task(self, connection: Connection) -> None:  # type: ignore[override]
        """Serve the next request of a connection, whose `requests_lock` is held.

        The request waits for the client while too much is unread. One to a control route waits
        for no request of the app, and for no long body.
        """
        connection.is_waiting = connection.total_outbufs_len > MAX_UNREAD
        if connection.is_waiting:
            return
        request = connection.requests[0]
        main, control, long = self.pools
        if not request.is_control:
            main.add_task(connection)
        elif request.body_bytes_received > LONG_BODY:
            long.add_task(connection)
        else:
            control.add_task(connection)

    def run(self) -> None:
        with self.run_lock:
            while not self.is_stopping:
                self.run_once(TICK)
            self.drain()

    def run_once(self, timeout: float) -> None:
        # poll: waitress' select() fails on a descriptor above 1023.
        self.asyncore.loop(timeout=timeout, use_poll=True, map=self._map, count=1)
        now = self.options.clock()
        if now < self.next_check:
            return
        connections = list(self.active_channels.values())
        # The responses of one busy client are sent by the workers. Those of several are left to
        # the loop if they are short: saves 20 % of the processor time with 8 clients.
        busy = sum(connection.active_at > now - TICK for connection in connections)
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
        self.drain_ends = self.options.clock() + self.options.grace
        known = -1
        while self.accepting and known != len(self._map):
            known = len(self._map)
            self.handle_accept()
        wasyncore.dispatcher.close(self)
        for connection in list(self.active_channels.values()):
            connection.read_last()
        while self.active_channels and self.options.clock() < self.drain_ends:
            for connection in list(self.active_channels.values()):
                if not (connection.last_request() or connection.linger_until):
                    connection.close_when_flushed = True
            self.run_once(min(TICK, max(0.0, self.drain_ends - self.options.clock())))

    def close(self) -> None:
        self.stop()
        with self.run_lock:
            wasyncore.dispatcher.close(self)
            timeout = 1 if self.options.clock() < self.drain_ends else 0  # seconds, for each pool
            for connection in list(self.active_channels.values()):
                connection.handle_close()
            for pool in self.pools:
                pool.shutdown(timeout=timeout)
        self.trigger.close()

    def handle_error(self) -> None:
        # waitress closes the listening socket, and the process lives on without it.
        log_failure("a connection could not be accepted")
