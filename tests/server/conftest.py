"""An app that echoes requests, and servers on a clock that stands."""

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request

from server import RejectedRequest, Server
from tests.live import running, serving
from tests.wire import Connection, get


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
        self.app.add_url_rule("/until-gone/<name>", view_func=self.until_gone)
        self.app.add_url_rule("/boom", view_func=self.boom)

    def note_rejection(self, rejected: RejectedRequest) -> None:
        self.rejections.append(rejected)

    def echo(self, path: str = "") -> Response:
        return jsonify(
            path=request.environ["PATH_INFO"],
            body=request.get_data(as_text=True),
            environ={k: v for k, v in request.environ.items() if isinstance(v, str)},
        )

    def wait(self) -> str:
        self.entered.release()
        self.gate.wait(60)
        return "late"

    def until_gone(self, name: str) -> Response:
        gone = request.environ["waitress.client_disconnected"]

        def pieces() -> Iterator[str]:
            yield "first"
            while not gone():
                self.gate.wait(60)
                yield name

        return Response(pieces())

    def boom(self) -> str:
        raise OSError(errno.ENOENT, f"no file {request.headers['Authorization']}")


class Timed:
    """A server, and the clock by which it measures how long its clients take."""

    server: Server

    def __init__(self) -> None:
        self.now = 1000.0
        self.step = 0.0  # what each look at the clock takes
        self.read = threading.Event()

    def clock(self) -> float:
        self.read.set()
        self.now += self.step
        return self.now

    @property
    def port(self) -> int:
        return self.server.effective_port

    def settle(self) -> None:
        """Wait until the server has done what it can with all that was sent to it.

        It has one thread, which serves this request last. The loop accepts the connection in one
        turn, at whose end it closes what is overdue, and reads the request in the next.
        """
        with Connection(self.port) as client:
            client.send(get("/settle"))
            client.until(b"\r\n\r\n")

    def advance(self, seconds: float) -> None:
        """Turn the clock, by at least the half second between two checks of the server."""
        self.settle()
        self.now += seconds
        self.settle()

    def until_it_drains(self) -> None:
        """Stop the server, and wait until it drains, which closes an idle connection."""
        with Connection(self.port) as idle:
            self.server.stop()
            assert idle.closed()
        with pytest.raises(ConnectionRefusedError):
            Connection(self.port)

    def wake(self) -> None:
        """Wait until the loop, which may no longer accept connections, has seen the time."""
        for _ in range(4):  # it reads the clock three times in a turn
            self.read.clear()
            self.server.pull_trigger()
            assert self.read.wait(10)


@contextmanager
def timed(app: Any, **options: Any) -> Iterator[Timed]:
    it = Timed()
    options = {"threads": 1, "clock": it.clock, **options}
    with running(app, **options) as it.server:
        try:
            yield it
        finally:
            it.step = 3600.0  # a drain that waits for a client ends


@pytest.fixture
def echo() -> Echo:
    """The app, with a closed gate."""
    return Echo()


@pytest.fixture
def port(echo: Echo) -> Iterator[int]:
    """The port of a server with the default limits; its control routes are under /control/."""
    with serving(echo.app, control_prefix="/control/", on_rejected=echo.note_rejection) as port:
        yield port
        echo.gate.set()


@pytest.fixture
def stopped(echo: Echo) -> Iterator[Timed]:
    """A server with the default limits, on a clock that stands still."""
    with timed(echo.app, on_rejected=echo.note_rejection) as server:
        yield server
