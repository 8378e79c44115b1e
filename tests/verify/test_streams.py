"""The recorder passes a response on as it comes, if that does not say how long it is."""

import json
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from typing import Any

import pytest

from tests.live import serving
from tests.verify.conftest import TOKEN, verify
from verify.sources.client import HTTPClient
from verify.sources.record import Recorder

pytestmark = pytest.mark.process

EVENTS = "/v1/deployments/d-4"
FIRST = b"data: building\n\n"
SECOND = b"data: succeeded\n\n"
WAIT = 20.0  # seconds after which a test fails

Send = Callable[[str], Iterator[bytes]]
"""The pieces of a response, for the URL of the service."""


class Events:
    """A service that sends its head, these events, and once `is_over` is set its end."""

    def __init__(self, send: Send, coding: str = "", *, is_over: bool = True) -> None:
        self.send = send
        self.is_over = threading.Event()
        if is_over:
            self.is_over.set()
        self.fields = [("Content-Type", "text/event-stream")]
        if coding:
            self.fields.append(("Content-Encoding", coding))

    def __call__(self, environ: Any, start_response: Any) -> Iterator[bytes]:
        write = start_response("200 OK", self.fields)
        write(b"")
        yield from self.send(f"http://{environ['HTTP_HOST']}")
        self.is_over.wait(WAIT)


class Proxy:
    """A recorder that listens."""

    def __init__(self, url: str) -> None:
        self.recorder = Recorder(HTTPClient(url, None), TOKEN)
        self.host = ""

    @contextmanager
    def ask(self, path: str = EVENTS) -> Iterator[HTTPResponse]:
        connection = HTTPConnection(self.host, timeout=WAIT)
        with closing(connection):
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            with connection.getresponse() as response:
                yield response

    def entry(self) -> Any:
        with self.ask("/_stub/requests") as response:
            (entry,) = json.load(response)["requests"]
        return entry


@contextmanager
def recording(service: Events) -> Iterator[Proxy]:
    with serving(service) as port:
        proxy = Proxy(f"http://127.0.0.1:{port}")
        with serving(proxy.recorder.app) as own:
            proxy.host = f"127.0.0.1:{own}"
            yield proxy
        service.is_over.set()


def test_each_event_is_passed_on_before_the_service_sends_the_next() -> None:
    gates = [threading.Event(), threading.Event()]

    def send(url: str) -> Iterator[bytes]:
        for gate, event in zip(gates, (FIRST, SECOND), strict=True):
            assert gate.wait(WAIT)
            yield event

    with recording(Events(send)) as proxy:
        with proxy.ask() as response:
            assert response.getheader("Content-Type") == "text/event-stream"
            assert proxy.entry()["status"] == 200
            gates[0].set()
            assert response.read1() == FIRST
            gates[1].set()
            assert response.read() == SECOND
        assert proxy.entry()["response"]["body"] == (FIRST + SECOND).decode()
    (exchange,) = proxy.recorder.log().exchanges
    assert (exchange.response_body, exchange.failure) == (FIRST + SECOND, "")


def test_a_client_may_leave_a_stream_that_has_no_end() -> None:
    service = Events(lambda url: iter([FIRST]), is_over=False)
    with recording(service) as proxy, proxy.ask() as response:
        assert response.read1() == FIRST
    (exchange,) = proxy.recorder.log().exchanges
    assert (exchange.response_body, exchange.failure) == (
        FIRST,
        "the body of the response did not end",
    )


def test_the_service_learns_that_the_client_has_left() -> None:
    is_closed = threading.Event()

    def send(url: str) -> Iterator[bytes]:
        try:
            while not is_closed.wait(0.01):
                yield FIRST
        finally:
            is_closed.set()

    with recording(Events(send)) as proxy:
        with proxy.ask() as response:
            assert response.read1()
        assert is_closed.wait(WAIT)


def test_a_stream_is_unpacked_and_its_urls_lead_to_the_proxy() -> None:
    gate = threading.Event()

    def send(url: str) -> Iterator[bytes]:
        compressor = zlib.compressobj(wbits=31)
        for text in (f"data: {url}/v", "1/a\n\n", f"data: {url[:9]}"):
            yield compressor.compress(text.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
            assert gate.wait(WAIT)
        yield compressor.flush()

    with recording(Events(send, "gzip")) as proxy, proxy.ask() as response:
        assert response.getheader("Content-Encoding") is None
        start = response.read1()
        assert start == b"data: "  # what may be a URL of the service waits for its end
        gate.set()
        body = (start + response.read()).decode()
    (exchange,) = proxy.recorder.log().exchanges
    first, second = exchange.response_body.decode().split("\n\n")
    assert body == f"data: http://{proxy.host}/v1/a\n\n{second}"
    assert first.startswith("data: http://127.0.0.1:")


def test_a_stream_that_breaks_is_not_whole_for_the_client_either(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def send(url: str) -> Iterator[bytes]:
        yield FIRST
        raise ConnectionError

    with recording(Events(send)) as proxy, proxy.ask() as response, pytest.raises(IncompleteRead):
        response.read()
    (exchange,) = proxy.recorder.log().exchanges
    assert exchange.failure == "the connection was cut off"
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


READ_ONE = f"""
import os, urllib.request
headers = {{"Authorization": "Bearer " + os.environ["STUB_TOKEN"]}}
url = os.environ["STUB_URL"] + "{EVENTS}"
response = urllib.request.urlopen(urllib.request.Request(url, headers=headers))
print(response.readline().decode())
"""


def test_a_command_that_leaves_a_stream_open_ends_at_once() -> None:
    service = Events(lambda url: iter([FIRST]), is_over=False)
    with serving(service) as port:
        done = verify(f"http://127.0.0.1:{port}", "--", sys.executable, "-c", READ_ONE)
        service.is_over.set()
    assert done.stderr == "error: nothing could be checked: the body of the response did not end.\n"
