"""A service that misbehaves is a sentence and status 2, or what could not be checked."""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from cli.verify.client import within_timeout
from tests.contract import CREATED
from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Request, Response, Service, Verified, Write, plain, verify
from tests.verify.differences import Difference, differs, on, on_listed, on_projects, put, read
from tests.wire import free_port

pytestmark = pytest.mark.process

MIB = 1 << 20
NO_404 = parts.unchecked(parts.UNKNOWN)


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
NO_CHUNK = framed(lambda r, x: head(r, Transfer_Encoding="chunked") + b"zz\r\n{}\r\n")
# Nothing can be said of these; what the sentence is about.
NOTHING_CHECKED = [
    ("no response is JSON (200)", Service(write=sends(PAGE))),
    ("JSON (302 to /login?from=***)",
     Service(on(status=302, headers={"Location": f"/login?from={TOKEN}"}, raw=b""))),
    ("503", Service(on(status=503))),
    ("rejects the token", Service(on(status=403))),
    ("cut off", Service(write=sends(b""))),
    ("no HTTP", Service(write=sends(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"))),
    ("cut off", Service(write=framed(short))),
    ("cut off", Service(write=NO_CHUNK)),
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
    assert_nothing_checked(verify(service, level="abuse"), reason)
    assert len(service.requests) <= 6  # each of three twice
    assert service.created == []


PARTLY = [
    read("429", NO_404, on("unknown", status=429)),
    read("cut off at one path", NO_404, write=at("unknown", write=framed(short))),
    read("over 4 MiB", parts.NO_LIST, on("list", raw=b"[]" + b" " * (4 * MIB))),
    read("3.9 MiB", parts.NOTHING, on("list", body=put(filling="x" * int(3.9 * MIB)))),
    read("deep JSON", parts.NO_LIST, on("list", raw=b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}")),
    read("headers twice", parts.NOTHING, write=framed(
        lambda r, x: head(r).replace(b"Cache-", b"Cache-Control: private\r\nCache-", 1) + x
    )),
    read("bytes in a header", parts.NOTHING, write=framed(
        lambda r, x: head(r, X="a").replace(b"X: a", b"X: \xff\xc3\x28\x1b[2J") + x
    )),
    # An id that no path can have is never asked for.
    read("no deployment", parts.NOTHING, on_listed(put(latest_deployment_id=""))),
    *(read(f"the id {name!r:.9}", differs(parts.LATEST), on_listed(put(latest_deployment_id=name)))
      for name in ("//other.example/x", "d\r\nX-Y: z")),
]  # fmt: skip


@pytest.mark.parametrize("partly", PARTLY, ids=lambda each: each.name)
def test_what_misbehaves_in_one_place_could_not_be_checked_there(partly: Difference) -> None:
    done = verify(partly.service)
    assert done.found == partly.findings, done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_nobody_listens() -> None:
    assert_nothing_checked(verify(f"http://127.0.0.1:{free_port()}", level="abuse"), "refused")


def test_the_name_has_no_address_or_none_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def resolve(*args: object, **more: object) -> None:
        is_over.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.1)
    done = verify("http://service.invalid")
    is_over.set()
    assert "warning: http sends the token without encryption\n" in done.stdout
    assert_nothing_checked(done, "timed out")
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 10.0)
    assert_nothing_checked(verify("http://service.invalid"), "Name or service not known")


def test_a_creation_that_is_cut_off_is_not_repeated_but_told() -> None:
    """The record may exist: whoever reads that has its name."""
    service = Service(write=at("created", write=framed(short)))
    done = verify(service, level="write")
    (post,) = [each for each in service.requests if each.status == CREATED]
    assert f'  perhaps  "{post.json["name"]}"\n' in done.stdout
    assert done.report["created"] == [{"id": None, "name": post.json["name"]}]


def test_after_three_timeouts_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.2)
    service = Service(write=drips)
    assert_nothing_checked(verify(service, level="abuse"), "nothing could be checked: timed out.")
    assert len(service.requests) == 3


@pytest.mark.parametrize("member", ["id", "name", "latest_deployment_id"])
def test_text_that_is_no_unicode_is_told_as_other_text(member: str) -> None:
    """JSON may have half of a character (RFC 8259 §8.2)."""
    half = framed(lambda response, data: head(response) + data.replace(b'"S"', b'"\\ud800"'))
    done = verify(Service(on_projects(put(**{member: "S"})), write=half), level="write")
    assert done.status in (0, 1)
    assert len(done.report["created"]) == 1


def test_a_mistake_in_the_thread_of_a_request_is_no_timeout() -> None:
    with pytest.raises(ZeroDivisionError):
        within_timeout(lambda: 1 / 0, otherwise=0.0)
