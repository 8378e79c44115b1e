"""How requests are read from what arrives: whole, byte by byte, in two pieces, up to the limits."""

from collections.abc import Callable, Iterable
from functools import cache

import pytest

from server import ServerOptions, check_hosts
from server.parser import Parser, Rejection
from server.settings import Settings, make_settings
from tests.wire import AUTHORIZATION, SECRET, get, post

KIB = 1024
MIB = 1024 * KIB
LARGEST_HEAD = 16 * KIB
LARGEST_BODY = MIB + 64 * KIB  # bytes on the wire
LARGEST_CONTROL_BODY = 65 * MIB
MOST_FIELDS = 100
MANY = 150  # bytes that arrive one by one
HOST = "Host: localhost"
CHUNKED = "Transfer-Encoding: chunked"


@cache
def settings(host: str) -> Settings:
    """Those of a server that listens on this name of a loopback address."""
    trusted = ("stub.test", "fe80::1")
    return make_settings(ServerOptions(control_prefix="/control/", trusted_hosts=trusted), 9, host)


def parse(pieces: Iterable[bytes], host: str = "127.0.0.1") -> list[Parser]:
    """The requests in what arrives in these pieces, up to the first that is rejected."""
    requests = [Parser(settings(host))]
    for piece in pieces:
        while piece:
            if requests[-1].completed:
                requests.append(Parser(settings(host)))
            used = requests[-1].received(piece)
            if requests[-1].error:
                return requests
            piece = piece[used:]
    return requests


def assert_rejected(request: Parser, code: str = "malformed_request") -> None:
    """The request is rejected with this error, which repeats no secret."""
    assert isinstance(request.error, Rejection), "it was not rejected"
    assert request.error.code == code
    assert request.completed
    assert not request.expect_continue
    assert SECRET.encode() not in request.error.body


def each_byte(data: bytes) -> list[bytes]:
    """Data byte by byte; of long data the last bytes."""
    start = max(0, len(data) - MANY)
    return [data[:start], *(data[at : at + 1] for at in range(start, len(data)))]


# Those that have not ended are rejected before they do.
MALFORMED = {
    "TLS": b"\x16\x03",
    "a NUL in the target": b"GET /a\x00",
    "a bare LF after the request line": b"GET / HTTP/1.1\n",
    "a bare CR in a field": f"GET / HTTP/1.1\r\n{AUTHORIZATION}\rA".encode(),
    "a DEL in a value": b"GET / HTTP/1.1\r\nA: \x7f",
    # The request line
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/1.2": get(version="1.2"),
    "HTTP/1.10": get(version="1.10"),
    "a space in the target": get(f"/{SECRET} x"),
    "a byte beyond ASCII in the target": get("/a\xe9"),
    "a fragment": get("/a#b"),
    "another scheme": get("ftp://localhost/"),
    "no host in the target": get("http:///v1"),
    "a user in the target": get(f"http://{SECRET}@localhost/"),
    "a word for a port in the target": get("http://localhost:http/"),
    "a method in lower case": get(method="get"),
    "a method that is no token": get(method="G@T"),
    # The fields
    "folding": get("/", HOST, AUTHORIZATION, " continued"),
    "a space before the colon": get("/", HOST, f"Authorization : Bearer {SECRET}"),
    "no name": get("/", HOST, f": {SECRET}"),
    "no colon": get("/", HOST, SECRET),
    "a name beyond ASCII": get("/", HOST, "N\xe4me: b"),
    "no Host": get("/", "A: b"),
    "two Hosts in HTTP/1.0": get("/", HOST, HOST, version="1.0"),
    "a Host with a word for a port": get("/", "Host: localhost:http"),
    "two Authorizations": get("/", HOST, AUTHORIZATION, "A: b", AUTHORIZATION.lower()),
    # The framing
    "an empty Content-Length": post("Content-Length:"),
    "a signed Content-Length": post("content-length: +5", body=b"hello"),
    "a Content-Length list": post("Content-Length: 5, 5", body=b"hello"),
    "a Content-Length of 20 digits": post(f"Content-Length: {'9' * 20}"),
    "two Content-Lengths": post("Content-Length: 5", "A: b", "Content-Length: 5", body=b"hello"),
    "both framings": post(CHUNKED, "Content-Length: 5", body=b"0\r\n\r\n"),
    "chunked in HTTP/1.0": post(CHUNKED.lower(), body=b"0\r\n\r\n", version="1.0"),
    "chunked in two fields": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "gzip before chunked": post("transfer-encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "a chunk size that is none": post(CHUNKED, body=b"Z\r\n"),
    "an empty chunk size": post(CHUNKED, body=b"\r\n5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size of 17 digits": post(CHUNKED, body=b"00000000000000005\r\nhello"),
    "a chunk size that ends in LF": post(CHUNKED, body=b"5\nh"),
    "a chunk extension without a name": post(CHUNKED, body=b"5;=1\r\nhello"),
    "an endless chunk extension": post(CHUNKED, body=b"5;" + b"a" * 4095),
    "a chunk longer than its size": post(CHUNKED, body=b"4\r\nhello\r\n"),
    "a malformed trailer": post(CHUNKED, body=f"0\r\n{SECRET}\r\n".encode()),
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_rejected_however_it_arrives(raw: bytes) -> None:
    for pieces in ([raw], each_byte(raw)):
        [rejected] = parse(pieces)
        assert_rejected(rejected)


CHUNKS = b'05;a;b=c;d="e\\"f"\r\nhello\r\n1;a=b\r\n!\r\n000\r\nA: x\r\nHost: x\r\n\r\n'
SIZED = post("Content-Length: 6", "Expect: 100-continue", body=b"hello!")
WELL_FORMED = [
    (b"\r\n\r\n" + get("/1?a", HOST, "A: b"), "/1", b""),
    (post("Transfer-Encoding: Chunked") + CHUNKS, "/", b"hello!"),
    (SIZED, "/", b"hello!"),
]


@pytest.mark.parametrize(("raw", "path", "body"), WELL_FORMED)
def test_a_request_is_the_same_however_it_arrives(raw: bytes, path: str, body: bytes) -> None:
    both = raw + get("/next")
    cuts = [[both[:place], both[place:]] for place in range(1, len(both))]
    for pieces in (each_byte(both), *cuts):
        first, second = parse(pieces)
        assert (first.error, first.path) == (None, path)
        assert first.get_body_stream().read() == body
        assert first.headers["HOST"] == "localhost"
        assert first.headers.get("A") == ("b" if path == "/1" else None)  # no field of a trailer
        assert (second.error, second.path) == (None, "/next")
        assert first.completed
        assert not first.expect_continue
        assert second.completed


def test_tls_is_told_from_other_bytes() -> None:
    [request] = parse([MALFORMED["TLS"]])
    assert request.error
    assert request.error.detail == "This looks like TLS: use http://."


def test_empty_lines_alone_are_no_request() -> None:
    [request] = parse([b"\r\n"] * 10_000)
    assert not request.completed


# A request, and what is read of it: the path and the query, or the value of a field.
TARGETS = [
    ("//v1/projects", "//v1/projects", ""),
    ("/a%2Fb%20c?d=%2F&e?f", "/a/b c", "d=%2F&e?f"),
    ("/a|b{c}?", "/a|b{c}", ""),
    ("http://localhost/a?b", "/a", "b"),
    ("HTTP://LOCALHOST:8080//a", "//a", ""),
    ("http://127.0.0.1", "/", ""),
    ("https://[::1]?a", "/", "a"),
]
FIELDS = [
    (get("/", "A: b", version="1.0"), "A", "b"),
    (get("/", HOST, "A:\tb\t", "A: \xff\xfe", "A:"), "A", "b, \xff\xfe, "),
    (get("/", "host:localhost", AUTHORIZATION.upper()), "AUTHORIZATION", "BEARER TOK-5ECRET"),
    (post("Content_Length: 99", "Transfer_Encoding: chunked"), "CONTENT_LENGTH", None),
    (get("http://a.localhost:1/", "Host: b.localhost"), "HOST", "a.localhost:1"),
    (get("/", HOST, "Upgrade: websocket", "Connection: Upgrade"), "UPGRADE", None),
    (get("/", HOST, "Connection: TE, Close"), "CONNECTION", "close"),
    (get("*", HOST, method="OPTIONS"), "HOST", "localhost"),
]


def test_path_query_and_fields_are_read_as_they_were_sent() -> None:
    for target, path, query in TARGETS:
        [request] = parse([get(target)])
        assert (request.error, request.path, vars(request)["query"]) == (None, path, query)
    for raw, name, value in FIELDS:
        [request] = parse([raw])
        assert (request.error, request.headers.get(name)) == (None, value)


def test_requests_with_the_same_head_share_nothing() -> None:
    raw = post("Content-Length: 1", body=b"x")
    [first] = parse([raw])
    first.close_connection()
    [second] = parse([raw])
    assert "CONNECTION" not in second.headers
    assert first.get_body_stream().read() == second.get_body_stream().read() == b"x"


SERVED = [
    "localhost", "LocalHost:8080", "a.b.localhost:1", "127.255.0.9", "127.0.0.1:65535", "[::1]:80",
    "localhost:", "localhost.", "Stub.test", "stub.test:99", "[fe80::1]",
]  # fmt: skip
OTHER = [
    "evil.example", "localhost.evil.example", "evil-localhost", "128.0.0.1", "10.0.0.1", "[::2]",
    "127.0.0.1.evil.example", "0.0.0.0", "%6cocalhost", SECRET, "a.stub.test", "stubxtest", "127.1",
]  # fmt: skip


def test_loopback_serves_its_own_names_and_the_trusted_ones_alone() -> None:
    for host in SERVED:
        for raw in (get("/", f"Host: {host}"), get(f"http://{host}/")):
            [request] = parse([raw])
            assert request.error is None, host
    for host in OTHER:
        for target, field in (
            ("/", host),
            ("http://localhost/", host),
            (f"http://{host}/", "[::1]"),
        ):
            [request] = parse([get(target, f"Host: {field}", AUTHORIZATION)])
            assert_rejected(request, "host_not_allowed")
    for host, sent in (("127.1", "127.1"), ("0x7F.1", "0X7f.1:80"), ("0:0::1", "[0:0::1]:8080")):
        [served] = parse([get("/", f"Host: {sent}")], host)  # as `--host` gives it
        assert served.error is None, host


def test_a_trusted_host_has_no_scheme_and_no_port() -> None:
    for name in ("http://stub.test", "stub.test:80", "", "a b"):
        with pytest.raises(ValueError, match="is not a host name"):
            check_hosts([name])


# A request of so many bytes or fields, how many it may have, and the code where it has more.
LIMITS: dict[str, tuple[Callable[[int], bytes], int, str]] = {
    "head": (lambda n: get("/" + "x" * (n - len(get()))), LARGEST_HEAD, "headers_too_large"),
    "fields": (lambda n: get("/", HOST, *["A: b"] * (n - 1)), MOST_FIELDS, "headers_too_large"),
    "body": (lambda n: post(f"Content-Length: {n}", body=n * b"x"), LARGEST_BODY, "body_too_large"),
    "chunk": (
        lambda n: post(CHUNKED, body=b"%06x\r\n" % (n - 15) + (n - 15) * b"x" + b"\r\n0\r\n\r\n"),
        LARGEST_BODY,
        "body_too_large",
    ),
}


@pytest.mark.parametrize(("up_to", "limit", "code"), LIMITS.values(), ids=LIMITS)
def test_a_request_up_to_a_limit_is_accepted_and_one_beyond_it_is_rejected(
    up_to: Callable[[int], bytes], limit: int, code: str
) -> None:
    [accepted] = parse([up_to(limit)])
    assert accepted.error is None
    assert accepted.completed
    [rejected] = parse([up_to(limit + 1)])
    assert_rejected(rejected, code)


def test_a_control_route_may_have_a_large_body_and_a_larger_one_is_rejected_unread() -> None:
    for target, limit in (("/x/control/", LARGEST_BODY), ("/control/x", LARGEST_CONTROL_BODY)):
        accepted, rejected = (
            parse([get(target, HOST, f"Content-Length: {length}", method="POST")])[0]
            for length in (limit, limit + 1)
        )
        assert accepted.error is None
        assert_rejected(rejected, "body_too_large")
