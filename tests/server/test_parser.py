"""Bodies: framing, chunks and trailers, sizes, and 100 Continue."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.server.conftest import AUTHORIZATION, SENT_IN_EVERY_WAY, Send, chunked
from tests.wire import SECRET, Connection, get, post

LARGEST = 1024 * 1024 + 64 * 1024  # bytes on the wire
MALFORMED = {
    "a chunk size that is none": chunked(b"Z\r\nhello\r\n0\r\n\r\n"),
    "an empty chunk size": chunked(b"\r\n5\r\nhello\r\n0\r\n\r\n"),
    "a signed chunk size": chunked(b"+5\r\nhello\r\n0\r\n\r\n"),
    "a negative chunk size": chunked(b"-5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with 0x": chunked(b"0x5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with an underscore": chunked(b"0_5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a space": chunked(b"5 \r\nhello\r\n0\r\n\r\n"),
    "a chunk size after a space": chunked(b" 5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size of 17 digits": chunked(b"00000000000000005\r\nhello\r\n0\r\n\r\n"),
    "a chunk size that ends in LF": chunked(b"5\nhello\r\n0\r\n\r\n"),
    "a chunk size that ends in LF so far": chunked(b"5\n"),
    "a chunk size that ends in LF CRLF": chunked(b"5\n\r\nhello\r\n0\r\n\r\n"),
    "a chunk extension without a name": chunked(b"5;=1\r\nhello\r\n0\r\n\r\n"),
    "a chunk extension with LF": chunked(b"5;a\n\r\nhello\r\n0\r\n\r\n"),
    "a chunk extension with a NUL": chunked(b"5;a=\x00\r\nhello\r\n0\r\n\r\n"),
    "an unclosed chunk extension": chunked(b'5;a="b\r\nhello\r\n0\r\n\r\n'),
    "an endless chunk extension": chunked(b"5;" + b"a" * 5000),
    "no CRLF after a chunk": chunked(b"5\r\nhello0\r\n\r\n"),
    "no CRLF after a chunk so far": chunked(b"5\r\nhello0"),
    "a chunk longer than its size": chunked(b"4\r\nhello\r\n0\r\n\r\n"),
    "a CR alone after a chunk": chunked(b"5\r\nhello\r0\r\n\r\n"),
    "a CR too many after a chunk": chunked(b"5\r\nhello\r\r\n0\r\n\r\n"),
    "a malformed trailer": chunked(f"0\r\n{SECRET}\r\n\r\n".encode()),
    "a folded trailer": chunked(b"0\r\nA: b\r\n c\r\n\r\n"),
    "a trailer that ends in LF": chunked(b"0\r\nA: b\n\r\n\r\n"),
}

CHUNKS = b"5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nA: b\r\n\r\n"


@SENT_IN_EVERY_WAY
@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_chunked_body_is_rejected_once_and_not_logged(
    assert_rejected_once: Callable[[bytes, Send], None], raw: bytes, send: Send
) -> None:
    assert_rejected_once(raw, send)


@pytest.mark.parametrize("place", range(1, len(CHUNKS)))
def test_a_chunked_body_that_arrives_in_two_pieces_reaches_the_app(port: int, place: int) -> None:
    head = post("Transfer-Encoding: chunked")
    with Connection(port) as client:
        client.send_in_pieces(head + CHUNKS[:place], CHUNKS[place:] + get("/next"))
        assert client.reply().json["body"] == "hello!"
        assert client.reply().json["path"] == "/next"


@pytest.mark.parametrize(
    "raw",
    [
        post(f"Content-Length: {LARGEST + 1}"),
        post(f"Content-Length: {'9' * 19}"),
        post(f"Content-Length: {LARGEST + 1}", "Expect: 100-continue"),
        chunked(b"%x\r\n" % (LARGEST + 1)),
        chunked(b"FFFFFFFFFFFFFFFF\r\n"),
        chunked(b"fff\r\n" + b"x" * 4095 + b"\r\n" + b"1\r\nx\r\n" * 200_000),
    ],
    ids=["a length", "19 digits", "expected", "a chunk", "16 digits", "many chunks"],
)
def test_a_large_body_is_rejected_before_it_is_read(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(413, "body_too_large")


@pytest.mark.parametrize(
    ("raw", "length"),
    [
        (post("Content-Length: 5", body=b"hello"), 5),
        (post(f"Content-Length: {LARGEST}", body=b"x" * LARGEST), LARGEST),
        (post("Transfer-Encoding: Chunked", body=b'5;a;b=c;d="e\\"f"\r\nhello\r\n0\r\n\r\n'), 5),
        (post("Transfer-Encoding: chunked", body=b"05\r\nhello\r\n000\r\nHost: a\r\n\r\n"), 5),
    ],
    ids=["a length", "the largest", "extensions", "zeros and a trailer"],
)
def test_a_well_formed_body_reaches_the_app(port: int, raw: bytes, length: int) -> None:
    with Connection(port) as client:
        client.send(raw)
        assert client.reply().json["length"] == length


def test_a_trailer_never_becomes_a_header(port: int) -> None:
    with Connection(port) as client:
        client.send(chunked(f"5\r\nhello\r\n0\r\n{AUTHORIZATION}\r\nHost: a\r\n\r\n".encode()))
        reply = client.reply()
    environ = reply.json["environ"]
    assert reply.json["body"] == "hello"
    assert environ["CONTENT_LENGTH"] == "5"
    assert environ["HTTP_HOST"] == "localhost"
    assert not environ.keys() & {"HTTP_AUTHORIZATION", "HTTP_TRANSFER_ENCODING"}


@pytest.mark.parametrize("first", ["GET", "POST"])
def test_a_request_with_expect_leaves_nothing_for_the_next(port: int, first: str) -> None:
    with Connection(port) as client:
        fields = ("Host: localhost", AUTHORIZATION, "Expect: 100-continue")
        client.send(get("/1", *fields, method=first))
        assert client.reply().status_code == 200
        client.send(get("/2"))
        environ = client.reply().json["environ"]
    assert not environ.keys() & {"HTTP_EXPECT", "HTTP_AUTHORIZATION"}


def test_a_client_that_expects_100_gets_it(port: int) -> None:
    with Connection(port) as client:
        client.send(post(AUTHORIZATION, "Content-Length: 5", "Expect: 100-continue"))
        assert client.reply().status_code == 100
        client.send(b"hello")
        assert client.reply().json["body"] == "hello"


def test_an_http_1_0_client_gets_no_100(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content-Length: 5", "Expect: 100-continue", version="1.0"))
        client.send(b"hello")
        assert client.reply().status_code == 200


def test_requests_before_a_malformed_one_get_their_responses_in_order(port: int) -> None:
    with Connection(port) as client:
        client.send(get("/1") + post("Content-Length: 2", body=b"/2") + get("/3", version="9.9"))
        client.send(get("/4"))
        assert client.reply().json["path"] == "/1"
        assert client.reply().json["body"] == "/2"
        client.assert_rejected(400, "malformed_request")


@pytest.mark.parametrize(("prefix", "status"), [(None, 413), ("/", 200)])
def test_a_control_route_accepts_a_larger_body(
    serve: Callable[..., int], prefix: str | None, status: int
) -> None:
    length = 2 * LARGEST
    with Connection(serve(control_prefix=prefix)) as client:
        client.send(post(AUTHORIZATION, f"Content-Length: {length}"))
        with suppress(ConnectionError):
            client.send(length * b"x")
        if status == 413:
            client.assert_rejected(413, "body_too_large")
        else:
            assert client.reply().json["length"] == length


def test_a_malformed_request_that_expects_100_gets_none(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content-Length: 9", "Expect: 100-continue", "Host: a"))
        client.assert_rejected(400, "malformed_request")
