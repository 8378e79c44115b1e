"""The connection of a request, as the server of this project shows it to the stub."""

from collections.abc import Callable, Mapping
from typing import Any


class ClientConnection:
    """The functions that the server puts into the WSGI environment.

    - `close` ends the connection after the response, and `drop` before it.
    - `is_open` returns whether the client still waits for the response.

    With another server, `close` and `drop` do nothing, and `is_open` is None.
    """

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self.close: Callable[[], None] = environ.get("server.close", do_nothing)
        self.drop: Callable[[], None] = environ.get("server.drop", do_nothing)
        self.is_open: Callable[[], bool] | None = environ.get("server.is_open")


def do_nothing() -> None:
    pass
