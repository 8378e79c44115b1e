"""The thread pools."""

from collections.abc import Callable
from contextlib import ExitStack

from tests.server.conftest import AUTHORIZATION, Gate
from tests.wire import Connection, get


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


def test_slow_requests_do_not_block_control_routes(serve: Callable[..., int], gate: Gate) -> None:
    port = serve(threads=2, control_prefix="/control/")
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
