"""How requests are read from what arrives: byte by byte, in two pieces, up to the limits."""

from collections.abc import Callable

import pytest

from tests.raw import AUTHORIZATION, get, post
from tests.server.malformed import ALL, Case
from tests.server.parsing import assert_rejected, parse

KIB = 1024
MIB = 1024 * KIB
LARGEST_HEAD = 16 * KIB
LARGEST_BODY = MIB + 64 * KIB  # bytes on the wire
LARGEST_LINE = 4096  # of a chunked body
MOST_FIELDS = 100
MANY = 150  # bytes that arrive one by one, or places of a cut


def each_byte(data: bytes) -> list[bytes]:
    """Data byte by byte; of long data the last bytes."""
    start = max(0, len(data) - MANY)
    return [data[:start], *(data[at : at + 1] for at in range(start, len(data)))]


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_malformed_request_is_rejected_at_its_first_wrong_byte(case: Case) -> None:
    [unfinished] = parse(each_byte(case.raw[: case.read - 1]))
    assert not unfinished.completed
    [rejected] = parse(each_byte(case.raw[: case.read]))
    assert_rejected(rejected)


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_malformed_request_is_rejected_wherever_it_is_cut(case: Case) -> None:
    start = max(1, case.read - MANY // 2)
    for place in range(start, min(start + MANY, len(case.raw) + 1)):
        [first] = parse([case.raw[:place]])
        assert first.completed == (place >= case.read)
        [rejected] = parse([case.raw[:place], case.raw[place:]])
        assert_rejected(rejected)


WELL_FORMED = b"\r\n" + get("/1?a", "Host: localhost", "A: b")
CHUNKED = post("Transfer-Encoding: chunked") + b"5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nA: b\r\n\r\n"
SIZED = post("Content-Length: 6", "Expect: 100-continue", body=b"hello!")


@pytest.mark.parametrize(
    ("raw", "path", "body"),
    [(WELL_FORMED, "/1", b""), (CHUNKED, "/", b"hello!"), (SIZED, "/", b"hello!")],
    ids=["a head", "chunks", "a length"],
)
def test_a_request_is_the_same_however_it_arrives(raw: bytes, path: str, body: bytes) -> None:
    both = raw + get("/next")
    cuts = [[both[:place], both[place:]] for place in range(1, len(both))]
    for pieces in (each_byte(both), *cuts):
        first, second = parse(pieces)
        assert (first.error, first.path) == (None, path)
        assert vars(first)["query"] == ("a" if path == "/1" else "")
        assert first.get_body_stream().read() == body
        assert first.headers["HOST"] == "localhost"
        assert first.headers.get("A") == ("b" if path == "/1" else None)
        assert (second.error, second.path) == (None, "/next")
        assert first.completed
        assert not first.expect_continue
        assert second.completed


def test_empty_lines_alone_are_no_request() -> None:
    [request] = parse([b"\r\n"] * 10_000)
    assert not request.completed


@pytest.mark.parametrize("name", ["xn--bcher-kva.test", "XN--BCHER-KVA.test.:80"])
def test_the_host_that_is_listened_on_is_served_as_clients_encode_it(name: str) -> None:
    [served] = parse([get("/", f"Host: {name}")], host="b\xfccher.test")
    assert served.error is None
    [rejected] = parse([get("/", f"Host: {name}")])
    assert_rejected(rejected, 400, "host_not_allowed")


def field_up_to(length: int) -> bytes:
    """A request whose head has this many bytes."""
    fields = ("Host: localhost", AUTHORIZATION)
    missing = length - len(get("/", *fields, "A: "))
    return get("/", *fields, f"A: {'x' * missing}")


def target_up_to(length: int) -> bytes:
    return get("/" + "x" * (length - len(get())))


def fields_up_to(count: int) -> bytes:
    return get("/", "Host: localhost", *["A: b"] * (count - 1))


def extension_up_to(length: int) -> bytes:
    line = b"5;" + b"a" * (length - 2)
    return post("Transfer-Encoding: chunked", body=line + b"\r\nhello\r\n0\r\n\r\n")


def trailer_up_to(length: int) -> bytes:
    line = b"A:" + b"a" * (length - 2)
    return post("Transfer-Encoding: chunked", body=b"0\r\n" + line + b"\r\n\r\n")


def body_up_to(length: int) -> bytes:
    return post(f"Content-Length: {length}", body=b"x" * length)


def chunks_up_to(length: int) -> bytes:
    """A body of many short chunks with long extensions, of this many bytes on the wire."""
    extended = b"1;" + b"a" * 4000 + b"\r\nx\r\n"
    many, last = length // len(extended) - 1, b"0\r\n\r\n"
    one = b"%04x\r\n" % 0
    rest = length - many * len(extended) - len(last) - len(one) - 2
    body = many * extended + b"%04x\r\n" % rest + rest * b"x" + b"\r\n" + last
    assert len(body) == length
    return post("Transfer-Encoding: chunked", body=body)


@pytest.mark.parametrize(
    ("up_to", "limit", "status", "code"),
    [
        (field_up_to, LARGEST_HEAD, 431, "headers_too_large"),
        (target_up_to, LARGEST_HEAD, 431, "headers_too_large"),
        (fields_up_to, MOST_FIELDS, 431, "headers_too_large"),
        (extension_up_to, LARGEST_LINE, 400, "malformed_request"),
        (trailer_up_to, LARGEST_LINE, 400, "malformed_request"),
        (body_up_to, LARGEST_BODY, 413, "body_too_large"),
        (chunks_up_to, LARGEST_BODY, 413, "body_too_large"),
    ],
)
def test_a_request_up_to_a_limit_is_accepted_and_one_beyond_it_is_rejected(
    up_to: Callable[[int], bytes], limit: int, status: int, code: str
) -> None:
    [accepted] = parse([up_to(limit)])
    assert accepted.error is None
    assert accepted.completed
    [rejected] = parse([up_to(limit + 1)])
    assert_rejected(rejected, status, code)
