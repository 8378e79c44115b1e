"""Responses: of the app, and of the server itself."""

import gc
import json
import time
import weakref
from contextlib import ExitStack
from typing import Any

import pytest

from tests.server.conftest import AUTHORIZATION, serving
from tests.wire import SECRET, Connection, get


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (get(version="2.0", method="HEAD"), 400, "malformed_request"),
        (get("/" + "x" * 16 * 1024, method="HEAD"), 431, "headers_too_large"),
    ],
)
def test_a_rejection_of_head_has_no_body(port: int, raw: bytes, status: int, code: str) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(status, code, head=True)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_exception_that_escapes_the_app_is_500_and_its_message_is_not_logged(
    port: int, method: str, rejections: list[tuple[int, str]], caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(port) as client:
        client.send(get(f"/boom?{SECRET}", "Host: localhost", AUTHORIZATION, method=method))
        client.assert_rejected(500, "internal_error", head=method == "HEAD")
    assert rejections == [(500, "internal_error")]
    assert "FileNotFoundError" in caplog.text
    assert "in boom" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("option", "version"), [("close", "1.1"), ("TE, Close", "1.1"), ("x", "1.0")]
)
def test_a_connection_is_closed_when_the_client_asks(port: int, option: str, version: str) -> None:
    with Connection(port) as client:
        client.send(get("/", "Host: localhost", f"Connection: {option}", version=version) + get())
        assert client.reply().headers["Connection"] == "close"
        assert client.closed()


def test_head_and_body_arrive_together(port: int) -> None:
    with Connection(port) as client:
        for _ in range(50):  # two sends may arrive together, but not 50 times
            client.send(get())
            client.more()
            client.until(b"\r\n\r\n")
            assert json.loads(client.unread)["path"] == "/"
            client.unread = b""


def test_a_piece_is_sent_before_the_next_exists(port: int) -> None:
    with ExitStack() as stack:
        one = stack.enter_context(Connection(port))
        started = time.monotonic()
        for _ in range(4):
            one.send(get())
            one.reply()
            other = stack.enter_context(Connection(port))
            other.send(get("/until-gone/x"))
            other.until(b"first")
        assert time.monotonic() - started < 1  # the loop looks for output twice a second


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
