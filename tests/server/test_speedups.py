"""The server that is sped up responds as the plain one."""

import gc
import re
import socket
from contextlib import suppress

import pytest

from server import speed_up
from tests.server.conftest import Echo, running, serving
from tests.server.test_heads import CHUNKED, EXPECT, HOST, READ, REJECTED, TOO_LARGE
from tests.wire import AUTHORIZATION, Connection, get, post

pytestmark = pytest.mark.process

KEEP = "Connection: keep-alive"
BODY = "Content-Length: 5"
PATHS = ["/", "/empty", "/chunked", "/parts", "/cut", "/drop", "/close", "/a%2F%C3%A9?b=c"]
REQUESTS = [
    *(raw for raw, *_ in REJECTED),
    *(raw for raw, _ in READ),
    *(get(path, HOST, *more, version=version)
      for path in PATHS
      for more in ([], [KEEP], ["Connection: close"], [AUTHORIZATION, "Accept: */*", "A_B: c"])
      for version in ("1.0", "1.1")),
    *(get(path, HOST, version=version, method="HEAD")
      for path in PATHS
      for version in ("1.0", "1.1")),
    post(BODY, body=b"hello"), post(BODY, EXPECT, body=b"hello"), post(BODY, body=b"hell"),
    post(CHUNKED, body=b"5\r\nhello\r\n0\r\n\r\n"), post("Content-Length: 0"),
    get("/", HOST, TOO_LARGE), get("/", HOST, "X: " + 4500 * "x"), get("/", "Host: other"),
    get("http://localhost/a?b#c"), get("/large"), get("/one-part"), get("/one-part?longer"),
]  # fmt: skip


def exchange(port: int, raw: bytes) -> bytes:
    """Send a request twice over a connection, and return all that comes, without what differs."""
    with Connection(port) as client:
        client.send(raw + raw)
        with suppress(OSError):  # The server may have closed the connection.
            client.sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):  # The server has not read all.
            while client.more():
                pass
    text = re.sub(rb"\r\nDate: [^\r]+", b"", client.unread)
    return re.sub(rb'_PORT": "\d+"', b"", text)


def test_each_response_is_that_of_the_plain_server() -> None:
    with serving(Echo(lambda server: None)) as plain, serving(Echo(speed_up)) as fast:
        for raw in REQUESTS:
            expected = exchange(plain, raw)
            assert expected or b"/drop" in raw
            for _ in range(2):
                assert exchange(fast, raw) == expected


def test_heads_differ_by_all_of_their_bytes() -> None:
    """More of them than are remembered."""
    with serving(Echo(speed_up)) as port, Connection(port) as client:
        for number in [*range(300), *range(300)]:
            client.send(get(f"/{number}", HOST, f"A: {number}"))
            seen = client.reply().json
            assert (seen["PATH_INFO"], seen["HTTP_A"]) == (f"/{number}", str(number))
            assert "HTTP_B" not in seen
            for body in (f"{number:05}", "other"):
                client.send(post(BODY, f"B: {number}", body=body.encode()))
                seen = client.reply().json
                assert (seen["HTTP_B"], seen["body"]) == (str(number), body)


def test_a_request_that_closes_its_connection_closes_no_later_one_with_its_head(echo: Echo) -> None:
    with serving(echo) as port:
        for closes in (False, True, False, True):
            echo.closes = closes
            with Connection(port) as client:
                client.send(get("/close") + get())
                reply = client.reply()
                assert ("Connection" in reply.headers) == closes
                assert "HTTP_CONNECTION" not in reply.json
                if not closes:
                    assert client.reply().status_code == 200


def test_a_large_response_arrives_whole_while_others_are_sent(echo: Echo) -> None:
    with running(echo) as server:
        port = server.effective_port
        with Connection(port) as slow, Connection(port) as other:
            slow.send(get("/large") + get("/"))
            for _ in range(3):
                other.send(get("/"))
                assert other.reply().status_code == 200
            assert {*slow.reply().data} == {*b"x"}
            assert slow.reply().json["PATH_INFO"] == "/"


def test_requests_leave_nothing_to_the_garbage_collector(echo: Echo) -> None:
    with serving(echo) as port, Connection(port) as client:
        requests = [get(), post(BODY, body=b"hello"), get("/parts"), get("/", "Host: other")]
        for raw in requests:
            client.send(raw)
            client.reply()
        gc.collect()
        gc.disable()
        try:
            for raw in 25 * requests:
                client.send(raw)
                client.reply()
            # A cycle in each request would leave 100; the test runner has a few of its own.
            assert gc.collect() < 100
        finally:
            gc.enable()
