"""The connection of a request, of which the server of this project lets the stub know."""

from collections.abc import Callable, Mapping
from typing import Any


class ClientConnection:
    """What the server put into the WSGI environment; with another server, what changes nothing."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self.close: Callable[[], None] = environ.get("server.close", do_nothing)
        """Lets the connection end after the response."""
        self.drop: Callable[[], None] = environ.get("server.drop", do_nothing)
        """Lets the connection end without the response."""
        self.is_open: Callable[[], bool] | None = environ.get("server.is_open")
        """Tells whether the client waits for the response, if that can be known."""


def do_nothing() -> None:
    pass
