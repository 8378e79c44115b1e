"""An app that echoes requests, and a server for it."""

import errno
import threading
from collections.abc import Iterator

import pytest
from flask import Flask, Response, jsonify, request

from server import RejectedRequest, Server
from tests.live import running


class Echo:
    """The app, a gate that holds the requests to /gate, and what its server rejected."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.rejections: list[RejectedRequest] = []
        self.app = Flask(__name__)
        self.app.config["PROPAGATE_EXCEPTIONS"] = True
        for rule in ("/", "/<path:path>"):
            self.app.add_url_rule(rule, view_func=self.echo, methods=["GET", "POST"])
        self.app.add_url_rule("/gate", view_func=self.wait)
        self.app.add_url_rule("/on-purpose", view_func=self.wait_on_purpose)
        self.app.add_url_rule("/cut", view_func=self.cut)
        self.app.add_url_rule("/drop", view_func=self.drop)
        self.app.add_url_rule("/boom", view_func=self.boom)

    def echo(self, path: str = "") -> Response:
        texts = {k: v for k, v in request.environ.items() if isinstance(v, str)}
        body = request.get_data(as_text=True)[:99]
        return jsonify(path=request.path, body=body, environ=texts)

    def wait(self) -> str:
        self.entered.release()
        self.gate.wait(60)
        return "late"

    def wait_on_purpose(self) -> str:
        with request.environ["server.waiting"]():
            while request.environ["server.is_open"]():
                self.entered.release()
                self.gate.wait(0.01)
        return "gone"

    def cut(self) -> Response:
        request.environ["server.close"]()
        return Response([b"last"], headers={"Content-Length": "9"})

    def drop(self) -> str:
        request.environ["server.drop"]()
        return ""

    def boom(self) -> str:
        raise OSError(errno.ENOENT, f"no file {request.headers['Authorization']}")


@pytest.fixture
def echo() -> Echo:
    """The app, with a closed gate."""
    return Echo()


@pytest.fixture
def server(echo: Echo) -> Iterator[Server]:
    """A server with one thread."""
    headers = {"Access-Control-Allow-Origin": "http://page.test"}
    with running(
        echo.app,
        threads=1,
        trusted_hosts=["stub.test", "fe80::1"],
        on_rejected=echo.rejections.append,
        headers_for=lambda origin: headers if origin == "http://page.test" else {},
    ) as server:
        yield server
        echo.gate.set()


@pytest.fixture
def port(server: Server) -> int:
    return server.effective_port
