"""The connection of a request, of which the server of this project lets the stub know."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Connection:
    """What the server put into the WSGI environment; with another server, what changes nothing."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self.close: Callable[[], None] = environ.get("server.close", do_nothing)
        """Lets the connection end after the response."""
        self.drop: Callable[[], None] = environ.get("server.drop", do_nothing)
        """Lets the connection end without the response."""
        self.is_open: Callable[[], bool] | None = environ.get("server.is_open")
        """Tells whether the client has not closed the connection, if that can be known."""
        self.waiting: Callable[[], AbstractContextManager[None]]
        self.waiting = environ.get("server.waiting", nullcontext)
        """Tells the server that the request waits on purpose."""


def do_nothing() -> None:
    pass
