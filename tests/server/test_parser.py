"""How requests are read from what arrives: byte by byte, in two pieces, up to the limits."""

from collections.abc import Callable, Iterable
from functools import cache

import pytest

from server import ServerOptions
from server.parser import Parser
from server.problems import Rejection
from server.settings import Settings, make_settings
from tests.raw import AUTHORIZATION, SECRET, get, post
from tests.server.malformed import ALL, Case

KIB = 1024
MIB = 1024 * KIB
LARGEST_HEAD = 16 * KIB
LARGEST_BODY = MIB + 64 * KIB  # bytes on the wire
LARGEST_CONTROL_BODY = 65 * MIB
LARGEST_LINE = 4096  # of a chunked body
MOST_FIELDS = 100
MANY = 150  # bytes that arrive one by one, or places of a cut


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


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_malformed_request_is_rejected_at_its_first_wrong_byte_wherever_it_is_cut(
    case: Case,
) -> None:
    [unfinished] = parse(each_byte(case.raw[: case.read - 1]))
    assert not unfinished.completed
    [rejected] = parse(each_byte(case.raw[: case.read]))
    assert_rejected(rejected)
    start = max(1, case.read - MANY // 2)
    for place in range(start, min(start + MANY, len(case.raw) + 1)):
        [first] = parse([case.raw[:place]])
        assert first.completed == (place >= case.read)
        [rejected] = parse([case.raw[:place], case.raw[place:]])
        assert_rejected(rejected)


WELL_FORMED = b"\r\n\r\n" + get("/1?a", "Host: localhost", "A: b")
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = post("Transfer-Encoding: Chunked") + (
    b'05;a;b=c;d="e\\"f"\r\nhello\r\n1;a=b\r\n!\r\n000\r\nA: x\r\nHost: x\r\n\r\n'
)
SIZED = post("Content-Length: 6", "Expect: 100-continue", body=b"hello!")


WELL = [(WELL_FORMED, "/1", b""), (CHUNKS, "/", b"hello!"), (SIZED, "/", b"hello!")]


@pytest.mark.parametrize(("raw", "path", "body"), WELL, ids=["a head", "chunks", "a length"])
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
    [request] = parse([ALL["TLS"].raw])
    assert request.error
    assert request.error.detail == "This looks like TLS: use http://."


def test_empty_lines_alone_are_no_request() -> None:
    [request] = parse([b"\r\n"] * 10_000)
    assert not request.completed


TARGETS = [
    ("GET", "//v1/projects", "//v1/projects", ""),
    ("GET", "/a%2Fb%20c?d=%2F&e?f", "/a/b c", "d=%2F&e?f"),
    ("GET", "/a|b{c}?", "/a|b{c}", ""),
    ("GET", "http://localhost/a?b", "/a", "b"),
    ("GET", "HTTP://LOCALHOST:8080//a", "//a", ""),
    ("GET", "http://127.0.0.1", "/", ""),
    ("GET", "https://[::1]?a", "/", "a"),
    ("OPTIONS", "*", "*", ""),
    ("CONNECT", "example.com:443", "example.com:443", ""),
]


def test_path_and_query_are_read_as_they_were_sent() -> None:
    for method, target, path, query in TARGETS:
        [request] = parse([get(target, method=method)])
        assert (request.error, request.path, vars(request)["query"]) == (None, path, query)


HOST = "Host: localhost"


FIELDS = [
    (get("/", HOST, *["A: b"] * 98, "C: d"), "C", "d"),
    (get("/", "A: b", version="1.0"), "A", "b"),
    (get("/", HOST, "A:\tb\t", "A: \xff\xfe", "A:"), "A", "b, \xff\xfe, "),
    (get("/", "host:localhost", AUTHORIZATION.upper()), "AUTHORIZATION", "BEARER TOK-5ECRET"),
    (get("/", HOST, "X_A: b", "X-A: c"), "X_A", "c"),
    (post("Content_Length: 99", "Transfer_Encoding: chunked"), "CONTENT_LENGTH", None),
    (get("http://a.localhost:1/", "Host: b.localhost"), "HOST", "a.localhost:1"),
    (get("/", HOST, "Upgrade: websocket", "Connection: Upgrade"), "UPGRADE", None),
    (get("/", HOST, "Connection: TE, Close"), "CONNECTION", "close"),
    (get("/", HOST, "Connection: close, keep-alive"), "CONNECTION", "close"),
    (get("/", "Connection: x,Keep-Alive", version="1.0"), "CONNECTION", "keep-alive"),
]


def test_the_fields_of_a_head_are_read() -> None:
    for raw, name, value in FIELDS:
        [request] = parse([raw])
        assert (request.error, request.headers.get(name)) == (None, value)


def test_requests_with_the_same_head_share_nothing() -> None:
    [first] = parse([get("/same")])
    first.close_connection()
    [second] = parse([get("/same")])
    assert "CONNECTION" not in second.headers


SERVED = [
    "localhost", "localhost:8080", "LocalHost", "localhost.", "a.b.localhost:1", "127.0.0.1",
    "127.0.0.1:65535", "127.255.0.9", "[::1]", "[::1]:80", "localhost:",
    "Stub.test", "stub.test.:99", "[fe80::1]",
]  # fmt: skip

OTHER = [
    "evil.example", "localhost.evil.example", "evil-localhost", ".localhost", "128.0.0.1",
    "127.0.0.1.evil.example", "127.0.0.256", "10.0.0.1", "[::2]", "0.0.0.0", "%6cocalhost", SECRET,
    "a.stub.test", "stubxtest", "xn--bcher-kva.test",
]  # fmt: skip


# The host that is listened on, and a field Host that names it.
LISTENED_ON = [
    ("b\xfccher.test", "xn--bcher-kva.test"),
    ("b\xfccher.test", "XN--BCHER-KVA.test.:80"),
    ("127.1", "127.1"),
    ("0x7F.1", "0X7f.1.:80"),
    ("0:0::1", "[0:0::1]:8080"),
]


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


def test_the_host_that_is_listened_on_is_served_as_it_was_given() -> None:
    for host, sent in LISTENED_ON:
        [served] = parse([get("/", f"Host: {sent}")], host)
        assert served.error is None, host
        [rejected] = parse([get("/", f"Host: {sent}")])
        assert_rejected(rejected, "host_not_allowed")


def test_a_trusted_host_has_no_scheme_and_no_port() -> None:
    for name in ("http://stub.test", "stub.test:80", "", "a b"):
        with pytest.raises(ValueError, match="is not a host name"):
            make_settings(ServerOptions(trusted_hosts=[name]), 9, None)


CONTROL_TARGETS = [
    ("/control/x", True),
    ("/%63ontrol/x", True),
    ("/control/%2F", True),
    ("http://localhost/control/x", True),
    ("/control%2Fx", False),
    ("/control%2fx", False),
    ("/%2Fcontrol/x", False),
    ("/x?/control/", False),
]


@pytest.mark.parametrize(("target", "is_control"), CONTROL_TARGETS)
def test_only_a_control_route_may_have_a_large_body(target: str, is_control: bool) -> None:
    limit = LARGEST_CONTROL_BODY if is_control else LARGEST_BODY
    for framing, body in (("Content-Length: %d", b""), ("Transfer-Encoding: chunked", b"%x\r\n")):
        for length, is_accepted in ((limit - 32, True), (limit + 1, False)):
            head = get(target, HOST, framing.replace("%d", str(length)), method="POST")
            [request] = parse([head + body.replace(b"%x", b"%x" % length)])
            assert request.is_control == is_control
            if is_accepted:
                assert request.error is None
            else:
                assert_rejected(request, "body_too_large")


def test_a_huge_body_is_rejected_before_it_is_read() -> None:
    for raw in (post(f"Content-Length: {'9' * 19}"), post(CHUNKED, body=b"F" * 16 + b"\r\n")):
        [request] = parse([raw])
        assert_rejected(request, "body_too_large")


# A request of so many bytes or fields, how many it may have, and the code where it has more.
LIMITS: list[tuple[Callable[[int], bytes], int, str]] = [
    (lambda n: get("/" + "x" * (n - len(get()))), LARGEST_HEAD, "headers_too_large"),
    (lambda n: get("/", HOST, "A: " + "x" * (n - 40)), LARGEST_HEAD, "headers_too_large"),
    (lambda n: get("/", HOST, *["A: b"] * (n - 1)), MOST_FIELDS, "headers_too_large"),
    (lambda n: chunked(b"5;" + b"a" * (n - 2) + b"\r\nhello"), LARGEST_LINE, "malformed_request"),
    (lambda n: chunked(b"", b"A:" + b"a" * (n - 2) + b"\r\n"), LARGEST_LINE, "malformed_request"),
    (lambda n: post(f"Content-Length: {n}", body=b"x" * n), LARGEST_BODY, "body_too_large"),
    (lambda n: chunked(b"%06x\r\n" % (n - 15) + (n - 15) * b"x"), LARGEST_BODY, "body_too_large"),
    (lambda n: chunked((n // 8 - 2) * b"001\r\nx\r\n" + b"%0*x\r\nx" % (n % 8 + 6, 1)),
     LARGEST_BODY, "body_too_large"),
]  # fmt: skip


def chunked(chunks: bytes, trailer: bytes = b"") -> bytes:
    """A POST with these chunks, of which the last one lacks its line end, and this trailer."""
    end = b"\r\n" if chunks else b""
    return post(CHUNKED, body=chunks + end + b"0\r\n" + trailer + b"\r\n")


@pytest.mark.parametrize(("up_to", "limit", "code"), LIMITS)
def test_a_request_up_to_a_limit_is_accepted_and_one_beyond_it_is_rejected(
    up_to: Callable[[int], bytes], limit: int, code: str
) -> None:
    [accepted] = parse([up_to(limit)])
    assert accepted.error is None
    assert accepted.completed
    [rejected] = parse([up_to(limit + 1)])
    assert_rejected(rejected, code)
