"""The Host names that are served."""

from collections.abc import Callable, Iterator

import pytest

from server import ServerOptions, create_server
from tests.live import serving
from tests.raw import AUTHORIZATION, SECRET, get
from tests.server.conftest import Echo
from tests.wire import Connection

pytestmark = pytest.mark.process

LOOPBACK_NAMES = [
    "localhost", "localhost:8080", "LocalHost", "localhost.", "a.b.localhost:1", "127.0.0.1",
    "127.0.0.1:65535", "127.255.0.9", "[::1]", "[::1]:80", "localhost:",
]  # fmt: skip

OTHER_NAMES = [
    "evil.example", "localhost.evil.example", "evil-localhost", ".localhost", "128.0.0.1",
    "127.0.0.1.evil.example", "127.0.0.256", "10.0.0.1", "[::2]", "0.0.0.0", "%6cocalhost", SECRET,
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK_NAMES)
def test_loopback_serves_its_own_names(port: int, host: str) -> None:
    with Connection(port) as client:
        client.send(get("/", f"Host: {host}"))
        assert client.reply().status_code == 200
        client.send(get(f"http://{host}/", "Host: localhost"))
        assert client.reply().status_code == 200


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize(
    ("target", "host"), [("/", "{}"), ("http://localhost/", "{}"), ("http://{}/", "localhost")]
)
def test_loopback_serves_no_other_name(port: int, target: str, host: str, name: str) -> None:
    with Connection(port) as client:
        client.send(get(target.format(name), f"Host: {host.format(name)}", AUTHORIZATION))
        client.assert_rejected(400, "host_not_allowed")


@pytest.fixture(scope="module")
def trusting_port(shared_echo: Echo) -> Iterator[int]:
    """The port of a server that trusts two more hosts."""
    with serving(shared_echo.app, threads=1, trusted_hosts=("stub.test", "fe80::1")) as port:
        yield port


@pytest.mark.parametrize("host", ["Stub.test", "stub.test.:99", "[fe80::1]", "localhost"])
def test_trusted_hosts_are_served_too(trusting_port: int, host: str) -> None:
    with Connection(trusting_port) as client:
        client.send(get("/", f"Host: {host}"))
        assert client.reply().status_code == 200


@pytest.mark.parametrize("host", ["a.stub.test", "stubxtest"])
def test_a_host_like_a_trusted_one_is_rejected(trusting_port: int, host: str) -> None:
    with Connection(trusting_port) as client:
        client.send(get("/", f"Host: {host}"))
        client.assert_rejected(400, "host_not_allowed")


@pytest.mark.parametrize("name", ["http://stub.test", "stub.test:80", "", "a b"])
def test_a_trusted_host_has_no_scheme_and_no_port(echo: Echo, name: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        create_server(echo.app, "127.0.0.1", 0, ServerOptions(trusted_hosts=[name]))


def test_any_name_is_served_beyond_loopback(serve: Callable[..., int]) -> None:
    with Connection(serve(host="0.0.0.0")) as client:
        client.send(get("/", "Host: stub.example"))
        assert client.reply().status_code == 200
