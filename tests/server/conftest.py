"""An app that echoes requests, on one server for the session."""

import errno
import threading
from collections.abc import Iterator

import pytest
from flask import Flask, Response, jsonify, request

from server import RejectedRequest
from tests.live import serving
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


class Echo:
    """The app, its gate, and the codes of what its server rejected."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.rejections: list[str] = []
        self.app = make_app(self.gate)

    def note_rejection(self, rejected: RejectedRequest) -> None:
        self.rejections.append(rejected.code)


def make_app(gate: Gate) -> Flask:
    app = Flask(__name__)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
    @app.route("/<path:path>", methods=["GET", "POST"])
    def echo(path: str) -> Response:
        return jsonify(
            path=request.environ["PATH_INFO"],
            body=request.get_data(as_text=True),
            environ={k: v for k, v in request.environ.items() if isinstance(v, str)},
        )

    @app.get("/gate")
    def wait() -> str:
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


@pytest.fixture(scope="session")
def shared() -> Iterator[tuple[Echo, int]]:
    echo = Echo()
    with serving(echo.app, control_prefix="/control/", on_rejected=echo.note_rejection) as port:
        yield echo, port
        echo.gate.open.set()


@pytest.fixture
def echo(shared: tuple[Echo, int]) -> Iterator[Echo]:
    """The app, with a closed gate and without rejections."""
    echo, _ = shared
    echo.gate.close()
    echo.rejections.clear()
    yield echo
    echo.gate.open.set()


@pytest.fixture
def gate(echo: Echo) -> Gate:
    return echo.gate


@pytest.fixture
def port(shared: tuple[Echo, int], echo: Echo) -> int:
    """The port of the server that all tests share; its control routes are under /control/."""
    return shared[1]


@pytest.fixture
def stopped(echo: Echo) -> Iterator[Timed]:
    """A server with the default limits, on a clock that stands still."""
    with timed(echo.app) as server:
        yield server
        echo.gate.open.set()
