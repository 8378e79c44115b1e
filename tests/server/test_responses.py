"""Responses of the app."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live import serving
from tests.raw import get
from tests.wire import Connection

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("option", "version"),
    [
        ("close", "1.1"),
        ("TE, Close", "1.1"),
        ("close, keep-alive", "1.1"),
        ("keep-alive, close", "1.0"),
        ("x", "1.0"),
    ],
)
def test_a_connection_is_closed_when_the_client_asks(port: int, option: str, version: str) -> None:
    with Connection(port) as client:
        client.send(get("/", "Host: localhost", f"Connection: {option}", version=version) + get())
        assert client.reply().headers["Connection"] == "close"
        assert client.closed()


@pytest.mark.parametrize(("option", "version"), [("x", "1.1"), ("TE, Keep-Alive", "1.0")])
def test_a_connection_is_kept_otherwise(port: int, option: str, version: str) -> None:
    with Connection(port) as client:
        client.send(get("/1", "Host: localhost", f"Connection: {option}", version=version))
        assert client.reply().headers.get("Connection") != "close"
        client.send(get("/2"))
        assert client.reply().json["path"] == "/2"


def test_the_app_can_end_the_connection_after_its_response() -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        environ["server.close"]()
        start_response("200 OK", [("Content-Length", "4")])
        return [b"last"]

    with serving(app, threads=1) as port, Connection(port) as client:
        client.send(get() + get())
        reply = client.reply()
        assert (reply.headers["Connection"], reply.data) == ("close", b"last")
        assert client.closed()


def test_a_failure_within_a_response_cuts_it_and_its_connection() -> None:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Length", "100")])
        yield b"begun"
        raise ValueError

    with serving(app, threads=1) as port, Connection(port) as client:
        client.send(get() + get())
        client.until(b"begun")
        assert client.closed()


@pytest.mark.parametrize("length", [0, 1000, 60_000])
def test_head_and_body_arrive_together(length: int) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(length))])
        return [b"x" * length]

    together = 0
    with serving(app, threads=1) as port, Connection(port) as client:
        for _ in range(50):
            client.send(get())
            client.more()
            client.until(b"\r\n\r\n")
            together += len(client.unread) == length
            while len(client.unread) < length:
                client.more()
            client.unread = b""
    # A single send arrives in two pieces rarely; two sends arrive together half of the time.
    assert together > 40


class Thing:
    """What a weak reference can be held to."""


def test_a_request_is_freed_without_the_garbage_collector() -> None:
    seen: list[weakref.ref[Any]] = []

    def note(environ: Any, start_response: Any) -> list[bytes]:
        environ["test.thing"] = Thing()
        seen.append(weakref.ref(environ["test.thing"]))
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    gc.disable()
    try:
        with serving(note, threads=1) as port, Connection(port) as client:
            for _ in range(3):
                client.send(get())
                client.reply()
            assert [thing() for thing in seen[:2]] == [None, None]
    finally:
        gc.enable()
