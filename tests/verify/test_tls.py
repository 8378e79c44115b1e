"""Certificates are checked; `--ca` names those of an own authority."""

import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.verify.conftest import Service, Verified, listening, verify

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority `ca`, its certificates `good`, `elsewhere` and `expired`, and `another` one."""
    needs("openssl")
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "another"):
        new_key(folder, name, "-x509", "-days", "9")
    for name, alternative, days in (
        ("good", "IP:127.0.0.1", "9"),
        ("elsewhere", "DNS:service.example,IP:127.0.0.9", "9"),
        ("expired", "IP:127.0.0.1", "-1"),
    ):
        new_key(folder, name)
        Path(folder, f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        files = ("-in", f"{name}.crt", "-out", f"{name}.crt", "-extfile", f"{name}.ext")
        signer = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", days)
        openssl(folder, "x509", "-req", *files, *signer)
    return folder


def new_key(folder: Path, name: str, *options: str) -> None:
    """A key, and a request for a certificate; with `-x509` a certificate."""
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    openssl(folder, "req", "-new", *key, "-subj", f"/CN={name}", *options)


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def verified(folder: Path, name: str, *options: str) -> tuple[Verified, Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    service = Service()
    with listening(service, context) as url:
        return verify(url, *options, level="write"), service


def assert_rejected(done: Verified, service: Service) -> None:
    assert done.status == 2
    assert "certificate" in (done.stdout + done.stderr).lower()
    assert service.requests == []


def test_the_own_authority_is_taken(folder: Path) -> None:
    done, service = verified(folder, "good", "--ca", str(folder / "ca.crt"))
    assert (done.status, done.found) == (0, set())
    assert service.created


@pytest.mark.parametrize(
    ("name", "authority"),
    [("good", ""), ("good", "another"), ("elsewhere", "ca"), ("expired", "ca")],
)
def test_a_certificate_is_rejected(folder: Path, name: str, authority: str) -> None:
    options = ("--ca", str(folder / f"{authority}.crt")) if authority else ()
    assert_rejected(*verified(folder, name, *options))


def test_the_other_scheme_is_told(folder: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "good.crt", folder / "good.key")
    for tls, scheme, other in ((None, "https:", "http:"), (context, "http:", "https:")):
        service = Service(base="/api")
        with listening(service, tls) as url:
            done = verify(url.replace(other, scheme))
        assert done.status == 2
        assert done.stderr == f"error: the port speaks another scheme: give {url}.\n"
        assert [each for each in service.requests if each.header("Authorization")] == []


def test_the_other_scheme_is_told_where_the_port_stays_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a server does that waits for the end of a line."""
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"

        def respond() -> None:
            silent, _ = server.accept()
            plain, _ = server.accept()
            with silent, plain:
                plain.recv(4096)
                plain.sendall(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=respond)
        thread.start()
        done = verify(url.replace("http:", "https:"))
        thread.join()
    assert done.stderr == f"error: the port speaks another scheme: give {url}.\n"
