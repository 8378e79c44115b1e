"""The server: its thread pools, the loop that reads and sends, and the drain at its end."""

import math
import socket
import sys
import threading
from typing import Any

from waitress import wasyncore
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from .connection import Connection
from .problems import log_failure
from .settings import CONTROL_THREADS, LONG_BODY, MAX_JOINED, TICK, App, Settings


def thread_pool(threads: int) -> Any:
    pool = ThreadedTaskDispatcher()
    pool.set_thread_count(threads)
    return pool


class Dispatcher:
    """Three thread pools: a control request waits for no request of the app and no long body."""

    def __init__(self, settings: Settings) -> None:
        has_control = settings.options.control_prefix is not None
        self.main = thread_pool(settings.threads)
        self.control = thread_pool(CONTROL_THREADS if has_control else 0)
        self.long = thread_pool(1 if has_control else 0)

    def add_task(self, connection: Connection) -> None:
        """Serve the next request of a connection, whose `requests_lock` is held."""
        if connection.must_wait():
            return
        request = connection.requests[0]
        if not request.is_control:
            self.main.add_task(connection)
        elif request.body_bytes_received > LONG_BODY:
            self.long.add_task(connection)
        else:
            self.control.add_task(connection)

    def shutdown(self, timeout: float) -> None:
        """Start nothing more; wait for the current requests, up to `timeout` seconds per pool."""
        for pool in (self.main, self.control, self.long):
            pool.shutdown(timeout=timeout)


class Server(TcpWSGIServer):
    """`run()` until `stop()`, from any thread or a signal handler; `close()` waits for that."""

    channel_class = Connection

    adj: Settings
    active_channels: dict[int, Connection]  # type: ignore[assignment]
    next_channel_cleanup: float  # type: ignore[assignment]
    effective_port: int
    task_dispatcher: Dispatcher  # type: ignore[assignment]
    trigger: Any
    _map: dict[int, object]

    is_stopping = False
    is_woken = False  # whether the current turn was told to end

    def __init__(self, app: App, sock: socket.socket, settings: Settings) -> None:
        self.options = settings.options
        self.running = threading.RLock()
        self.waking = threading.RLock()
        self.next_check = 0.0
        super().__init__(
            app,
            {},
            _sock=sock,
            adj=settings,
            sockinfo=(sock.family, sock.type, sock.proto, sock.getsockname()),
            bind_socket=False,
            dispatcher=Dispatcher(settings),  # type: ignore[arg-type]
        )
        self.effective_port = int(self.effective_port)
        self.next_channel_cleanup = math.inf  # close_if_overdue() does it

    def run(self) -> None:
        with self.running:
            while not self.is_stopping:
                self.turn(TICK)
            self.drain()

    def turn(self, timeout: float) -> None:
        # poll: waitress' select() fails on a descriptor above 1023.
        self.asyncore.loop(timeout=timeout, use_poll=True, map=self._map, count=1)
        self.is_woken = False
        now = self.options.clock()
        if now < self.next_check:
            return
        connections = list(self.active_channels.values())
        # The responses of one busy client are sent by the workers. Those of several are left to
        # the loop if they are short: saves 15 % of the processor time with 8 clients.
        busy = sum(connection.active_at > now - TICK for connection in connections)
        self.adj.send_bytes = MAX_JOINED if busy > 1 else 1
        self.next_check = now + TICK
        for connection in connections:
            connection.close_if_overdue(now)

    def stop(self) -> None:
        self.is_stopping = True
        self.pull_trigger()

    def pull_trigger(self) -> None:
        with self.waking:
            # A closed descriptor may be that of another file. One byte ends the poll for all.
            if not (self.trigger._closed or self.is_woken):
                self.is_woken = True
                super().pull_trigger()

    def drain(self) -> None:
        """Respond to all that had been received when the signal came, for up to `grace` seconds.

        waitress loses it at SIGTERM, and at SIGINT what it had not sent within 5 s.
        """
        end = self.options.clock() + self.options.grace
        known = -1
        while self.accepting and known != len(self._map):
            known = len(self._map)
            self.handle_accept()
        wasyncore.dispatcher.close(self)
        for connection in list(self.active_channels.values()):
            connection.read_last()
        while self.active_channels and self.options.clock() < end:
            for connection in list(self.active_channels.values()):
                if not connection.requests:
                    connection.close_when_flushed = True
            self.turn(min(TICK, max(0.0, end - self.options.clock())))
        self.release(timeout=0 if self.active_channels else 1)

    def release(self, timeout: int) -> None:
        wasyncore.dispatcher.close(self)
        for connection in list(self.active_channels.values()):
            connection.handle_close()
        self.task_dispatcher.shutdown(timeout)
        with self.waking:
            self.trigger.close()

    def close(self) -> None:
        self.stop()
        with self.running:
            if not self.trigger._closed:
                self.release(timeout=1)

    def handle_error(self) -> None:
        # waitress closes the listening socket, and the process lives on without it.
        log_failure("a connection could not be accepted", sys.exc_info()[1])
