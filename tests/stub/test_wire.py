"""What only a server, or a process of its own, can show of the stub."""

import re
from contextlib import ExitStack
from threading import Event, Semaphore
from typing import Any

import pytest

from app import create_app
from tests.program import run
from tests.wire import Connection, call, get, port_of

pytestmark = pytest.mark.process

FIELDS = ("Host: localhost", "Authorization: Bearer dev-token")


@pytest.mark.parametrize(
    ("version", "method", "size", "expected"),
    [("1.0", "GET", 5, 5), ("1.1", "GET", 9999, None), ("1.1", "HEAD", 0, 0)],
    ids=["HTTP/1.0", "more than there is", "HEAD"],
)
def test_a_cut_response_ends_its_connection(
    live_url: str, own_token: str, version: str, method: str, size: int, expected: int | None
) -> None:
    added = call(live_url, "/_stub/faults", body=b'{"cut": %d}' % size, token=own_token)
    assert added.status_code == 201
    fields = ["Host: localhost", f"Authorization: Bearer {own_token}"]
    fields += ["Connection: keep-alive"] if version == "1.0" else []
    with Connection(port_of(live_url)) as client:
        client.send(get("/v1/deployments/dpl_failed", *fields, version=version, method=method))
        head = client.until(b"\r\n\r\n")
        while client.more():
            pass
    length = re.search(rb"Content-Length: ([0-9]+)", head)
    assert length
    assert int(length[1]) > 50
    assert head.count(b"Connection: ") == 1
    assert len(client.unread) == (int(length[1]) if expected is None else expected)


def test_delayed_requests_do_not_block_the_control_routes() -> None:
    asleep, woken = Semaphore(0), Event()

    def sleep(seconds: float) -> None:
        asleep.release()
        woken.wait(seconds)

    def sleepy_app(**options: Any) -> Any:
        stub_options = options.pop("stub_options")._replace(sleep=sleep)
        return create_app(**options, stub_options=stub_options)

    def during(url: str) -> None:
        with ExitStack() as stack:
            stack.callback(woken.set)
            fault = b'{"delay": 30, "times": 9}'
            assert call(url, "/_stub/faults", body=fault).status_code == 201
            for _ in range(8):
                client = stack.enter_context(Connection(port_of(url)))
                client.send(get("/v1/projects", *FIELDS))
            for _ in range(8):  # more than there are threads for /v1
                assert asleep.acquire(timeout=20)
            assert call(url, "/_stub/faults").json["faults"][0]["remaining"] == 1
            assert call(url, "/_stub/reset", body=b"{}").status_code == 204

    run("--threads", "2", "--grace", "0", during=during, create_app=sleepy_app)
