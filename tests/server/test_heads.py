"""Requests that the server rejects, and how it reads the others."""

from collections.abc import Callable

import pytest

from server import check_hosts
from tests.contract import assert_problem
from tests.server.conftest import Echo
from tests.wire import AUTHORIZATION, SECRET, Connection, get, post

pytestmark = pytest.mark.process

KIB = 1024
HOST = "Host: localhost"
CHUNKED = "Transfer-Encoding: chunked"
LAST_CHUNK = b"0\r\n\r\n"
MALFORMED = {
    "a bare CR behind the version": b"GET / HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
    "a bare LF in a field": get("/", HOST, f"{AUTHORIZATION}\nA: b"),
    # The request line
    "HTTP/1.2": get(version="1.2"),
    "a byte beyond ASCII in the target": get("/a\xe9"),
    "a fragment": get("/a#b"),
    "another scheme": get("ftp://localhost/"),
    "a user in the target": get(f"http://{SECRET}@localhost/"),
    "an address that is none": get("http://[::::]/"),
    # The fields
    "folding": get("/", HOST, AUTHORIZATION, " continued"),
    "a space before the colon": get("/", HOST, f"Authorization : Bearer {SECRET}"),
    "no Host": get("/", "A: b"),
    "two Hosts": get("/", HOST, HOST, version="1.0"),
    "a Host with a word for a port": get("/", "Host: localhost:http"),
    "two Authorizations": get("/", HOST, AUTHORIZATION, "A: b", AUTHORIZATION.lower()),
    # The framing
    "a Content-Length list": post("Content-Length: 5, 5", body=b"hello"),
    "a Content-Length of 20 digits": post(f"Content-Length: {'9' * 20}"),
    "two Content-Lengths": post("Content-Length: 5", "A: b", "Content-Length: 5", body=b"hello"),
    "chunked in HTTP/1.0": post(CHUNKED.lower(), body=LAST_CHUNK, version="1.0"),
    "chunked twice": post(f"{CHUNKED}, chunked", body=LAST_CHUNK),
    "a chunk size that is none": post(CHUNKED, f"X-Token: {SECRET}", body=b"Z\r\n"),
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_rejected(
    port: int, raw: bytes, echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(400, "malformed_request")
    assert [each.code for each in echo.rejections] == ["malformed_request"]
    assert SECRET not in caplog.text


def test_tls_is_told_from_other_bytes(port: int) -> None:
    with Connection(port) as client:
        client.send(b"\x16\x03\x01\x02")
        assert client.reply().json["detail"] == "This looks like TLS: use http://."


def test_an_error_has_the_fields_for_its_page_and_no_body_for_head(port: int, echo: Echo) -> None:
    for method in ("GET", "HEAD"):
        head = method == "HEAD"
        with Connection(port) as client:
            fields = ("Host: evil.example", "Origin: http://page.test")
            client.send(get("/v1?a", *fields, method=method))
            reply = client.reply(head=head)
            assert reply.headers["Access-Control-Allow-Origin"] == "http://page.test"
            assert_problem(reply, 400, "host_not_allowed", head=head)
            assert client.closed()
        assert echo.rejections[-1][:4] == (method, "/v1?a", "evil.example", 400)
    for malformed in (
        get("/", HOST, "origin:\thttp://page.test ", "Content-Length: 1", "Content-Length: 1"),
        get("/", "Origin: http://page.test", f"X: {'x' * 16 * KIB}"),
    ):
        with Connection(port) as client:
            client.send(malformed)
            headers = client.reply().headers
            assert headers["Access-Control-Allow-Origin"] == "http://page.test"
    for malformed in (get(method="HEAD", version="9.9"), get("/" + "x" * 16 * KIB, method="HEAD")):
        with Connection(port) as client:
            client.send(malformed)
            status = client.reply(head=True).status_code
            assert client.closed()
        assert echo.rejections[-1][:4] == ("", "", "", status)


SERVED = [
    "localhost", "LocalHost:8080", "a.b.localhost:1", "127.255.0.9", "127.0.0.1:65535", "[::1]:80",
    "localhost:", "localhost.", "Stub.test", "stub.test:99", "[fe80::1]",
]  # fmt: skip
OTHER = [
    "evil.example", "localhost.evil.example", "evil-localhost", "128.0.0.1", "10.0.0.1", "[::2]",
    "127.0.0.1.evil.example", "0.0.0.0", "%6cocalhost", SECRET, "a.stub.test", "stubxtest", "127.1",
]  # fmt: skip


def test_loopback_serves_its_own_names_and_the_trusted_ones_alone(port: int) -> None:
    for host in SERVED:
        with Connection(port) as client:
            client.send(get("/", f"Host: {host}") + get(f"http://{host}/", "Host: localhost"))
            assert client.reply().json["environ"]["HTTP_HOST"] == host
            assert client.reply().json["environ"]["HTTP_HOST"] == host
    for host in OTHER:
        for target, field in (
            ("/", host),
            ("http://localhost/", host),
            (f"http://{host}/", "[::1]"),
        ):
            with Connection(port) as client:
                client.send(get(target, f"Host: {field}", AUTHORIZATION))
                client.assert_rejected(400, "host_not_allowed")


def test_a_trusted_host_has_no_scheme_and_no_port() -> None:
    for name in ("http://stub.test", "stub.test:80", "", "a b"):
        with pytest.raises(ValueError, match="is not a host name"):
            check_hosts([name])


# A request, and what the app sees of it.
READ = [
    (get("//v1"), {"REQUEST_URI": "//v1"}),
    (get("http://localhost"), {"PATH_INFO": "/", "REQUEST_URI": "http://localhost/"}),
    (get("HTTPS://[::1]?a"), {"PATH_INFO": "/", "REQUEST_URI": "HTTPS://[::1]/?a"}),
    (b"GET / HTTP/1.0\r\n\r\n", {"PATH_INFO": "/"}),
]


def test_targets_and_fields_are_read_as_they_were_sent(port: int) -> None:
    for raw, expected in READ:
        with Connection(port) as client:
            client.send(raw)
            environ = client.reply().json["environ"]
        assert environ == {**environ, **expected}


def test_a_client_that_expects_100_gets_it_where_a_body_is_read(port: int) -> None:
    expect = "Expect: 100-continue"
    with Connection(port) as client:
        client.send(post("Content-Length: 5", expect))
        assert client.reply().status_code == 100
        client.send(b"hello")
        assert client.reply().json["body"] == "hello"
        client.send(get("/", HOST, expect))
        assert client.reply().status_code == 200
        client.send(post(f"Content-Length: {65 * KIB * KIB}", expect))
        client.assert_rejected(413, "body_too_large")


LIMITS: dict[str, tuple[Callable[[int], bytes], int, int, str]] = {
    "head": (lambda n: get("/" + "x" * (n - len(get()))), 16 * KIB, 431, "headers_too_large"),
    "body": (
        lambda n: post(f"Content-Length: {n}", body=n * b"x"),
        64 * KIB * KIB,
        413,
        "body_too_large",
    ),
}


@pytest.mark.parametrize(("up_to", "limit", "status", "code"), LIMITS.values(), ids=LIMITS)
def test_a_request_up_to_a_limit_is_accepted_and_one_beyond_it_is_rejected(
    port: int, up_to: Callable[[int], bytes], limit: int, status: int, code: str
) -> None:
    with Connection(port) as client:
        client.send(up_to(limit))
        assert client.reply().status_code == 200
        beyond = up_to(limit + 1)
        client.send(beyond[: 17 * KIB])
        client.assert_rejected(status, code)


def test_an_exception_that_escapes_the_app_is_500(port: int, echo: Echo) -> None:
    for method in ("GET", "HEAD"):
        with Connection(port) as client:
            client.send(get(f"/boom?{SECRET}", HOST, AUTHORIZATION, method=method))
            client.assert_rejected(500, "internal_error", head=method == "HEAD")
        assert echo.rejections[-1][:4] == (method, f"/boom?{SECRET}", "localhost", 500)
