"""The thread pools that serve the connections."""

from typing import Any

from waitress.task import ThreadedTaskDispatcher

from .connection import Connection
from .settings import CONTROL_THREADS, LONG_BODY, Settings


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
        self.added = 0  # in the current turn of the loop

    def add_task(self, connection: Connection) -> None:
        """Serve the next request of a connection, whose `requests_lock` is held."""
        if connection.must_wait():
            return
        self.added += 1
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
