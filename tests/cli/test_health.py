"""`app.py health`: the status of a program that runs, for the health check of a container."""

import socket
from threading import Thread

import pytest

from tests.conftest import make_stub
from tests.live import serving
from tests.program import Outcome, run
from tests.wire import free_port, port_of

pytestmark = pytest.mark.process

HOSTS = [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "0.0.0.0")]
HOSTS += [("::", "::"), ("::1", "::1")] if socket.has_dualstack_ipv6() else []


# What is not the host of a program that listens on 127.0.0.1.
NOT_ITS = ("127.0.0.2", "no-such-host.invalid")


def is_ready(done: Outcome) -> bool:
    """Whether the status is 0, and not 1; the output says the same."""
    if done.status == 0:
        assert (done.stdout, done.stderr) == ("ready\n", "")
        return True
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error: host ")
    assert done.stderr.count("\n") == 1
    return False


def test_a_program_that_listens_is_ready_until_it_stops() -> None:
    for served, asked in HOSTS:
        with serving(make_stub(), served) as port:
            assert is_ready(run("health", "--host", asked, "--port", str(port)))
        done = run("health", "--host", asked, "--port", str(port))
        assert not is_ready(done)
        assert "GET /_stub/ready: Connection refused. Does " in done.stderr


def test_its_port_is_that_of_the_program_and_no_proxy_is_used(
    live_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    port = {"STUB_PORT": str(port_of(live_url))}
    assert is_ready(run("health", env=port))
    for words in (["--port", str(free_port())], *(["--host", each] for each in NOT_ITS)):
        assert not is_ready(run("health", *words, env=port))


def greet(listener: socket.socket) -> None:
    with listener.accept()[0] as connection:
        connection.sendall(b"SSH-2.0-other\r\n")


def test_a_port_that_speaks_no_http_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=greet, args=(listener,))
        thread.start()
        assert not is_ready(run("health", "--port", str(listener.getsockname()[1])))
        thread.join()


@pytest.mark.slow
def test_a_port_that_is_silent_for_five_seconds_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = run("health", "--port", str(listener.getsockname()[1]))
        assert (is_ready(done), "timed out" in done.stderr) == (False, True)
