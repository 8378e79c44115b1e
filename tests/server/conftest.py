"""An app that echoes requests, on a live server."""

import errno
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request

from server import Options, Server, create_server
from tests.wire import SECRET, Connection, get, post

AUTHORIZATION = f"Authorization: Bearer {SECRET}"


def chunked(body: bytes) -> bytes:
    return post("Transfer-Encoding: chunked", f"X-Token: {SECRET}", body=body)


class Gate:
    """Holds the requests to /gate: a test decides when a slow request ends."""

    def __init__(self) -> None:
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
        gate.entered.release()
        gate.open.wait(60)
        return "late"

    @app.get("/until-gone/<name>")
    def until_gone(name: str) -> Response:
        gone = request.environ["waitress.client_disconnected"]

        def pieces() -> Iterator[str]:
            yield "first"
            while not gone():
                gate.open.wait()
                yield name

        return Response(pieces())

    @app.get("/boom")
    def boom() -> str:
        raise OSError(errno.ENOENT, f"no file {request.headers['Authorization']}")

    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app


@contextmanager
def running(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[Server]:
    """A server that runs in a thread."""
    server = create_server(app, host, 0, Options(**options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[int]:
    """The port of such a server."""
    with running(app, host, **options) as server:
        yield server.effective_port


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def rejections() -> list[tuple[int, str]]:
    return []


@pytest.fixture
def serve(gate: Gate, rejections: list[tuple[int, str]]) -> Iterator[Callable[..., int]]:
    """Starts a server with these options; returns its port."""
    with ExitStack() as stack:

        def start(**options: Any) -> int:
            options.setdefault("on_rejected", lambda *rejection: rejections.append(rejection))
            return stack.enter_context(serving(make_app(gate), **options))

        yield start
        gate.open.set()


@pytest.fixture
def port(serve: Callable[..., int]) -> int:
    return serve()


Send = Callable[[Connection, bytes], None]
SEND: dict[str, Send] = {
    "at once": lambda client, raw: client.send(raw),
    "before another": lambda client, raw: client.send(
        raw + get("/", "Host: localhost", AUTHORIZATION)
    ),
    "byte by byte": lambda client, raw: client.send_in_pieces(
        *(bytes([each]) for each in raw[:200]), raw[200:]
    ),
}
SENT_IN_EVERY_WAY = pytest.mark.parametrize("send", SEND.values(), ids=SEND)


@pytest.fixture
def assert_rejected_once(
    port: int,
    rejections: list[tuple[int, str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> Callable[[bytes, Send], None]:
    """Asserts that the server rejects malformed bytes with one error, and logs nothing of them."""

    def check(raw: bytes, send: Send) -> None:
        caplog.set_level(logging.DEBUG)
        with Connection(port) as client:
            send(client, raw)
            client.assert_rejected(400, "malformed_request")
        assert rejections == [(400, "malformed_request")]
        assert SECRET not in caplog.text + "".join(capfd.readouterr())

    return check
