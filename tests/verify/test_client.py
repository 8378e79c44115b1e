"""A request to a service ends in bounded time and memory, with its response or a sentence."""

import gzip
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cli.verify_run import list_warnings
from tests.conftest import needs
from tests.verify.conftest import TOKEN
from tests.wire import free_port
from verify.options import VerifyOptions
from verify.seen.kinds import find_failure
from verify.seen.service_log import PROJECTS, ServiceExchange
from verify.sources.client import HTTPClient

pytestmark = pytest.mark.process

LIST = ServiceExchange("GET", PROJECTS, (("Authorization", f"Bearer {TOKEN}"),))


@contextmanager
def sending(
    start: bytes,
    then: bytes = b"",
    pause: float = 0,
    received: list[bytes] | None = None,
    tls: ssl.SSLContext | None = None,
    most: float = 20.0,
) -> Iterator[str]:
    """The URL of a server that sends this, and then the other, for `most` seconds.

    It appends the head of the request to `received`.
    """

    def serve() -> None:
        with suppress(OSError):
            sock, _ = listener.accept()
            with tls.wrap_socket(sock, server_side=True) if tls else sock as sock:
                head = sock.recv(65536)
                if received is not None:
                    received.append(head)
                sock.sendall(start)
                ends_at = time.monotonic() + most
                while then and time.monotonic() < ends_at:
                    sock.sendall(then)
                    time.sleep(pause)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = OK + b"Content-Length: 2\r\n\r\n[]"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
A_LOT = b"a" * 99_999
NO_HTTP = "the response is not HTTP"
CUT_OFF = "the connection was cut off"
TOO_LARGE = "the body of the response is over 4 MiB"

# What a server sends, and then without end, and what is said of it.
RESPONSES = [
    (EMPTY, b"", ""),
    (b"HTTP/1.1 303 See Other\r\nLocation: http://127.0.0.1:1/\r\n\r\n", b"", ""),  # not followed
    (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + EMPTY, b"", ""),
    (OK, b"X-A: b\r\n" * 999, NO_HTTP),
    (OK + b"X: ", A_LOT, NO_HTTP),
    (b"", A_LOT, NO_HTTP),
    (OK + b"\r\n", A_LOT, TOO_LARGE),
    (CHUNKED + b"ffffffff\r\n", A_LOT, TOO_LARGE),
    (CHUNKED + b"zz\r\n{}\r\n", b"", CUT_OFF),
    (OK + b"Content-Length: 99\r\n\r\n{}", b"", CUT_OFF),
    (b"", b"", f"{CUT_OFF} (http or https?)"),
    (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"", f"{NO_HTTP} (http or https?)"),
]


def test_a_response_ends_and_a_broken_one_is_a_sentence() -> None:
    for start, then, failure in RESPONSES:
        with sending(start, then) as url:
            assert HTTPClient(url, None).send(LIST).failure == failure, start


def test_a_request_ends_however_slowly_something_comes() -> None:
    for start in (b"", OK, CHUNKED, OK + b"Content-Length: 9999\r\n\r\n"):
        with sending(start, b" ", pause=0.01, most=0.5) as url:
            assert HTTPClient(url, None, timeout=0.1).send(LIST).failure == "timed out"


def test_a_compressed_body_is_unpacked_and_another_coding_stays() -> None:
    bodies = {"gzip": gzip.compress(b"[1]"), "deflate": zlib.compress(b"[1]"), "br": b"\x0b"}
    for coding, body in bodies.items():
        received: list[bytes] = []
        fields = f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
        with sending(OK + fields.encode() + body, received=received) as url:
            exchange = HTTPClient(url, None).send(LIST)
        assert b"Accept-Encoding: gzip\r\n" in received[0]
        seen = exchange.response_json if exchange.has_json else find_failure(exchange, "list")
        assert seen == (
            "200, but its body is not JSON, its coding is br" if coding == "br" else [1]
        )
    with sending(OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]") as url:
        assert HTTPClient(url, None).send(LIST).failure == "the body of the response is not gzip"


def test_a_host_that_cannot_be_reached_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = HTTPClient(f"http://127.0.0.1:{free_port()}", None).send(LIST).failure
    assert refused == "Connection refused"
    assert HTTPClient("http://a..b", None).send(LIST).failure == "the host is not a valid name"
    is_over = threading.Event()

    def resolve(*args: object, **more: object) -> None:
        is_over.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    client = HTTPClient("http://service.invalid", None, timeout=0.1)
    assert client.send(LIST).failure == "timed out"
    is_over.set()
    assert client.send(LIST).failure == "Name or service not known"


def test_a_number_that_no_double_has_is_no_json() -> None:
    for text in (b"1e400", b"9" * 309, b"9" * 5000, b"NaN", b"[" * 10**5):
        assert not ServiceExchange("GET", PROJECTS, response_body=b"[%s]" % text).has_json, text
    for text in (b"1e300", b"9" * 308, b'"%s"' % (b"9" * 5000)):
        assert ServiceExchange("GET", PROJECTS, response_body=b"[%s]" % text).has_json, text


def test_a_field_that_comes_twice_is_one_list() -> None:
    fields = [("Cache-Control", "private"), ("cache-control", "no-store")]
    exchange = ServiceExchange("GET", PROJECTS, response_fields=fields)
    assert exchange.find_response_field("Cache-Control") == "private, no-store"


# Proxies


def set_proxies(patch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        patch.delenv(name, raising=False)
        patch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        patch.setenv(name, value)


def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []
    with sending(EMPTY, received=received) as proxy:
        with_user = proxy.replace("://", "://user:pass@")
        set_proxies(monkeypatch, http_proxy=with_user, NO_PROXY="other.test")
        assert HTTPClient("http://service.test", None).send(LIST).response_json == []
    assert received[0].startswith(b"GET http://service.test/v1/projects HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n" in received[0]


def test_a_proxy_of_https_is_asked_for_a_tunnel_and_gets_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received: list[bytes] = []
    with sending(b"HTTP/1.1 403 Forbidden\r\n\r\n", received=received) as proxy:
        set_proxies(monkeypatch, HTTPS_PROXY=proxy.replace("://", "://user:pass@"))
        failure = HTTPClient("https://service.test", None).send(LIST).failure
    assert failure == "Tunnel connection failed: 403 Forbidden"
    assert received[0].startswith(b"CONNECT service.test:443 HTTP/1.")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n" in received[0]
    assert b"\nAuthorization" not in received[0]


def test_no_proxy_is_used_for_loopback_and_where_a_variable_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_proxies(monkeypatch, ALL_PROXY=f"127.0.0.1:{free_port()}", NO_PROXY=".test")
    with sending(EMPTY) as url:
        assert HTTPClient(url, None).send(LIST).response_json == []
    unknown = HTTPClient("http://service.test", None, timeout=2).send(LIST).failure
    refused = HTTPClient("http://service.invalid", None).send(LIST).failure
    assert (refused, unknown != refused) == ("Connection refused", True)


# TLS


def test_certificates_are_checked_and_the_wrong_scheme_is_named(tmp_path: Path) -> None:
    needs("openssl")
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9"
    files = "-keyout key -out crt -subj /CN=x -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*words.split(), *files.split()], cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    for scheme, host, ca, failure in (
        ("https", "127.0.0.1", tmp_path / "crt", ""),
        ("https", "127.0.0.1", None, "certificate verify failed: self-signed certificate"),
        ("https", "localhost", tmp_path / "crt", "certificate verify failed: Hostname mismatch"),
        ("http", "127.0.0.1", None, f"{CUT_OFF} (http or https?)"),
    ):
        with sending(EMPTY, tls=tls) as url:
            other = url.replace("http", scheme).replace("127.0.0.1", host)
            response = HTTPClient(other, ca).send(LIST)
        assert response.failure.startswith(failure)
        assert (response.status == 200) == (failure == "")
    with sending(EMPTY) as url:
        found = HTTPClient(url.replace("http", "https"), None).send(LIST).failure
    assert found == "TLS failed: WRONG_VERSION_NUMBER (http or https?)"


def test_a_token_in_clear_text_is_warned_of() -> None:
    (warning,) = list_warnings(VerifyOptions(url="http://127.0.0.1.evil.example:1"))
    assert warning == "warning: http sends the token without encryption"
    for url in ("http://a.localhost:1", "https://service.example"):
        assert list_warnings(VerifyOptions(url=url)) == []
