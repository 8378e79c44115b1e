"""Certificates are checked; `--ca` names those of an own authority."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli.verify import warnings_of
from tests.conftest import needs
from tests.verify.conftest import TOKEN, Service, listening, verify
from verify.client import HTTPClient
from verify.exchange import PROJECTS, Exchange
from verify.options import Options

pytestmark = pytest.mark.process

LIST = Exchange("GET", PROJECTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates that are their own authorities: `good` and `named` are those of the service."""
    needs("openssl")
    folder = tmp_path_factory.mktemp("tls")
    for name, subject in (
        ("good", "IP:127.0.0.1"), ("far", "IP:127.0.0.9"), ("named", "DNS:service.test"),
    ):  # fmt: skip
        key = f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key"
        words = f"openssl req -x509 -days 9 {key} -out {name}.crt -subj /CN={name}".split()
        words += ("-addext", f"subjectAltName={subject}")
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def tls_of(folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    return context


def test_certificates_are_checked(folder: Path) -> None:
    service = Service()
    with listening(service, tls_of(folder, "good")) as url:
        assert verify(url, "--ca", str(folder / "good.crt")).status == 0
        count = len(service.requests)
        assert "certificate verify failed" in HTTPClient(url, None).send(LIST).failure
    with listening(service, tls_of(folder, "far")) as url:
        failure = HTTPClient(url, folder / "far.crt").send(LIST).failure
    assert failure.startswith("certificate verify failed: IP address mismatch")
    assert len(service.requests) == count


def test_the_wrong_scheme_is_named(folder: Path) -> None:
    """Whatever the service sends then: a TLS alert, no byte, or an error of HTTP in plain text."""
    service = Service()
    with listening(service, tls_of(folder, "far")) as url:
        other = url.replace("https:", "http:")
        assert "(http or https?)" in HTTPClient(other, None).send(LIST).failure
    with listening(service) as url:
        done = verify(url.replace("http:", "https:"), level="write")
    assert (
        done.stderr
        == "error: nothing could be checked: no TLS: WRONG_VERSION_NUMBER (http or https?).\n"
    )
    assert (done.status, service.created) == (2, [])


def test_a_proxy_gets_no_token(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for a tunnel, in which the service is spoken to."""
    service = Service()
    with listening(service, tls_of(folder, "named")) as url:
        port = urlsplit(url).port
        with tunnelling(port) as (proxy, received):
            monkeypatch.setenv("https_proxy", proxy)
            client = HTTPClient(f"https://service.test:{port}", folder / "named.crt")
            sent = (("Authorization", f"Bearer {TOKEN}"),)
            response = client.send(Exchange("GET", PROJECTS, sent))
    assert response.status == 200, response.failure
    assert received[0].startswith(f"CONNECT service.test:{port} HTTP/1.".encode())
    assert b"Authorization" not in received[0]


@contextmanager
def tunnelling(port: int | None) -> Iterator[tuple[str, list[bytes]]]:
    """The URL of a proxy with a tunnel to this port, and what was sent to the proxy itself."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            near, _ = listener.accept()
            received.append(near.recv(65536))
            far = socket.create_connection(("127.0.0.1", port))
            near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(far, near))
            back.start()
            pump(near, far)
            back.join()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", received
        thread.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    with source, suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_a_token_in_clear_text_is_warned_of() -> None:
    for host, is_warned_of in (
        ("127.9.9.9", False), ("[::1]", False), ("a.localhost", False),
        ("localhost.evil.example", True), ("127.0.0.1.evil.example", True),
    ):  # fmt: skip
        warnings = ["warning: http sends the token without encryption"] * is_warned_of
        assert warnings_of(Options(url=f"http://{host}:1")) == warnings, host
