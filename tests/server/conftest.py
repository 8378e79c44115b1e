"""An app that echoes requests, on the plain server and on the one that is sped up."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from server import Server, ServerOptions, speed_up
from tests import live

LARGE = 12_000_000  # bytes, more than a socket takes at once


class Echo:
    """A WSGI app, a gate that holds some of its requests, and the hosts that were rejected."""

    def __init__(self, prepare: Callable[[Server], None]) -> None:
        self.prepare = prepare
        self.gate = threading.Event()
        self.closes = True
        self.entered = threading.Semaphore(0)
        self.left = threading.Semaphore(0)
        self.wrong_hosts: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/sent":
            start_response("200 OK", [("Content-Length", "4")])
            return self.close_at_gate()
        body = self.body(environ)
        path = environ["PATH_INFO"]
        headers = [("Content-Length", "9" if body == b"cut" else str(len(body)))]
        if path in ("/chunked", "/one-part"):
            headers = []
        start_response("204 No Content" if path == "/empty" else "200 OK", headers)
        if path in ("/chunked", "/parts"):
            return [body[:10], body[10:]]
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def close_at_gate(self) -> Iterator[bytes]:
        """Return the parts of a body, and end the request when the gate opens."""
        try:
            yield b"sent"
        finally:
            self.entered.release()
            self.gate.wait(60)

    def body(self, environ: dict[str, Any]) -> bytes:
        path = environ["PATH_INFO"]
        if path == "/gate":
            self.entered.release()
            self.gate.wait(60)
        elif path == "/while-open":
            self.entered.release()
            while environ["server.is_open"]() and not self.gate.wait(0.01):
                pass
            self.left.release()
        elif path == "/boom":
            raise FileNotFoundError(environ["HTTP_AUTHORIZATION"])
        elif path == "/cut":
            return b"cut"
        elif path == "/drop":
            environ["server.drop"]()
            return b""
        elif path == "/close" and self.closes:
            environ["server.close"]()
        elif path == "/large":
            return LARGE * b"x"
        texts = {name: value for name, value in environ.items() if isinstance(value, str)}
        return json.dumps(texts | {"body": environ["wsgi.input"].read().decode()}).encode()

    def options(self, **more: Any) -> ServerOptions:
        return ServerOptions(prepare=self.prepare, **more)


def running(echo: Echo, host: str = "127.0.0.1", **more: Any) -> AbstractContextManager[Server]:
    """A server of the app that runs in a thread."""
    return live.running(echo, host, prepare=echo.prepare, **more)


def serving(echo: Echo, host: str = "127.0.0.1", **more: Any) -> AbstractContextManager[int]:
    """The port of such a server."""
    return live.serving(echo, host, prepare=echo.prepare, **more)


@pytest.fixture(params=[lambda server: None, speed_up], ids=["plain", "fast"])
def echo(request: pytest.FixtureRequest) -> Iterator[Echo]:
    """The app, with a closed gate, for each of the two servers."""
    app = Echo(request.param)
    yield app
    app.gate.set()
