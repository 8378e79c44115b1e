"""An app that echoes requests."""

import json
import threading
from typing import Any

import pytest

from server import RejectedRequest


class Echo:
    """A WSGI app, a gate that holds some of its requests, and what its server rejected."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.rejections: list[RejectedRequest] = []

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
        elif path == "/on-purpose":
            with environ["server.waiting"]():
                self.entered.release()
                while environ["server.is_open"]():
                    self.gate.wait(0.01)
        elif path == "/boom":
            raise FileNotFoundError(environ["HTTP_AUTHORIZATION"])
        elif path == "/cut":
            return b"cut"
        texts = {name: value for name, value in environ.items() if isinstance(value, str)}
        return json.dumps(texts | {"body": environ["wsgi.input"].read().decode()}).encode()


@pytest.fixture
def echo() -> Echo:
    """The app, with a closed gate."""
    return Echo()
