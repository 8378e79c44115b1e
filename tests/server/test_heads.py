"""Requests that the server rejects, and how it reads the others."""

from collections.abc import Iterator

import pytest

from tests.live import serving
from tests.server.conftest import Echo
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

MAX_HEAD = 16 * 1024
MAX_BODY = 64 * 1024 * 1024
HOST = "Host: localhost"
CHUNKED = "Transfer-Encoding: chunked"
EXPECT = "Expect: 100-continue"
LAST_CHUNK = b"0\r\n\r\n"
LONG = "X: " + "x" * (MAX_HEAD - len(get("/", HOST, "X: ")))  # with a Host as long as may be
PAGE = "http://page.test"
ORIGIN = f"Origin: {PAGE}"


@pytest.fixture
def port(echo: Echo) -> Iterator[int]:
    headers = {"Access-Control-Allow-Origin": PAGE}
    with serving(
        echo,
        threads=1,
        trusted_hosts=["stub.test", "fe80::1"],
        on_rejected=echo.rejections.append,
        headers_for=lambda origin: headers if origin == PAGE else {},
    ) as port:
        yield port


# A malformed request, and a word of what the response says.
MALFORMED = [
    (b"\x16\x03\x01\x02", "TLS"),
    (get("/", HOST, f"{AUTHORIZATION}\nA: b"), "well-formed"),
    # The request line
    (b"GET / HTTP/1.1\r\r\nHost: localhost\r\n\r\n", "Start with"),
    (get(version="1.2"), "Start with"),
    (get("/a\xe9"), "Start with"),
    (get("/a#b"), "Start with"),
    (get("ftp://localhost/"), "slash"),
    (get(f"http://{SECRET}@localhost/"), "slash"),
    (get("http://[::::]/"), "well-formed"),
    # The fields
    (get("/", HOST, AUTHORIZATION, " continued"), "one line"),
    (get("/", HOST, f"Authorization : Bearer {SECRET}"), "one line"),
    (get("/", HOST, AUTHORIZATION, "A: b", AUTHORIZATION.lower()), "Authorization"),
    (get("/", "A: b"), "Host"),
    (get("/", HOST, HOST, version="1.0"), "Host"),
    (get("/", "Host: localhost:http"), "Host"),
    # The framing
    (post("Content-Length: 5, 5", body=b"hello"), "Content-Length"),
    (post(f"Content-Length: {'9' * 20}"), "Content-Length"),
    (post("Content-Length: 5", "A: b", "Content-Length: 5", body=b"hello"), "Content-Length"),
    (post(CHUNKED.lower(), body=LAST_CHUNK, version="1.0"), "Content-Length"),
    (post(f"{CHUNKED}, chunked", body=LAST_CHUNK), "Content-Length"),
    (post(CHUNKED, f"X-Token: {SECRET}", body=b"Z\r\n"), "well-formed"),
]


@pytest.mark.parametrize(("raw", "word"), MALFORMED)
def test_a_malformed_request_is_rejected(
    port: int, raw: bytes, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(port) as client:
        client.send(raw)
        reply = client.assert_rejected(400, "malformed_request")
        assert word in reply.json["detail"]
    assert SECRET not in caplog.text


# The target, the fields, and the status and code of the response; what is reported of the request.
REJECTED = [
    ("/v1?a", ["Host: a.example", ORIGIN], 400, "host_not_allowed", ("/v1?a", "a.example")),
    ("/", [HOST, f"origin:\t{PAGE} ", "A"], 400, "malformed_request", None),
    ("/", [HOST, ORIGIN, LONG], 431, "headers_too_large", None),
    ("/a", [HOST, ORIGIN, f"Content-Length: {MAX_BODY + 1}", EXPECT], 413, "body_too_large",
     ("/a", "localhost")),
    ("/boom", [HOST, ORIGIN, AUTHORIZATION], 500, "internal_error", ("/boom", "localhost")),
]  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_rejection_is_reported_and_has_the_fields_for_its_page(
    port: int, echo: Echo, method: str
) -> None:
    for target, fields, status, code, known in REJECTED:
        with Connection(port) as client:
            client.send(get(target, *fields, method=method))
            reply = client.assert_rejected(status, code, head=method == "HEAD")
            assert reply.headers["Access-Control-Allow-Origin"] == PAGE
        line = (method, *known) if known else ("", "", "")
        assert echo.rejections[-1][:5] == (*line, status, code)


SERVED = [
    "localhost", "LocalHost:8080", "a.b.localhost:1", "127.255.0.9", "[::1]:80", "localhost:",
    "localhost.", "Stub.test:99", "[fe80::1]",
]  # fmt: skip
OTHER = [
    "evil.example", "localhost.evil.example", "evil-localhost", "128.0.0.1", "[::2]", "127.1",
    "127.0.0.1.evil.example", "0.0.0.0", "%6cocalhost", SECRET, "a.stub.test", "stubxtest",
]  # fmt: skip


def test_loopback_serves_its_own_names_and_the_trusted_ones_alone(port: int) -> None:
    for host in SERVED:
        with Connection(port) as client:
            client.send(get("/", f"Host: {host}") + get(f"http://{host}/", HOST))
            assert client.reply().json["HTTP_HOST"] == host
            assert client.reply().json["HTTP_HOST"] == host
    for host in OTHER:
        for target, field in (("http://localhost/", host), (f"http://{host}/", "[::1]")):
            with Connection(port) as client:
                client.send(get(target, f"Host: {field}", AUTHORIZATION))
                client.assert_rejected(400, "host_not_allowed")


# A request, and what the app sees of it.
READ = [
    (get("//v1"), {"REQUEST_URI": "//v1"}),
    (get("http://localhost"), {"PATH_INFO": "/", "REQUEST_URI": "http://localhost/"}),
    (get("HTTPS://[::1]?a"), {"PATH_INFO": "/", "REQUEST_URI": "HTTPS://[::1]/?a"}),
    (b"GET / HTTP/1.0\r\n\r\n", {"PATH_INFO": "/"}),
    (get("/", HOST, EXPECT), {"PATH_INFO": "/"}),  # without 100: there is no body
    (get("/", HOST, LONG), {"PATH_INFO": "/"}),
    (get("/", HOST, "X-Forwarded-For: ::1"), {"HTTP_X_FORWARDED_FOR": "::1"}),
]


def test_targets_and_fields_are_read_as_they_were_sent(port: int) -> None:
    for raw, expected in READ:
        with Connection(port) as client:
            client.send(raw)
            environ = client.reply().json
        assert environ == {**environ, **expected}


def test_a_client_that_expects_100_gets_it_for_a_body_up_to_the_limit(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content-Length: 5", EXPECT))
        assert client.reply().status_code == 100
        client.send(b"hello")
        assert client.reply().json["body"] == "hello"
        client.send(post(f"Content-Length: {MAX_BODY}", EXPECT))
        assert client.reply().status_code == 100
