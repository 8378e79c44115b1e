"""Requests that the server rejects, and how it reads the others."""

from collections.abc import Iterator

import pytest

from tests.contract import assert_problem
from tests.server.conftest import Echo, serving
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

MAX_HEAD = 16 * 1024
MAX_BODY = 64 * 1024 * 1024
HOST = "Host: localhost"
CHUNKED = "Transfer-Encoding: chunked"
EXPECT = "Expect: 100-continue"
LONG = "X: " + "x" * (MAX_HEAD - len(get("/", HOST, "X: ")))  # with a Host as long as may be
MANY = [HOST, *(f"X-{number}: {number}" for number in range(99))]  # as many as may be
TOO_LARGE = f"Content-Length: {MAX_BODY + 1}"


@pytest.fixture
def port(echo: Echo) -> Iterator[int]:
    trusted = ["stub.test", "fe80::1"]
    on_wrong_host = echo.wrong_hosts.append
    with serving(echo, threads=1, trusted_hosts=trusted, on_wrong_host=on_wrong_host) as port:
        yield port


# A request that the server rejects; the status and the code of its response, and a word of it.
REJECTED = [
    (b"\x16\x03\x01\x02", 400, "malformed_request", "TLS"),
    (get("/", HOST, f"{AUTHORIZATION}\nA: b"), 400, "malformed_request", "well-formed"),
    (get("/", HOST, f"Authorization : Bearer {SECRET}"), 400, "malformed_request", ""),
    (get("http://[::::]/"), 400, "malformed_request", ""),
    (post(f"Content-Length: {9999 * '9'}"), 400, "malformed_request", ""),
    (post(CHUNKED, f"X-Token: {SECRET}", body=b"Z\r\n"), 400, "malformed_request", ""),
    (post(f"Content-Length: {SECRET}", EXPECT), 400, "malformed_request", ""),
    (get("/", HOST, TOO_LARGE, EXPECT), 413, "body_too_large", "smaller"),
    (get("/", HOST, f"{LONG}x"), 431, "headers_too_large", "16 KiB"),
    (get("/", *MANY, "A: b"), 431, "headers_too_large", "100 header fields"),
    (post(*MANY, "Content-Length: 5", body=b"hello"), 431, "headers_too_large", "100"),
    (get("/boom", HOST, AUTHORIZATION), 500, "internal_error", "log"),
    (post(f"{CHUNKED}, gzip"), 400, "malformed_request", ""),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "status", "code", "word"), REJECTED, ids=range(len(REJECTED)))
def test_a_rejection_is_a_problem_document_that_quotes_nothing(
    port: int, raw: bytes, status: int, code: str, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(port) as client:
        client.send(raw)
        reply = client.assert_rejected(status, code)
        assert word in reply.json["detail"]
    if code != "internal_error":  # which `serve()` filters
        assert SECRET not in caplog.text


SERVED = [
    "localhost", "LocalHost:8080", "a.b.localhost:1", "127.255.0.9", "[::1]:80", "localhost:",
    "localhost.", "Stub.test:99", "[fe80::1]",
]  # fmt: skip
OTHER = [
    "evil.example", "localhost.evil.example", "evil-localhost", "128.0.0.1", "[::2]", "127.1",
    "127.0.0.1.evil.example", "0.0.0.0", "%6cocalhost", SECRET, "a.stub.test", "stubxtest",
    "localhost, localhost", "user@localhost",
]  # fmt: skip


def test_loopback_serves_its_own_names_and_the_trusted_ones_alone(port: int, echo: Echo) -> None:
    with Connection(port) as client:
        for host in SERVED:
            for raw in (get("/", f"Host: {host}"), get(f"http://{host}/", "Host: other")):
                client.send(raw)
                assert client.reply().status_code == 200
        client.send(get("/", "A: b"))
        assert client.reply().status_code == 200
        for host in OTHER:
            for method in ("GET", "HEAD"):
                client.send(get("/", f"Host: {host}", AUTHORIZATION, method=method))
                reply = client.reply(head=method == "HEAD")
                assert_problem(reply, 400, "host_not_allowed", head=method == "HEAD")
    assert echo.wrong_hosts == [each.strip("[]") for each in OTHER for _ in range(2)]


def test_the_host_of_an_absolute_target_is_the_one_that_is_rejected(port: int, echo: Echo) -> None:
    with Connection(port) as client:
        for target in ("http://evil.example:99/v1?http://localhost/", "HTTP://[2001:db8::1]:9"):
            client.send(get(target, HOST))
            assert_problem(client.reply(), 400, "host_not_allowed")
    assert echo.wrong_hosts == ["evil.example", "2001:db8::1"]


# A request, and what the app sees of it.
READ = [
    (get("//v1"), {"REQUEST_URI": "//v1"}),
    (get("http://localhost?a"), {"REQUEST_URI": "http://localhost?a", "QUERY_STRING": "a"}),
    (b"GET / HTTP/1.0\r\n\r\n", {"PATH_INFO": "/"}),
    (get("/", HOST, EXPECT), {"PATH_INFO": "/"}),  # without 100: there is no body
    (get("/", HOST, LONG), {"PATH_INFO": "/"}),
    (get("/", *MANY), {"HTTP_X_98": "98"}),
    (get("/", HOST, "X-Forwarded-For: ::1"), {"HTTP_X_FORWARDED_FOR": "::1"}),
    (get("/", HOST, "A: 1", "B: 2", "A: 3"), {"HTTP_A": "1, 3"}),
    (post("Transfer-Encoding: Chunked", body=b"2\r\nab\r\n0\r\n\r\n"), {"body": "ab"}),
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
