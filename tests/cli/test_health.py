"""`app.py health`: the status of a program that runs, for the health check of a container."""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

from app import create_app
from tests.live import serving
from tests.program import Outcome, process, run
from tests.wire import free_port, port_of

pytestmark = pytest.mark.process

IPV6 = [("::", "::"), ("::1", "::1")] if socket.has_dualstack_ipv6() else []


def is_ready(done: Outcome) -> bool:
    """Whether the status is 0, and not 1; the output says the same."""
    if done.status == 0:
        assert (done.stdout, done.stderr) == ("ready\n", "")
        return True
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error: host ")
    assert done.stderr.count("\n") == 1
    return False


@pytest.fixture
def port(live_url: str) -> str:
    """The port of a program that is ready."""
    return str(port_of(live_url))


@pytest.mark.parametrize(
    ("served", "asked"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "0.0.0.0"), *IPV6],
)
def test_a_program_that_listens_is_ready_until_it_stops(served: str, asked: str) -> None:
    with serving(create_app(), served) as port:
        assert is_ready(run("--host", asked, "--port", str(port), "health"))
    assert not is_ready(run("--host", asked, "--port", str(port), "health"))


@pytest.mark.parametrize(
    ("words", "variable", "ready"),
    [
        ("health", "PORT", True),
        ("--port PORT health", "OTHER", True),
        ("health --port PORT", "OTHER", True),
        ("--port OTHER health --port PORT", "", True),
        ("--port PORT health --port OTHER", "", False),
        ("--port OTHER health", "PORT", False),
    ],
)
def test_the_port_is_that_of_the_same_option_or_variable_wherever_it_stands(
    port: str, words: str, variable: str, ready: bool
) -> None:
    ports = {"PORT": port, "OTHER": str(free_port())}
    args = [ports.get(word, word) for word in words.split()]
    assert is_ready(run(*args, env={"STUB_PORT": ports.get(variable, "")})) is ready


def test_a_host_is_that_of_the_same_option_or_variable(port: str) -> None:
    assert is_ready(run("health", env={"STUB_PORT": port, "STUB_HOST": "0.0.0.0"}))
    assert not is_ready(run("health", env={"STUB_PORT": port, "STUB_HOST": "127.0.0.2"}))
    assert not is_ready(run("--host", "127.0.0.2", "--port", port, "health"))
    done = run("--host", "no-such-host.invalid", "--port", port, "health")
    assert not is_ready(done)
    assert "no address is known for 'no-such-host.invalid'" in done.stderr


def test_without_the_stub_the_contract_is_asked_for() -> None:
    with serving(create_app(stub_options=None)) as port:
        env = {"STUB_PORT": str(port)}
        assert is_ready(run("--no-stub", "health", env=env))
        assert is_ready(run("health", "--no-stub", env=env))
        assert is_ready(run("health", env={**env, "STUB_NO_STUB": "1"}))
        done = run("health", env=env)
        assert not is_ready(done)
        assert "GET /_stub/ready responds with 401: " in done.stderr


def test_a_free_port_is_not_known() -> None:
    done = run("--port", "0", "health")
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr == "error: port 0 is any free one: give the one that the program printed.\n"
    done = run("health", env={"STUB_PORT": "x"})
    assert (done.status, done.stdout) == (2, "")
    assert "STUB_PORT" in done.stderr


def test_a_program_whose_store_cannot_be_used_is_not_ready() -> None:
    def unusable(environ: Any, start_response: Any) -> list[bytes]:
        start_response("503 Service Unavailable", [])
        return [b'{"code": "store_unavailable"}']

    with serving(unusable) as port:
        done = run("--port", str(port), "health")
        assert not is_ready(done)
        assert 'responds with 503: {"code": "store_unavailable"}\n' in done.stderr


def test_what_is_no_http_is_not_ready() -> None:
    with answering([b"SSH-2.0-other\r\n"]) as port:
        assert not is_ready(run("--port", port, "health"))


@pytest.mark.slow
def test_a_response_that_does_not_end_is_awaited_for_five_seconds() -> None:
    """Its bytes arrive all the time, so that no timeout of the connection ends it."""
    start = monotonic()
    with (
        answering(chain([b"HTTP/1.1 200 OK\r\n\r\n"], slowly())) as port,
        process("app.py", "health", "--port", port) as started,
    ):
        stdout, stderr = started.communicate(timeout=20)
        assert monotonic() - start >= 5
    assert (started.returncode, stdout) == (1, "")
    assert stderr == f"error: host 127.0.0.1, port {port}: no response in 5 seconds\n"


@contextmanager
def answering(texts: Iterable[bytes]) -> Iterator[str]:
    """The port of a server that sends these bytes to its first client."""

    def send() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            for text in texts:
                connection.sendall(text)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=send)
        thread.start()
        yield str(listener.getsockname()[1])
    thread.join()


def slowly() -> Iterator[bytes]:
    """A byte ten times a second."""
    while True:
        Event().wait(0.1)
        yield b" "


def test_no_proxy_is_used(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    assert is_ready(run("--port", port, "health"))
