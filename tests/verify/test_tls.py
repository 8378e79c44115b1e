"""Certificates are checked; `--ca` names those of an own authority."""

import ssl
import subprocess
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.verify.conftest import Service, listening, verify

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates that are their own authorities: `good` is that of the service."""
    needs("openssl")
    folder = tmp_path_factory.mktemp("tls")
    for name, address in (("good", "127.0.0.1"), ("far", "127.0.0.9")):
        key = f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key"
        words = f"openssl req -x509 -days 9 {key} -out {name}.crt -subj /CN={name}".split()
        words += ("-addext", f"subjectAltName=IP:{address}")
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def tls_of(folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    return context


@pytest.mark.parametrize(
    ("name", "authority", "status"),
    [("good", "good", 0), ("good", "", 2), ("far", "far", 2)],
)
def test_certificates_are_checked(folder: Path, name: str, authority: str, status: int) -> None:
    options = ("--ca", str(folder / f"{authority}.crt")) if authority else ()
    service = Service()
    with listening(service, tls_of(folder, name)) as url:
        done = verify(url, *options, level="write")
    assert (done.status, bool(service.requests)) == (status, status == 0)
    assert ("certificate verify failed" in done.stderr) == (status == 2)


def test_the_wrong_scheme_is_named(folder: Path) -> None:
    """Whatever the service sends then: a TLS alert, no byte, or an error of HTTP in plain text."""
    service = Service()
    with listening(service, tls_of(folder, "far")) as url:
        done = verify(url.replace("https:", "http:"), level="write")
    assert done.stderr == "error: the port speaks TLS: give an https:// URL.\n"
    with listening(service) as url:
        done = verify(url.replace("http:", "https:"), level="write")
    assert done.stderr == "error: the port does not speak TLS: give an http:// URL.\n"
    assert (done.status, service.created) == (2, [])


def test_a_token_in_clear_text_is_warned_of() -> None:
    for host, is_warned_of in (
        ("127.9.9.9", False), ("[::1]", False), ("a.localhost", False),
        ("localhost.evil.example", True), ("127.0.0.1.evil.example", True),
    ):  # fmt: skip
        done = verify(f"http://{host}:1")
        warning = "warning: http sends the token without encryption"
        assert (warning in done.stdout) is is_warned_of, host
