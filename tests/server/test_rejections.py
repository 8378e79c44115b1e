"""Requests that the server rejects by itself, on the wire."""

import logging
from collections.abc import Callable

import pytest

from tests.contract import assert_problem
from tests.raw import AUTHORIZATION, SECRET, get, post
from tests.server.malformed import ALL, BODIES, Case
from tests.wire import Connection

pytestmark = pytest.mark.process

KIB = 1024
MIB = 1024 * KIB
LARGEST_BODY = MIB + 64 * KIB  # bytes on the wire


@pytest.fixture
def assert_rejected_once(
    port: int,
    rejections: list[tuple[int, str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., None]:
    """Asserts that the server rejects malformed bytes with one error, and logs nothing of them."""

    def check(*pieces: bytes) -> None:
        caplog.set_level(logging.DEBUG)
        with Connection(port) as client:
            if len(pieces) == 1:
                client.send(pieces[0])
            else:
                client.send_in_pieces(*pieces)
            client.assert_rejected(400, "malformed_request")
        assert rejections == [(400, "malformed_request")]
        assert SECRET not in caplog.text + "".join(capfd.readouterr())

    return check


@pytest.mark.parametrize("more", [b"", get("/", "Host: localhost", AUTHORIZATION)], ids=["", "+"])
@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_malformed_request_is_rejected_once_and_not_logged(
    assert_rejected_once: Callable[..., None], case: Case, more: bytes
) -> None:
    assert_rejected_once(case.raw + more)


BYTE_BY_BYTE = [
    "TLS",
    "HTTP/0.9",
    "a bare LF after the request line",
    "no Host",
    "an HTTP/2 preface",
    "a chunk size that is none",
    "a chunk size that ends in LF so far",
    "no CRLF after a chunk so far",
    "a malformed trailer",
    "a trailer that ends in LF",
]


@pytest.mark.parametrize("name", BYTE_BY_BYTE)
def test_a_malformed_request_is_rejected_at_its_first_wrong_byte(
    assert_rejected_once: Callable[..., None], name: str
) -> None:
    case = ALL[name]
    start = case.raw.index(b"\r\n\r\n") if name in BODIES else 0
    rest = (case.raw[at : at + 1] for at in range(start, case.read))
    assert_rejected_once(*filter(None, [case.raw[:start], *rest]))


@pytest.mark.parametrize(
    "raw",
    [
        get("/", "Host: localhost", f"A: {'x' * 16 * KIB}"),
        get("/" + "x" * 16 * KIB),
        b"GET /" + b"x" * 16 * KIB,
        get("/", "Host: localhost", *["A: b"] * 100),
    ],
    ids=["a field", "a target", "an unfinished target", "101 fields"],
)
def test_a_large_head_is_rejected(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(431, "headers_too_large")


def chunked(body: bytes) -> bytes:
    return post("Transfer-Encoding: chunked", body=body)


@pytest.mark.parametrize(
    "raw",
    [
        post(f"Content-Length: {LARGEST_BODY + 1}"),
        post(f"Content-Length: {'9' * 19}"),
        post(f"Content-Length: {LARGEST_BODY + 1}", "Expect: 100-continue"),
        chunked(b"%x\r\n" % (LARGEST_BODY + 1)),
        chunked(b"FFFFFFFFFFFFFFFF\r\n"),
        chunked(b"fff\r\n" + b"x" * 4095 + b"\r\n" + (b"1;" + b"a" * 4000 + b"\r\nx\r\n") * 300),
    ],
    ids=["a length", "19 digits", "expected", "a chunk", "16 digits", "many chunks"],
)
def test_a_large_body_is_rejected_before_it_is_read(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(413, "body_too_large")


@pytest.mark.parametrize("chunks", [False, True])
def test_a_client_that_sends_too_much_can_read_the_response(port: int, chunks: bool) -> None:
    framing = "Transfer-Encoding: chunked" if chunks else f"Content-Length: {2 * MIB}"
    body = (b"%x\r\n" % (2 * MIB) if chunks else b"") + 2 * MIB * b"x"
    with Connection(port) as client:
        client.send(post(framing, body=body))
        client.assert_rejected(413, "body_too_large")


def test_a_malformed_request_that_expects_100_gets_none(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content-Length: 9", "Expect: 100-continue", "Host: a"))
        client.assert_rejected(400, "malformed_request")


def test_requests_before_a_malformed_one_get_their_responses_in_order(port: int) -> None:
    with Connection(port) as client:
        client.send(get("/1") + post("Content-Length: 2", body=b"/2") + get("/3", version="9.9"))
        client.send(get("/4"))
        assert client.reply().json["path"] == "/1"
        assert client.reply().json["body"] == "/2"
        client.assert_rejected(400, "malformed_request")


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (get(version="2.0", method="HEAD"), 400, "malformed_request"),
        (get("/" + "x" * 16 * KIB, method="HEAD"), 431, "headers_too_large"),
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


def test_a_rejection_has_the_headers_that_are_given_for_its_origin(
    serve: Callable[..., int],
) -> None:
    with Connection(serve(headers_for=lambda origin: {"X-Origin": f"{origin}"})) as client:
        client.send(get("/boom", "Host: localhost", AUTHORIZATION, "Origin: http://a.test"))
        reply = client.reply()
    assert_problem(reply, 500, "internal_error")
    assert reply.headers["X-Origin"] == "http://a.test"
