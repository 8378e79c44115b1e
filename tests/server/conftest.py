"""An app that echoes requests."""

import json
import threading
from typing import Any

import pytest


class Echo:
    """A WSGI app, a gate that holds some of its requests, and the hosts that were rejected."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.left = threading.Semaphore(0)
        self.wrong_hosts: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = self.body(environ)
        length = 9 if body == b"cut" else len(body)
        start_response("200 OK", [("Content-Length", str(length))])
        return [body]

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
        texts = {name: value for name, value in environ.items() if isinstance(value, str)}
        return json.dumps(texts | {"body": environ["wsgi.input"].read().decode()}).encode()


@pytest.fixture
def echo() -> Echo:
    """The app, with a closed gate."""
    return Echo()
