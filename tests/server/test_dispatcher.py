"""The thread pools."""

import threading
from contextlib import ExitStack
from typing import Any

import pytest

from tests.live import serving
from tests.raw import AUTHORIZATION, get
from tests.server.conftest import Gate
from tests.wire import Connection

pytestmark = pytest.mark.process


def test_slow_requests_do_not_block_the_next(port: int, gate: Gate) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Connection(port)) for _ in range(15)]
        for client in slow:
            client.send(get("/gate"))
        for _ in slow:
            assert gate.entered.acquire(timeout=10)
        with Connection(port) as client:
            client.send(get())
            assert client.reply().status_code == 200
        gate.open.set()
        assert all(client.reply().data == b"late" for client in slow)


def test_slow_requests_do_not_block_control_routes(control_port: int, gate: Gate) -> None:
    port = control_port
    with ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(Connection(port))
            client.send(get("/gate", "Host: localhost", AUTHORIZATION))
        for _ in range(2):
            assert gate.entered.acquire(timeout=10)
        with Connection(port) as control:
            control.send(get("/control/x", "Host: localhost", AUTHORIZATION))
            assert control.reply().json["path"] == "/control/x"
        with Connection(port) as both:
            both.send(
                get("/control/1", "Host: localhost", AUTHORIZATION)
                + get("/gate", "Host: localhost", AUTHORIZATION)
                + get("/control/2", "Host: localhost", AUTHORIZATION)
            )
            assert both.reply().json["path"] == "/control/1"
            gate.open.set()
            assert both.reply().data == b"late"
            assert both.reply().json["path"] == "/control/2"


def test_a_slow_control_request_does_not_block_the_next() -> None:
    entered, gate = threading.Event(), threading.Event()

    def app(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/control/slow":
            entered.set()
            gate.wait(60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with ExitStack() as stack:
        port = stack.enter_context(serving(app, threads=1, control_prefix="/control/"))
        stack.callback(gate.set)
        slow, quick = [stack.enter_context(Connection(port)) for _ in range(2)]
        slow.send(get("/control/slow"))
        assert entered.wait(10)
        quick.send(get("/control/quick"))
        assert quick.reply().status_code == 200
        gate.set()
        assert slow.reply().status_code == 200
