"""The thread pools that serve the connections."""

import threading
import time
from collections import deque
from queue import SimpleQueue

from .connection import Connection
from .problems import log_failure
from .settings import CONTROL_THREADS, Settings


class ThreadPool:
    """A LIFO thread pool: it reuses warm threads. waitress' FIFO pool takes a tenth more time."""

    def __init__(self, threads: int) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[Connection | None] = deque()
        self.idle: list[SimpleQueue[Connection | None]] = []
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def add_task(self, connection: Connection | None) -> None:
        """Serve the next request of a connection; None ends a thread."""
        with self.lock:
            inbox = self.idle.pop() if self.idle else None
            if inbox is None:
                self.waiting.append(connection)
        if inbox is not None:  # outside the lock, which the thread that wakes up may want
            inbox.put(connection)

    def work(self) -> None:
        inbox: SimpleQueue[Connection | None] = SimpleQueue()
        while True:
            with self.lock:
                if self.waiting:
                    inbox.put(self.waiting.popleft())
                else:
                    self.idle.append(inbox)
            connection = inbox.get()
            if connection is None:
                return
            try:
                connection.service()
            except BaseException as error:
                log_failure("a request failed", error)

    def shutdown(self, timeout: float) -> None:
        """Start nothing more, and wait up to `timeout` seconds for the current requests."""
        with self.lock:
            self.waiting.clear()
        for _ in self.threads:
            self.add_task(None)
        end = time.monotonic() + timeout
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))


class Dispatcher:
    """Two thread pools, so that requests that sleep cannot block the control routes."""

    def __init__(self, settings: Settings) -> None:
        self.is_control = settings.is_control
        self.main = ThreadPool(settings.threads)
        self.control = ThreadPool(0 if settings.control_prefix is None else CONTROL_THREADS)

    def add_task(self, connection: Connection) -> None:
        path = connection.requests[0].path
        (self.control if self.is_control(path) else self.main).add_task(connection)

    def shutdown(self, timeout: float) -> None:
        self.main.shutdown(timeout)
        self.control.shutdown(timeout)
