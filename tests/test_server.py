import errno
import gc
import http.client
import json
import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from flask import Flask, Response, jsonify, request

from server import Options, Server, create_server
from server.connection import Connection as Channel
from server.parser import Parser
from server.settings import LINGER, MAX_BODY, TICK, Settings
from tests.wire import SECRET, Connection, assert_problem

KIB = 1024


class Gate:
    """Holds the views of /gate, so that a test decides when a slow request ends."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()


def make_app(gate: Gate) -> Flask:
    app = Flask(__name__)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST", "OPTIONS"])
    @app.route("/<path:path>", methods=["GET", "POST", "OPTIONS"])
    def echo(path: str) -> Response:
        answer = jsonify(
            method=request.method,
            path=request.environ["PATH_INFO"],
            query=request.environ["QUERY_STRING"],
            body=request.get_data(as_text=True),
            length=len(request.get_data()),
            environ={k: v for k, v in request.environ.items() if isinstance(v, str)},
        )
        answer.status_code = 200 if request.headers.get("Authorization") else 401
        return answer

    @app.get("/gate")
    @app.get("/gate/<name>")
    def wait(name: str = "") -> str:
        gate.entered.release()
        gate.open.wait(60)
        return "late"

    @app.get("/until-gone/<name>")
    def until_gone(name: str) -> Response:
        gone = request.environ["waitress.client_disconnected"]

        def pieces() -> Iterator[str]:
            yield "first"
            while not gone():
                gate.open.wait()
                yield name

        return Response(pieces())

    @app.get("/boom")
    def boom() -> str:
        raise OSError(errno.ENOENT, f"no file {request.headers['Authorization']}")

    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app


class Thing:
    """What a weak reference can be held to."""


@contextmanager
def running(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[Server]:
    it = create_server(app, host, 0, Options(**options))
    thread = threading.Thread(target=it.run)
    thread.start()
    try:
        yield it
    finally:
        it.close()
        thread.join()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def refusals() -> list[tuple[int, str]]:
    return []


@pytest.fixture
def serve(gate: Gate, refusals: list[tuple[int, str]]) -> Iterator[Callable[..., int]]:
    """Start a server with these options; return its port."""
    with ExitStack() as stack:

        def start(**options: Any) -> int:
            options.setdefault("on_rejected", lambda *refusal: refusals.append(refusal))
            return stack.enter_context(running(make_app(gate), **options)).effective_port

        yield start
        gate.open.set()


@pytest.fixture
def port(serve: Callable[..., int]) -> int:
    return serve()


def get(target: str = "/", *fields: str, version: str = "1.1", method: str = "GET") -> bytes:
    lines = [f"{method} {target} HTTP/{version}", *(fields or ("Host: localhost",)), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(*fields: str, body: bytes = b"", version: str = "1.1") -> bytes:
    return get("/", "Host: localhost", *fields, version=version, method="POST") + body


def chunked(body: bytes) -> bytes:
    return post("Transfer-Encoding: chunked", f"X-Token: {SECRET}", body=body)


TOKEN = f"Authorization: Bearer {SECRET}"

MALFORMED = {
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/0.9 with fields": b"GET /\r\nHost: localhost\r\n\r\n",
    "HTTP/0.9 in words": get(version="0.9"),
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
    "no number as the port": get("http://localhost:http/"),
    "the target * with GET": get("*"),
    "CONNECT with a path": get("/", method="CONNECT"),
    "CONNECT without a port": get("localhost", method="CONNECT"),
    "GET with an authority": get("localhost:80"),
    "a method in lower case": get(method="get"),
    "a method that is no token": get(method="G@T"),
    "no method": b" / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bare LFs": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "a bare LF after the request line": b"GET / HTTP/1.1\nHost: localhost\r\n\r\n",
    "a bare LF between fields": get("/", "Host: localhost", f"{TOKEN}\nA: b"),
    "a bare CR in a field": get("/", "Host: localhost", f"{TOKEN}\rA: b"),
    "a bare LF before the request": b"\n" + get(),
    "a doubled CR": b"GET / HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
    "folding": get("/", "Host: localhost", TOKEN, " continued"),
    "folding by a tab": get("/", "Host: localhost", TOKEN, "\tcontinued"),
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
    "two Authorizations": get("/", "Host: localhost", TOKEN, TOKEN),
    "two Authorizations in two cases": get("/", "Host: localhost", TOKEN, TOKEN.lower()),
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
    "a chunk longer than its size": chunked(b"4\r\nhello\r\n0\r\n\r\n"),
    "a CR alone after a chunk": chunked(b"5\r\nhello\r0\r\n\r\n"),
    "a CR too many after a chunk": chunked(b"5\r\nhello\r\r\n0\r\n\r\n"),
    "a malformed trailer": chunked(f"0\r\n{SECRET}\r\n\r\n".encode()),
    "a folded trailer": chunked(b"0\r\nA: b\r\n c\r\n\r\n"),
    "a trailer that ends in LF": chunked(b"0\r\nA: b\n\r\n\r\n"),
}


@pytest.mark.parametrize("more", [b"", get("/", "Host: localhost", TOKEN)], ids=["alone", "more"])
@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused_once_and_the_connection_closed(
    port: int,
    raw: bytes,
    more: bytes,
    refusals: list[tuple[int, str]],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    with Connection(port) as client:
        client.send(raw + more)
        assert_problem(client.reply(), 400, "malformed_request")
        assert client.closed()
    assert refusals == [(400, "malformed_request")]
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


TOO_LARGE = [
    (get("/", "Host: localhost", f"A: {'x' * 16 * KIB}"), 431, "headers_too_large"),
    (get("/" + "x" * 16 * KIB), 431, "headers_too_large"),
    (b"GET /" + b"x" * 16 * KIB, 431, "headers_too_large"),
    (get("/", "Host: localhost", *["A: b"] * 100), 431, "headers_too_large"),
    (post(f"Content-Length: {MAX_BODY + 1}"), 413, "body_too_large"),
    (post(f"Content-Length: {'9' * 19}"), 413, "body_too_large"),
    (chunked(b"%x\r\n" % (MAX_BODY + 1)), 413, "body_too_large"),
    (chunked(b"FFFFFFFFFFFFFFFF\r\n"), 413, "body_too_large"),
    (chunked(b"fff\r\n" + b"x" * 4095 + b"\r\n" + b"1\r\nx\r\n" * 200_000), 413, "body_too_large"),
    (post(f"Content-Length: {MAX_BODY + 1}", "Expect: 100-continue"), 413, "body_too_large"),
    (post("Content-Length: 9", "Expect: 100-continue", "Host: a"), 400, "malformed_request"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "status", "code"), TOO_LARGE)
def test_what_is_too_large_is_refused_at_once_and_without_a_100(
    port: int, raw: bytes, status: int, code: str
) -> None:
    with Connection(port) as client:
        client.send(raw)
        assert_problem(client.reply(), status, code)
        assert client.closed()


@pytest.mark.parametrize(
    ("raw", "status"),
    [(get(version="2.0", method="HEAD"), 400), (get("/" + "x" * 16 * KIB, method="HEAD"), 431)],
)
def test_a_refusal_of_head_has_no_body(port: int, raw: bytes, status: int) -> None:
    with Connection(port) as client:
        client.send(raw)
        assert_problem(client.reply(head=True), status, "", head=True)
        assert client.closed()


@pytest.mark.parametrize(
    "raw",
    [
        get("/", "Host: localhost", TOKEN, f"A: {'x' * 16000}"),
        get("/", "Host: localhost", TOKEN, *["A: b"] * 98),
        get("/", TOKEN, version="1.0"),
        get("/", "Host: localhost", TOKEN, "A:\tb\t", "A: \xff\xfe", "A:"),
        get("/", "host:localhost", TOKEN.upper()),
        b"\r\n\r\n" + get("/", "Host: localhost", TOKEN),
        post(TOKEN, "Content-Length: 5", body=b"hello"),
        post(TOKEN, f"Content-Length: {MAX_BODY}", body=b"x" * MAX_BODY),
        post(TOKEN, "Transfer-Encoding: Chunked", body=b'5;a;b=c;d="e\\"f"\r\nhello\r\n0\r\n\r\n'),
        post(TOKEN, "Transfer-Encoding: chunked", body=b"05\r\nhello\r\n000\r\nHost: a\r\n\r\n"),
    ],
)
def test_what_is_well_formed_reaches_the_app(port: int, raw: bytes) -> None:
    with Connection(port) as client:
        client.send(raw)
        assert client.reply().status == 200


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
        seen = json.loads(client.reply().body)
    assert (seen["path"], seen["query"]) == (path, query)


def test_connect_is_for_the_app_to_answer(port: int) -> None:
    with Connection(port) as client:
        client.send(get("example.com:443", method="CONNECT"))
        client.until(b"HTTP/1.1 405 METHOD NOT ALLOWED\r\n")


def test_a_name_with_an_underscore_cannot_pose_as_one_with_a_dash(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content_Length: 99", "Transfer_Encoding: chunked", "X_A: b", "X-A: c"))
        environ = json.loads(client.reply().body)["environ"]
    assert environ["HTTP_X_A"] == "c"


def test_the_host_of_an_absolute_target_is_the_one_that_counts(port: int) -> None:
    with Connection(port) as client:
        client.send(get("http://a.localhost:1/", "Host: b.localhost"))
        environ = json.loads(client.reply().body)["environ"]
    assert environ["HTTP_HOST"] == "a.localhost:1"


def test_a_trailer_never_becomes_a_header(port: int) -> None:
    with Connection(port) as client:
        client.send(chunked(f"5\r\nhello\r\n0\r\n{TOKEN}\r\nHost: a\r\n\r\n".encode()))
        reply = client.reply()
    seen = json.loads(reply.body)
    assert (reply.status, seen["body"], seen["environ"]["CONTENT_LENGTH"]) == (401, "hello", "5")
    assert seen["environ"]["HTTP_HOST"] == "localhost"
    assert "HTTP_TRANSFER_ENCODING" not in seen["environ"]


@pytest.mark.parametrize("first", ["GET", "POST"])
def test_nothing_of_a_request_with_expect_is_seen_in_the_next(port: int, first: str) -> None:
    with Connection(port) as client:
        client.send(get("/1", "Host: localhost", TOKEN, "Expect: 100-continue", method=first))
        assert client.reply().status == 200
        client.send(get("/2"))
        assert client.reply().status == 401


def test_a_body_is_asked_for_where_the_client_waits_to_be(port: int) -> None:
    with Connection(port) as client:
        client.send(post(TOKEN, "Content-Length: 5", "Expect: 100-continue"))
        assert client.reply().status == 100
        client.send(b"hello")
        assert json.loads(client.reply().body)["body"] == "hello"


def test_a_body_is_not_asked_for_in_http_1_0(port: int) -> None:
    with Connection(port) as client:
        client.send(post("Content-Length: 5", "Expect: 100-continue", version="1.0"))
        client.send(b"hello")
        assert client.reply().status == 401


LOOPBACK_NAMES = [
    "localhost", "localhost:8080", "LocalHost", "localhost.", "a.b.localhost:1", "127.0.0.1",
    "127.0.0.1:65535", "127.255.0.9", "[::1]", "[::1]:80", "localhost:",
]  # fmt: skip
OTHER_NAMES = [
    "evil.example", "localhost.evil.example", "evil-localhost", ".localhost", "128.0.0.1",
    "127.0.0.1.evil.example", "127.0.0.256", "10.0.0.1", "[::2]", "0.0.0.0", "%6cocalhost", SECRET,
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK_NAMES)
def test_loopback_serves_loopback_names(port: int, host: str) -> None:
    with Connection(port) as client:
        client.send(get("/", f"Host: {host}"))
        assert client.reply().status == 401
        client.send(get(f"http://{host}/", "Host: localhost"))
        assert client.reply().status == 401


@pytest.mark.parametrize("host", OTHER_NAMES)
@pytest.mark.parametrize("form", ["/", "http://localhost/"])
def test_loopback_serves_no_other_name(port: int, host: str, form: str) -> None:
    with Connection(port) as client:
        client.send(get(form, f"Host: {host}", TOKEN))
        assert_problem(client.reply(), 400, "host_not_allowed")
        assert client.closed()


@pytest.mark.parametrize("host", OTHER_NAMES)
def test_loopback_serves_no_other_name_in_the_target(port: int, host: str) -> None:
    with Connection(port) as client:
        client.send(get(f"http://{host}/", "Host: localhost"))
        assert_problem(client.reply(), 400, "host_not_allowed")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("Stub.test", 401),
        ("stub.test.:99", 401),
        ("[fe80::1]", 401),
        ("localhost", 401),
        ("a.stub.test", 400),
        ("stubxtest", 400),
    ],
)
def test_trusted_hosts_are_served_too(serve: Callable[..., int], host: str, status: int) -> None:
    with Connection(serve(trusted_hosts=("stub.test", "fe80::1"))) as client:
        client.send(get("/", f"Host: {host}"))
        assert client.reply().status == status


@pytest.mark.parametrize("name", ["http://stub.test", "stub.test:80", "", "a b"])
def test_a_trusted_host_is_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        create_server(make_app(Gate()), "127.0.0.1", 0, Options(trusted_hosts=[name]))


def test_any_name_is_served_elsewhere(serve: Callable[..., int]) -> None:
    with Connection(serve(host="0.0.0.0")) as client:
        client.send(get("/", "Host: stub.example"))
        assert client.reply().status == 401


def ipv6() -> list[str]:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return []
    return ["::1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", *ipv6()])
def test_it_listens_on_loopback_by_any_name(serve: Callable[..., int], host: str) -> None:
    client = http.client.HTTPConnection(host, serve(host=host), timeout=10)
    client.request("GET", "/")
    assert client.getresponse().read()
    client.close()


def test_a_taken_port_is_said_in_one_line(port: int) -> None:
    with pytest.raises(OSError, match=rf"^cannot listen on 127.0.0.1, port {port}: [\w ]+$"):
        create_server(make_app(Gate()), "127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70, "192.0.2.1", "a..b"])
def test_an_unusable_host_is_said_in_one_line(host: str) -> None:
    with pytest.raises(OSError, match=r"^(cannot listen on|no address is known for) \S+"):
        create_server(make_app(Gate()), host, 0)


@pytest.mark.parametrize("number", [-1, 65536, 99999])
def test_a_port_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"^port {number} is not between 0 and 65535$"):
        create_server(make_app(Gate()), "127.0.0.1", number)


def test_requests_before_a_bad_one_are_answered_first_and_in_order(port: int) -> None:
    with Connection(port) as client:
        client.send(get("/1") + post("Content-Length: 2", body=b"/2") + get("/3", version="9.9"))
        client.send(get("/4"))
        assert json.loads(client.reply().body)["path"] == "/1"
        assert json.loads(client.reply().body)["body"] == "/2"
        assert_problem(client.reply(), 400, "malformed_request")
        assert client.closed()


@pytest.mark.parametrize(
    ("option", "version"), [("close", "1.1"), ("TE, Close", "1.1"), ("x", "1.0")]
)
def test_a_connection_is_closed_where_the_client_asks(port: int, option: str, version: str) -> None:
    with Connection(port) as client:
        client.send(get("/", "Host: localhost", f"Connection: {option}", version=version) + get())
        assert client.reply().headers["Connection"] == "close"
        assert client.closed()


@pytest.mark.parametrize("chunks", [False, True])
def test_a_client_that_sends_too_much_can_read_why(port: int, chunks: bool) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    body = b"x" * 2 * KIB * KIB
    client.request("POST", "/", iter([body]) if chunks else body, encode_chunked=chunks)
    reply = client.getresponse()
    assert (reply.status, json.loads(reply.read())["code"]) == (413, "body_too_large")
    client.close()


def test_a_client_that_never_stops_sending_is_cut_off(port: int) -> None:
    with Connection(port) as client:
        client.send(get(version="9.9"))
        assert_problem(client.reply(), 400, "malformed_request")
        started = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() < started + 10:
                client.send(b"x" * KIB)
        assert time.monotonic() < started + LINGER + 2


def test_a_half_closed_connection_gets_its_answer(port: int, gate: Gate) -> None:
    with Connection(port) as client:
        client.send(get("/gate"))
        client.sock.shutdown(socket.SHUT_WR)
        gate.entered.acquire()
        gate.open.set()
        assert client.reply().body == b"late"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_exception_that_escapes_the_app_is_answered_and_not_quoted(
    port: int,
    method: str,
    refusals: list[tuple[int, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Connection(port) as client:
        client.send(get(f"/boom?{SECRET}", "Host: localhost", TOKEN, method=method))
        assert_problem(
            client.reply(head=method == "HEAD"), 500, "internal_error", head=method == "HEAD"
        )
        assert client.closed()
    assert refusals == [(500, "internal_error")]
    assert "FileNotFoundError" in caplog.text
    assert "in boom" in caplog.text
    assert SECRET not in caplog.text


def test_head_and_body_leave_in_one_send() -> None:
    sends: list[int] = []

    class Counting(Channel):
        def send(self, data: bytes, do_close: bool = True) -> int:
            sends.append(len(data))
            return super().send(data, do_close)

    with running(make_app(Gate())) as it:
        it.channel_class = Counting
        with Connection(it.effective_port) as client:
            client.send(get())
            client.reply()
    assert len(sends) == 1


def test_slow_requests_do_not_stop_the_next(port: int, gate: Gate) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Connection(port)) for _ in range(15)]
        for client in slow:
            client.send(get("/gate"))
        for _ in slow:
            assert gate.entered.acquire(timeout=10)
        with Connection(port) as client:
            client.send(get())
            assert client.reply().status == 401
        gate.open.set()
        assert all(client.reply().body == b"late" for client in slow)


def test_a_client_that_goes_away_leaves_no_word(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with running(make_app(gate)) as it:
        with Connection(it.effective_port) as client:
            client.send(get(f"/until-gone/{SECRET}", "Host: localhost", TOKEN))
            client.until(b"first")
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gate.open.set()
    assert not caplog.records


def test_urgent_data_is_not_a_busy_loop(port: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Connection(port) as client:
        client.sock.send(b"x", socket.MSG_OOB)
        assert client.closed()
    assert not caplog.records


def trickle(client: Connection, data: bytes) -> float:
    """Send a byte ten times a second until the server closes; return the seconds that took."""
    started = time.monotonic()
    client.sock.settimeout(0.1)
    for byte in data:
        try:
            client.send(bytes([byte]))
            if client.closed():
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("opening", "data"),
    [
        (b"", get("/" + "x" * 200)),
        (b"", b"\r\n" * 200),
        (post("Content-Length: 200"), b"x" * 200),
        (post("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 50),
        (post("Transfer-Encoding: chunked", body=b"0\r\n"), b"A: b\r\n" * 50),
    ],
    ids=["head", "empty lines", "body", "chunks", "trailer"],
)
def test_a_request_that_trickles_is_closed_by_its_deadline(
    serve: Callable[..., int], opening: bytes, data: bytes
) -> None:
    with Connection(serve(deadline=0.5)) as client:
        client.send(opening)
        assert 0.4 < trickle(client, data) < 2.5


def test_an_idle_connection_outlives_the_deadline(serve: Callable[..., int]) -> None:
    port = serve(deadline=0.3)
    with Connection(port) as silent, Connection(port) as kept, Connection(port) as trickler:
        kept.send(get("/1"))
        assert kept.reply().status == 401
        assert trickle(trickler, b"GET /" + b"x" * 100) > 0.2
        for client in (silent, kept):
            client.send(get("/2"))
            assert json.loads(client.reply().body)["path"] == "/2"


def test_the_deadline_is_for_arriving_not_for_being_answered(
    serve: Callable[..., int], gate: Gate
) -> None:
    port = serve(deadline=2)
    with Connection(port) as slow, Connection(port) as trickler:
        slow.send(get("/gate") + get("/next") + b"GET /las")
        assert gate.entered.acquire(timeout=10)
        assert trickle(trickler, b"GET /" + b"x" * 100) > 1.9
        gate.open.set()
        assert slow.reply().body == b"late"
        assert json.loads(slow.reply().body)["path"] == "/next"
        slow.sock.settimeout(2 * TICK)
        with pytest.raises(TimeoutError):
            slow.more()
        slow.send(b"t HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert json.loads(slow.reply().body)["path"] == "/last"


def test_1100_idle_connections_stop_nobody_and_leave_nothing() -> None:
    with running(make_app(Gate())) as it:
        with ExitStack() as stack:
            crowd = [stack.enter_context(Connection(it.effective_port)) for _ in range(1100)]
            for client in (crowd[0], crowd[-1]):
                client.send(get())
                assert client.reply().status == 401
            assert len(it.active_channels) == 1100
        with Connection(it.effective_port) as client:
            while len(it.active_channels) > 1:
                client.send(get())
                assert client.reply().status == 401


def test_closing_does_not_wait_for_the_clock() -> None:
    started = time.monotonic()
    for _ in range(8):
        with running(make_app(Gate())) as it, Connection(it.effective_port) as client:
            client.send(get("/", "Host: localhost", "Connection: close"))
            client.reply()
    assert time.monotonic() - started < 4 * TICK


def test_the_server_can_be_closed_before_and_after_it_ran() -> None:
    it = create_server(make_app(Gate()), "127.0.0.1", 0)
    it.close()
    it.run()
    it.close()
    with pytest.raises(ConnectionRefusedError):
        Connection(it.effective_port)


@pytest.mark.parametrize(
    "raw",
    [*MALFORMED.values(), chunked(b"5\r\nhello\r\n0\r\nA: b\r\n\r\n"), b"\r\n" + get("/a?b")],
    ids=[*MALFORMED, "well-formed chunks", "well-formed"],
)
def test_a_request_that_arrives_byte_by_byte_is_read_alike(raw: bytes) -> None:
    def read(pieces: Iterable[bytes]) -> tuple[object, ...]:
        parser: Any = Parser(Settings())
        for piece in pieces:
            while piece and not parser.completed:
                piece = piece[parser.received(piece) :]
        if parser.error:
            return parser.completed, parser.error.code
        with parser.get_body_stream() as body:
            return parser.completed, parser.path, parser.query, parser.headers, body.read()

    assert read(bytes([byte]) for byte in raw) == read([raw])


def test_few_threads_take_turns_when_few_are_needed() -> None:
    served: set[int] = set()

    def note(environ: Any, start_response: Any) -> list[bytes]:
        served.add(threading.get_ident())
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with running(note, threads=16) as it, Connection(it.effective_port) as client:
        for _ in range(48):
            client.send(get("/", "Host: localhost"))
            client.reply()
    assert len(served) < 8


def test_a_piece_is_sent_before_the_next_is_there(
    monkeypatch: pytest.MonkeyPatch, serve: Callable[..., int], gate: Gate
) -> None:
    monkeypatch.setattr("server.loop.TICK", 60)
    port = serve()
    with Connection(port) as one, Connection(port) as other:
        one.send(get("/", "Host: localhost"))
        one.reply()
        other.send(get("/until-gone/x", "Host: localhost"))
        other.until(b"first")


def test_nothing_of_a_request_waits_for_the_garbage_collector() -> None:
    seen: list[weakref.ref[Any]] = []

    def note(environ: Any, start_response: Any) -> list[bytes]:
        environ["test.thing"] = Thing()
        seen.append(weakref.ref(environ["test.thing"]))
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    gc.disable()
    try:
        with running(note, threads=1) as it, Connection(it.effective_port) as client:
            for _ in range(3):
                client.send(get("/", "Host: localhost"))
                client.reply()
            assert [thing() for thing in seen[:2]] == [None, None]
    finally:
        gc.enable()


def test_slow_requests_leave_the_control_lane_free(serve: Callable[..., int], gate: Gate) -> None:
    port = serve(threads=2, control_prefix="/control/")
    with ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(Connection(port))
            client.send(get("/gate", "Host: localhost", TOKEN))
        for _ in range(2):
            assert gate.entered.acquire(timeout=10)
        with Connection(port) as control:
            control.send(get("/control/x", "Host: localhost", TOKEN))
            assert json.loads(control.reply().body)["path"] == "/control/x"
        with Connection(port) as both:
            both.send(
                get("/control/1", "Host: localhost", TOKEN)
                + get("/gate", "Host: localhost", TOKEN)
                + get("/control/2", "Host: localhost", TOKEN)
            )
            assert json.loads(both.reply().body)["path"] == "/control/1"
            gate.open.set()
            assert both.reply().body == b"late"
            assert json.loads(both.reply().body)["path"] == "/control/2"


@pytest.mark.parametrize(("prefix", "status"), [(None, 413), ("/", 200)])
def test_a_control_route_may_be_sent_more(
    serve: Callable[..., int], prefix: str | None, status: int
) -> None:
    length = 2 * MAX_BODY
    with Connection(serve(control_prefix=prefix)) as client:
        client.send(post(TOKEN, f"Content-Length: {length}"))
        with suppress(ConnectionError):
            client.send(length * b"x")
        assert client.reply().status == status
