"""An app that echoes requests, on one server for all tests and on servers with other options."""

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request

from server import RejectedRequest, Server
from tests.live import running, serving
from tests.server.timed import Timed, timed


class Gate:
    """Holds the requests to /gate: a test decides when a slow request ends."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.close()

    def close(self) -> None:
        """Close the gate for new requests; those that wait go on."""
        self.open.set()
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()


def make_app(gate: Gate) -> Flask:
    app = Flask(__name__)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST", "OPTIONS"])
    @app.route("/<path:path>", methods=["GET", "POST", "OPTIONS"])
    def echo(path: str) -> Response:
        return jsonify(
            method=request.method,
            path=request.environ["PATH_INFO"],
            query=request.environ["QUERY_STRING"],
            body=request.get_data(as_text=True),
            length=len(request.get_data()),
            environ={k: v for k, v in request.environ.items() if isinstance(v, str)},
        )

    @app.get("/gate")
    @app.get("/gate/<name>")
    def wait(name: str = "") -> str:
        opened = gate.open
        gate.entered.release()
        opened.wait(60)
        return "late"

    @app.get("/until-gone/<name>")
    def until_gone(name: str) -> Response:
        gone, opened = request.environ["waitress.client_disconnected"], gate.open

        def pieces() -> Iterator[str]:
            yield "first"
            while not gone():
                opened.wait(60)
                yield name

        return Response(pieces())

    @app.get("/boom")
    def boom() -> str:
        raise OSError(errno.ENOENT, f"no file {request.headers['Authorization']}")

    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app


@dataclass
class Echo:
    """The app, its gate, and what its servers rejected."""

    gate: Gate = field(default_factory=Gate)
    rejections: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.app = make_app(self.gate)

    def note_rejection(self, rejected: RejectedRequest) -> None:
        self.rejections.append((rejected.status, rejected.code))


@pytest.fixture(scope="session")
def shared_echo() -> Echo:
    return Echo()


@pytest.fixture(scope="session")
def shared_port(shared_echo: Echo) -> Iterator[int]:
    with serving(shared_echo.app, on_rejected=shared_echo.note_rejection) as port:
        yield port
        shared_echo.gate.open.set()


@pytest.fixture(scope="session")
def control_port(shared_echo: Echo) -> Iterator[int]:
    """The port of a server whose routes under /control/ are control routes."""
    options: Any = {"threads": 2, "on_rejected": shared_echo.note_rejection}
    with serving(shared_echo.app, control_prefix="/control/", **options) as port:
        yield port
        shared_echo.gate.open.set()


@pytest.fixture
def echo(shared_echo: Echo) -> Iterator[Echo]:
    """The app, with a closed gate and without rejections."""
    shared_echo.gate.close()
    shared_echo.rejections.clear()
    yield shared_echo
    shared_echo.gate.open.set()


@pytest.fixture
def gate(echo: Echo) -> Gate:
    return echo.gate


@pytest.fixture
def rejections(echo: Echo) -> list[tuple[int, str]]:
    return echo.rejections


@pytest.fixture
def port(shared_port: int, echo: Echo) -> int:
    """The port of the server with the default options, which all tests share."""
    return shared_port


@pytest.fixture
def start_server(echo: Echo) -> Iterator[Callable[..., Server]]:
    """Starts a server of the test's own, with these options."""
    with ExitStack() as stack:

        def start(**options: Any) -> Server:
            options = {"threads": 2, "on_rejected": echo.note_rejection, **options}
            return stack.enter_context(running(echo.app, **options))

        yield start
        echo.gate.open.set()


@pytest.fixture
def serve(start_server: Callable[..., Server]) -> Callable[..., int]:
    """Starts such a server; returns its port."""
    return lambda **options: start_server(**options).effective_port


@pytest.fixture
def stopped(echo: Echo) -> Iterator[Timed]:
    """A server with the default limits, on a clock that stands still."""
    with timed(echo.app) as server:
        yield server
        echo.gate.open.set()
