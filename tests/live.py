"""Servers that run in a thread of the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server import Server, ServerOptions, create_server


@contextmanager
def running(app: Any, host: str = "127.0.0.1", port: int = 0, **options: Any) -> Iterator[Server]:
    """A server that runs in a thread."""
    server = create_server(app, host, port, ServerOptions(**options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
        server.close()


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[int]:
    """The port of such a server."""
    with running(app, host, **options) as server:
        yield server.effective_port
