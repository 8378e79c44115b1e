"""A service that misbehaves is a sentence and status 2, or what could not be checked."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contract import CREATED
from tests.verify import differences as parts
from tests.verify.conftest import (
    TOKEN,
    Request,
    Response,
    Service,
    Verified,
    Write,
    listening,
    plain,
    verify,
)
from tests.verify.differences import Difference, differs, on, on_listed, on_projects, put, read
from tests.wire import free_port
from verify.client import HTTPClient, find_proxy, within
from verify.exchange import PROJECTS, Exchange
from verify.script import NotVerifiable, Plan, Session

pytestmark = pytest.mark.process

MIB = 1 << 20
NO_404 = parts.unchecked(parts.UNKNOWN)
LIST = Exchange("GET", PROJECTS)


# A request ends, whatever comes


@contextmanager
def sending(
    start: bytes, then: bytes = b"", pause: float = 0, received: list[bytes] | None = None
) -> Iterator[str]:
    """The URL of a server that sends this, and then the other without end.

    It appends the head of the request to `received`.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                sock, _ = listener.accept()
                with sock:
                    head = sock.recv(65536)
                    if received is not None:
                        received.append(head)
                    sock.sendall(start)
                    while then:
                        sock.sendall(then)
                        time.sleep(pause)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
NO_END = "the response has no end"
NO_HTTP = "the response is no HTTP"
CUT_OFF = "the connection was cut off"
TOO_LARGE = "its body is over 4 MiB"
ENDLESS = [
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99, NO_END),
    (OK, b"X-A: b\r\n" * 999, "got more than 100 headers"),
    (OK + b"X: ", b"a" * 9999, NO_HTTP),
    (b"", b"a" * 9999, NO_HTTP),
    (OK + b"\r\n", b"a" * 9999, TOO_LARGE),
    (CHUNKED + b"ffffffff\r\n", b"a" * 9999, TOO_LARGE),
    (CHUNKED, b"1;" + b"x" * 999 + b"\r\na\r\n", NO_END),
    (CHUNKED + b"0\r\n", b"X-A: b\r\n" * 999, NO_END),
]
SHORT = [
    (CHUNKED + b"-5\r\nabc\r\n0\r\n\r\n", NO_HTTP),
    (CHUNKED + b"-1\r\nabc\r\n0\r\n\r\n", CUT_OFF),
    (CHUNKED + b"zz\r\n{}\r\n", CUT_OFF),
    (OK + b"Content-Length: 99\r\n\r\n{}", CUT_OFF),
    (b"HTTP/1.1 103 Early Hints\r\n\r\n", "there is no response after a 103"),
    (b"", f"{CUT_OFF} (http or https?)"),
]


def test_a_response_without_end_ends() -> None:
    for start, then, failure in ENDLESS:
        with sending(start, then) as url:
            assert HTTPClient(url, None).send(LIST).failure == failure, start


def test_a_response_that_is_broken_is_a_sentence() -> None:
    for data, failure in SHORT:
        with sending(data) as url:
            assert HTTPClient(url, None).send(LIST).failure == failure, data


def test_a_request_ends_with_its_thread() -> None:
    """However slowly something comes: the server has the end of the connection."""
    threads = threading.active_count()
    started = time.monotonic()
    for start in (b"", OK, CHUNKED, OK + b"Content-Length: 9999\r\n\r\n"):
        with sending(start, b" ", pause=0.01) as url:
            assert HTTPClient(url, None, timeout=0.1).send(LIST).failure == "timed out"
    assert threading.active_count() == threads
    assert time.monotonic() - started < 10


def test_the_name_has_no_address_or_none_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def resolve(*args: object, **more: object) -> None:
        is_over.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    client = HTTPClient("http://service.invalid", None, timeout=0.1)
    assert client.send(LIST).failure == "timed out"
    is_over.set()
    done = verify("http://service.invalid")
    assert "warning: http sends the token without encryption\n" in done.stdout
    assert_nothing_checked(done, "Name or service not known")


def test_a_host_that_is_no_name_is_a_sentence() -> None:
    assert HTTPClient("http://a..b", None).send(LIST).failure == "the host is no name"


def test_a_mistake_in_the_thread_of_a_request_is_no_timeout() -> None:
    with pytest.raises(ZeroDivisionError):
        within(1.0, lambda: 1 / 0, otherwise=0.0)


def test_a_number_that_no_double_has_is_no_json() -> None:
    for text in (b"1e400", b"-1e999", b"9" * 309, b"9" * 5000, b"NaN"):
        assert not Exchange("GET", PROJECTS, content=b"[%s]" % text).has_json, text
    for text in (b"1e300", b"9" * 308, b'"%s"' % (b"9" * 5000)):
        assert Exchange("GET", PROJECTS, content=b"[%s]" % text).has_json, text


# Proxies


def set_proxies(patch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        patch.delenv(name, raising=False)
        patch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        patch.setenv(name, value)


def test_a_proxy_is_used_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []
    with sending(OK + b"Content-Length: 2\r\n\r\n[]", received=received) as proxy:
        with_user = proxy.replace("://", "://user:pass@")
        set_proxies(monkeypatch, http_proxy=with_user, NO_PROXY="other.test")
        assert HTTPClient("http://service.test", None).send(LIST).json == []
    assert received[0].startswith(b"GET http://service.test/v1/projects HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n" in received[0]
    with sending(b"HTTP/1.1 403 Forbidden\r\n\r\n") as proxy:
        set_proxies(monkeypatch, HTTPS_PROXY=proxy.replace("://", "://user:pass@"))
        failure = HTTPClient("https://service.test", None).send(LIST).failure
    place = proxy.removeprefix("http://")
    assert failure == f"Tunnel connection failed: 403 Forbidden (through the proxy {place})"
    set_proxies(monkeypatch, all_proxy="socks5://127.0.0.1:1")
    with pytest.raises(ValueError, match="give the proxy as http://HOST:PORT"):
        HTTPClient("https://service.test", None)


def test_a_host_of_no_proxy_and_this_machine_need_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    set_proxies(monkeypatch, HTTPS_PROXY="a.example:1", NO_PROXY=".test")
    assert find_proxy(urlsplit("https://service.test:8443/api")) is None
    found = find_proxy(urlsplit("https://service.example"))
    assert found
    assert found.netloc == "a.example:1"
    for url in ("http://localhost:1", "https://127.0.0.1", "http://[::1]:1"):
        assert find_proxy(urlsplit(url)) is None


# A run


def at(*cases: str, write: Write) -> Write:
    """Write so in these cases, and as usual in the others."""
    return lambda handler, request, response: (write if response.case in cases else plain)(
        handler, request, response
    )


def head(response: Response, **headers: Any) -> bytes:
    """The status line and the headers of a response."""
    fields = {**response.headers, **{name.replace("_", "-"): headers[name] for name in headers}}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {response.status} X", *lines, "", ""]).encode()


def framed(make: Callable[[Response, bytes], bytes]) -> Write:
    """Write what `make` makes of the response and its body, and close."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        handler.close_connection = True
        handler.wfile.write(make(response, response.data()))

    return write


def sends(data: bytes) -> Write:
    return framed(lambda response, body: data)


def drips(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
    """Write a body that has no end before that of the test."""
    handler.close_connection = True
    handler.wfile.write(head(response, Content_Length=9999))
    while not handler.server.stop.wait(0.1):  # type: ignore[attr-defined]
        handler.wfile.write(b" ")


def short(response: Response, data: bytes) -> bytes:
    return head(response, Content_Length=len(data) + 9) + data


PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<!doc"
# Nothing can be said of these; what the sentence is about.
NOTHING_CHECKED = [
    ("no response is JSON (200)", Service(write=sends(PAGE))),
    ("JSON (302 to /login?from=***)",
     Service(on(status=302, headers={"Location": f"/login?from={TOKEN}"}, raw=b""))),
    ("503", Service(on(status=503))),
    ("rejects the token", Service(on(status=403))),
    ("cut off (http or https?)", Service(write=sends(b""))),
    ("no HTTP (http or https?)", Service(write=sends(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"))),
]  # fmt: skip


def assert_nothing_checked(done: Verified, reason: str = "") -> None:
    """Status 2, and a sentence of why."""
    assert done.status == 2, done
    assert reason in done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize(("reason", "service"), NOTHING_CHECKED)
def test_nothing_can_be_checked_and_nothing_is_created(reason: str, service: Service) -> None:
    assert_nothing_checked(verify(service, level="write"), reason)
    assert len(service.requests) <= 6  # each of three twice
    assert service.created == []


PARTLY = [
    read("429", NO_404, on("unknown", status=429)),
    read("cut off at one path", NO_404, write=at("unknown", write=framed(short))),
    read("over 4 MiB", parts.NO_LIST, on("list", raw=b"[]" + b" " * (4 * MIB))),
    read("deep JSON", parts.NO_LIST, on("list", raw=b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}")),
    read("headers twice", parts.NOTHING, write=framed(
        lambda r, x: head(r).replace(b"Cache-", b"Cache-Control: private\r\nCache-", 1) + x
    )),
    read("bytes in a header", parts.NOTHING, write=framed(
        lambda r, x: head(r, X="a").replace(b"X: a", b"X: \xff\xc3\x28\x1b[2J") + x
    )),
    # An id that no path can have is never asked for.
    read("no id", differs(parts.LATEST), on_listed(put(latest_deployment_id="d\r\nX-Y: z"))),
]  # fmt: skip


@pytest.mark.parametrize("partly", PARTLY, ids=lambda each: each.name)
def test_what_misbehaves_in_one_place_could_not_be_checked_there(partly: Difference) -> None:
    done = verify(partly.service)
    assert done.found == partly.findings, done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_nobody_listens() -> None:
    assert_nothing_checked(verify(f"http://127.0.0.1:{free_port()}", level="write"), "refused")


def test_a_creation_that_is_cut_off_is_not_repeated_but_told() -> None:
    """The record may exist: whoever reads that has its name."""
    service = Service(write=at("created", write=framed(short)))
    done = verify(service, level="write")
    (post,) = [each for each in service.requests if each.status == CREATED]
    assert f"  perhaps  {post.json['name']}\n" in done.stdout
    assert done.report["created"] == [{"id": None, "name": post.json["name"]}]


def test_after_three_timeouts_nothing_more_is_asked() -> None:
    service = Service(write=drips)
    with listening(service) as url:
        session = Session(HTTPClient(url, None, timeout=0.2), Plan(TOKEN, writes=True))
        with pytest.raises(NotVerifiable, match="timed out"):
            session.ask_all()
    assert len(service.requests) == 3


def test_text_that_is_no_unicode_is_told_as_other_text() -> None:
    """JSON may have half of a character (RFC 8259 §8.2)."""
    half = framed(lambda response, data: head(response) + data.replace(b'"S"', b'"\\ud800"'))
    ids = put(id="S", name="S", latest_deployment_id="S")
    done = verify(Service(on_projects(ids), write=half), level="write")
    assert done.status in (0, 1)
    assert len(done.report["created"]) == 1
