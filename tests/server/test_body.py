"""What the app sees of the body of a request, and 100 Continue."""

import pytest

from tests.raw import AUTHORIZATION, get, post
from tests.wire import Connection

pytestmark = pytest.mark.process

MIB = 1024 * 1024
LARGEST = MIB + 64 * 1024  # bytes on the wire
CHUNKS = b"5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nA: b\r\n\r\n"


def chunked(body: bytes) -> bytes:
    return post("Transfer-Encoding: chunked", body=body)


@pytest.mark.parametrize("place", [1, 2, 6, 9, len(CHUNKS) - 1])
def test_a_chunked_body_that_arrives_in_two_pieces_reaches_the_app(port: int, place: int) -> None:
    with Connection(port) as client:
        client.send_in_pieces(chunked(CHUNKS[:place]), CHUNKS[place:] + get("/next"))
        assert client.reply().json["body"] == "hello!"
        assert client.reply().json["path"] == "/next"


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


MOST = 65 * MIB  # of a control route


@pytest.mark.parametrize(("length", "status"), [(LARGEST + 1, 100), (MOST, 100), (MOST + 1, 413)])
def test_a_control_route_accepts_a_larger_body(control_port: int, length: int, status: int) -> None:
    with Connection(control_port) as client:
        client.send(
            get(
                "/control/x",
                "Host: localhost",
                AUTHORIZATION,
                f"Content-Length: {length}",
                "Expect: 100-continue",
                method="POST",
            )
        )
        if status == 413:
            client.assert_rejected(413, "body_too_large")
            return
        assert client.reply().status_code == 100
        if length == LARGEST + 1:
            client.send(length * b"x")
            assert client.reply().json["length"] == length
