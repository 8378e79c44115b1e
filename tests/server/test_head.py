"""The head of a request: what is rejected, and what the app sees of the rest."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.server.conftest import AUTHORIZATION, SENT_IN_EVERY_WAY, Send
from tests.wire import SECRET, Connection, get, post

MALFORMED = {
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/0.9 with fields": b"GET /\r\nHost: localhost\r\n\r\n",
    "HTTP/0.9 with a version": get(version="0.9"),
    "HTTP/1.2": get(version="1.2"),
    "HTTP/2.0": get(version="2.0"),
    "HTTP/9.9": get(version="9.9"),
    "HTTP/1.10": get(version="1.10"),
    "a protocol in lower case": b"GET / http/1.1\r\nHost: localhost\r\n\r\n",
    "no protocol name": b"GET / 1.1\r\nHost: localhost\r\n\r\n",
    "an HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a doubled space before the target": b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a doubled space after the target": b"GET /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a space in the target": get(f"/{SECRET} x"),
    "a space before the method": b" GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a space after the version": b"GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n",
    "tabs between the words": b"GET\t/\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tab in the target": get("/a\tb"),
    "a NUL in the target": get("/a\x00b"),
    "an escape in the target": get("/a\x1bb"),
    "a DEL in the target": get("/a\x7fb"),
    "a byte beyond ASCII in the target": get("/a\xe9"),
    "a fragment": get("/a#b"),
    "a relative target": get("v1/projects"),
    "another scheme": get("ftp://localhost/"),
    "an unclosed bracket": get("http://[::1/"),
    "no host in the target": get("http:///v1"),
    "a user in the target": get(f"http://{SECRET}@localhost/"),
    "a word for a port in the target": get("http://localhost:http/"),
    "the target * with GET": get("*"),
    "CONNECT with a path": get("/", method="CONNECT"),
    "CONNECT without a port": get("localhost", method="CONNECT"),
    "GET with an authority": get("localhost:80"),
    "a method in lower case": get(method="get"),
    "a method that is no token": get(method="G@T"),
    "no method": b" / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bare LFs": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "a bare LF after the request line": b"GET / HTTP/1.1\nHost: localhost\r\n\r\n",
    "a bare LF between fields": get("/", "Host: localhost", f"{AUTHORIZATION}\nA: b"),
    "a bare CR in a field": get("/", "Host: localhost", f"{AUTHORIZATION}\rA: b"),
    "a bare LF before the request": b"\n" + get(),
    "a doubled CR": b"GET / HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
    "folding": get("/", "Host: localhost", AUTHORIZATION, " continued"),
    "folding by a tab": get("/", "Host: localhost", AUTHORIZATION, "\tcontinued"),
    "a fold before the first field": get("/", " A: b", "Host: localhost"),
    "a space before the colon": get("/", "Host: localhost", f"Authorization : Bearer {SECRET}"),
    "a space in a name": get("/", "Host: localhost", "Bad Name: b"),
    "no name": get("/", "Host: localhost", f": {SECRET}"),
    "no colon": get("/", "Host: localhost", SECRET),
    "a name beyond ASCII": get("/", "Host: localhost", "N\xe4me: b"),
    "a name with brackets": get("/", "Host: localhost", "A[]: b"),
    "a NUL in a value": get("/", "Host: localhost", f"A: {SECRET}\x00"),
    "an escape in a value": get("/", "Host: localhost", "A: \x1b[31m"),
    "a DEL in a value": get("/", "Host: localhost", "A: \x7f"),
    "no Host": get("/", "A: b"),
    "an empty Host": get("/", "Host:"),
    "two Hosts": get("/", "Host: localhost", "Host: localhost"),
    "two Hosts in HTTP/1.0": get("/", "Host: localhost", "Host: localhost", version="1.0"),
    "a Host with a space": get("/", "Host: local host"),
    "a Host with a path": get("/", "Host: localhost/"),
    "a Host with a user": get("/", f"Host: {SECRET}@localhost"),
    "a Host with two ports": get("/", "Host: localhost:80:80"),
    "a Host with a word for a port": get("/", "Host: localhost:http"),
    "a Host list": get("/", "Host: localhost, localhost"),
    "an unclosed Host": get("/", "Host: [::1"),
    "two Authorizations": get("/", "Host: localhost", AUTHORIZATION, AUTHORIZATION),
    "two Authorizations in two cases": get(
        "/", "Host: localhost", AUTHORIZATION, AUTHORIZATION.lower()
    ),
    "an empty Content-Length": post("Content-Length:"),
    "a signed Content-Length": post("Content-Length: +5", body=b"hello"),
    "a negative Content-Length": post("Content-Length: -1"),
    "a hexadecimal Content-Length": post("Content-Length: 0x5", body=b"hello"),
    "a Content-Length with an underscore": post("Content-Length: 1_0", body=b"0123456789"),
    "a Content-Length with a space": post("Content-Length: 1 0", body=b"0123456789"),
    "a Content-Length beyond ASCII": post("Content-Length: \xb2", body=b"he"),
    "a fraction as Content-Length": post("Content-Length: 5.0", body=b"hello"),
    "a Content-Length list": post("Content-Length: 5, 5", body=b"hello"),
    "two equal Content-Lengths": post("Content-Length: 5", "Content-Length: 5", body=b"hello"),
    "two Content-Lengths": post("Content-Length: 5", "Content-Length: 6", body=b"hello"),
    "a Content-Length of 20 digits": post(f"Content-Length: {'9' * 20}"),
    "a Content-Length of 5,000 digits": post(f"Content-Length: {'9' * 5000}"),
    "both framings": post("Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "both, the other way": post(
        "Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n"
    ),
    "chunked in HTTP/1.0": post("Transfer-Encoding: chunked", body=b"0\r\n\r\n", version="1.0"),
    "chunked twice": post("Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"),
    "chunked in two fields": post(*["Transfer-Encoding: chunked"] * 2, body=b"0\r\n\r\n"),
    "chunked not last": post("Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"),
    "gzip before chunked": post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "identity": post("Transfer-Encoding: identity", body=b"hello"),
    "an unknown coding": post(f"Transfer-Encoding: {SECRET}", body=b"hello"),
    "an empty coding": post("Transfer-Encoding:", body=b"0\r\n\r\n"),
    "chunked with a parameter": post("Transfer-Encoding: chunked;q=1", body=b"0\r\n\r\n"),
}

WELL_FORMED = b"\r\n" + get("/1?a", "Host: localhost", "A: b")


@SENT_IN_EVERY_WAY
@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_head_is_rejected_once_and_not_logged(
    assert_rejected_once: Callable[[bytes, Send], None], raw: bytes, send: Send
) -> None:
    assert_rejected_once(raw, send)


@pytest.mark.parametrize("place", range(1, len(WELL_FORMED)))
def test_a_head_that_arrives_in_two_pieces_reaches_the_app(port: int, place: int) -> None:
    with Connection(port) as client:
        client.send_in_pieces(WELL_FORMED[:place], WELL_FORMED[place:] + get("/2"))
        first, second = client.reply().json, client.reply().json
    assert (first["path"], first["query"], second["path"]) == ("/1", "a", "/2")


@pytest.mark.parametrize(
    "raw",
    [
        get("/", "Host: localhost", f"A: {'x' * 16 * 1024}"),
        get("/" + "x" * 16 * 1024),
        b"GET /" + b"x" * 16 * 1024,
        get("/", "Host: localhost", *["A: b"] * 100),
    ],
    ids=["a field", "a target", "an unfinished target", "101 fields"],
)
def test_a_large_head_is_rejected(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        client.assert_rejected(431, "headers_too_large")


@pytest.mark.parametrize(
    "raw",
    [
        get("/", "Host: localhost", AUTHORIZATION, f"A: {'x' * 16000}"),
        get("/", "Host: localhost", AUTHORIZATION, *["A: b"] * 98),
        get("/", AUTHORIZATION, version="1.0"),
        get("/", "Host: localhost", AUTHORIZATION, "A:\tb\t", "A: \xff\xfe", "A:"),
        get("/", "host:localhost", AUTHORIZATION.upper()),
        b"\r\n\r\n" + get("/", "Host: localhost", AUTHORIZATION),
    ],
)
def test_a_well_formed_head_reaches_the_app(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        environ = client.reply().json["environ"]
    assert environ["HTTP_AUTHORIZATION"].upper() == f"BEARER {SECRET.upper()}"


@pytest.mark.parametrize(
    ("target", "method", "path", "query"),
    [
        ("/", "GET", "/", ""),
        ("//v1/projects", "GET", "//v1/projects", ""),
        ("///", "GET", "///", ""),
        ("/a%2Fb%20c?d=%2F&e?f", "GET", "/a/b c", "d=%2F&e?f"),
        ("/a?", "GET", "/a", ""),
        ("/a|b{c}", "GET", "/a|b{c}", ""),
        ("http://localhost/a?b", "GET", "/a", "b"),
        ("HTTP://LOCALHOST:8080//a", "GET", "//a", ""),
        ("http://127.0.0.1", "GET", "/", ""),
        ("https://[::1]?a", "GET", "/", "a"),
        ("*", "OPTIONS", "*", ""),
    ],
)
def test_the_app_sees_path_and_query_as_they_were_sent(
    port: int, target: str, method: str, path: str, query: str
) -> None:
    with Connection(port) as client:
        client.send(get(target, method=method))
        seen = client.reply().json
    assert (seen["path"], seen["query"]) == (path, query)


def test_connect_reaches_the_app(port: int) -> None:
    with Connection(port) as client:
        client.send(get("example.com:443", method="CONNECT"))
        client.until(b"HTTP/1.1 405 METHOD NOT ALLOWED\r\n")


def test_a_field_name_with_an_underscore_is_not_one_with_a_dash(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content_Length: 99", "Transfer_Encoding: chunked", "X_A: b", "X-A: c"))
        environ = client.reply().json["environ"]
    assert environ["HTTP_X_A"] == "c"


def test_the_host_of_an_absolute_target_overrides_the_field(port: int) -> None:
    with Connection(port) as client:
        client.send(get("http://a.localhost:1/", "Host: b.localhost"))
        environ = client.reply().json["environ"]
    assert environ["HTTP_HOST"] == "a.localhost:1"


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "HTTP/2.0, TLS/1.0"])
def test_an_upgrade_is_ignored(port: int, protocol: str) -> None:
    fields = ("Host: localhost", AUTHORIZATION, f"Upgrade: {protocol}", "Connection: Upgrade")
    with Connection(port) as client:
        client.send(get("/1", *fields) + get("/2", "Host: localhost"))
        reply = client.reply()
        assert (reply.version, reply.status_code, reply.json["path"]) == ("HTTP/1.1", 200, "/1")
        assert "HTTP_UPGRADE" not in reply.json["environ"]
        assert client.reply().json["path"] == "/2"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/control/x", 200),
        ("/%63ontrol/x", 200),
        ("/control/%2F", 200),
        ("http://localhost/control/x", 200),
        ("/control%2Fx", 413),
        ("/control%2fx", 413),
        ("/%2Fcontrol/x", 413),
        ("/x?/control/", 413),
    ],
)
def test_an_encoded_slash_does_not_make_a_control_route(
    serve: Callable[..., int], target: str, status: int
) -> None:
    too_long = 2 * 1024 * 1024  # for a route of the app
    fields = ["Host: localhost", "Authorization: x", f"Content-Length: {too_long}"]
    with Connection(serve(control_prefix="/control/")) as client:
        client.send(get(target, *fields, method="POST"))
        with suppress(ConnectionError):
            client.send(too_long * b"x")
        assert client.reply().status_code == status
