"""Requests and responses on sockets: samples of what test_parser.py holds, and what it cannot."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live import serving
from tests.server.conftest import Echo
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

MIB = 1024 * 1024
CHUNKED = "Transfer-Encoding: chunked"
EXPECT = "Expect: 100-continue"
REJECTED = [
    (b"\x16\x03", 400, "malformed_request"),
    (get("/", f"A: {SECRET}"), 400, "malformed_request"),
    (post(CHUNKED, f"X-Token: {SECRET}", body=b"Z\r\n"), 400, "malformed_request"),
    (post("Content-Length: 9", EXPECT, "Host: a"), 400, "malformed_request"),
    (get("/", "Host: evil.example", method="HEAD"), 400, "host_not_allowed"),
    (post(f"Content-Length: {2 * MIB}", body=2 * MIB * b"x"), 413, "body_too_large"),
    (get("/" + "x" * 16 * 1024), 431, "headers_too_large"),
    (get("/" + "x" * 16 * 1024, method="HEAD"), 431, "headers_too_large"),
]


def test_a_rejection_is_a_problem_that_the_client_can_read_and_is_not_logged(
    port: int, echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for raw, status, code in REJECTED:
        with Connection(port) as client:
            client.send(raw)
            client.assert_rejected(status, code, head=raw.startswith(b"HEAD"))
    assert [each.code for each in echo.rejections] == [code for _, _, code in REJECTED]
    assert SECRET not in caplog.text


def test_requests_before_a_malformed_one_get_their_responses_in_order(port: int) -> None:
    with Connection(port) as client:
        client.send(get("/1") + post("Content-Length: 2", body=b"/2") + get("/3", version="9.9"))
        client.send(get("/4"))
        assert client.reply().json["path"] == "/1"
        assert client.reply().json["body"] == "/2"
        client.assert_rejected(400, "malformed_request")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_exception_that_escapes_the_app_is_500_and_its_message_is_not_logged(
    port: int, echo: Echo, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    with Connection(port) as client:
        client.send(get(f"/boom?{SECRET}", "Host: localhost", AUTHORIZATION, method=method))
        client.assert_rejected(500, "internal_error", head=method == "HEAD")
    assert [each.code for each in echo.rejections] == ["internal_error"]
    assert "FileNotFoundError" in caplog.text
    assert "in boom" in caplog.text
    assert SECRET not in caplog.text


def test_the_app_sees_the_path_that_was_sent_and_no_trailer(port: int) -> None:
    chunks = f"5\r\nhello\r\n0\r\n{AUTHORIZATION}\r\nHost: a\r\n\r\n".encode()
    with Connection(port) as client:
        client.send(get("//a%2Fb?c", "Host: localhost", CHUNKED, method="POST") + chunks)
        client.send(get("/next"))
        first, second = client.reply().json, client.reply().json
    environ = first["environ"]
    assert (first["path"], environ["QUERY_STRING"], first["body"]) == ("//a/b", "c", "hello")
    assert environ["REQUEST_URI"] == "//a%2Fb?c"
    assert (environ["CONTENT_LENGTH"], environ["HTTP_HOST"]) == ("5", "localhost")
    assert not environ.keys() & {"HTTP_AUTHORIZATION", "HTTP_TRANSFER_ENCODING"}
    assert second["path"] == "/next"


def test_a_client_that_expects_100_gets_it_and_leaves_nothing_for_the_next(port: int) -> None:
    with Connection(port) as client:
        client.send(post(AUTHORIZATION, "Content-Length: 5", EXPECT))
        assert client.reply().status_code == 100
        client.send(b"hello")
        assert client.reply().json["body"] == "hello"
        client.send(get("/1", "Host: localhost", AUTHORIZATION, EXPECT))
        assert client.reply().status_code == 200
        client.send(get("/2"))
        environ = client.reply().json["environ"]
    assert not environ.keys() & {"HTTP_EXPECT", "HTTP_AUTHORIZATION"}


def test_a_connection_is_kept_as_the_client_asks(port: int) -> None:
    for option, version, is_kept in (("TE, Close", "1.1", False), ("Keep-Alive", "1.0", True)):
        field = f"Connection: {option}"
        with Connection(port) as client:
            client.send(get("/", "Host: localhost", field, version=version) + get())
            assert (client.reply().headers.get("Connection") != "close") == is_kept
            assert client.reply().status_code == 200 if is_kept else client.closed()


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
