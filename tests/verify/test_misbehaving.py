"""A service that misbehaves is a sentence and status 2, or what could not be checked."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.verify.changes import first, of_listed, of_projects, on, put
from tests.verify.parts import LATEST, NO_LIST, NOTHING, UNKNOWN, Difference, differs, read
from tests.verify.parts import unchecked as unchecked_parts
from tests.verify.service import TOKEN, Change, Request, Response, Service, Write, listening, plain
from tests.verify.verified import Verified, find, verify
from tests.wire import free_port

pytestmark = pytest.mark.process

MIB = 1 << 20
NO_404 = unchecked_parts(UNKNOWN)


def at(*cases: str, write: Write) -> Write:
    """Write so in these cases, and as usual in the others."""

    def written(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        (write if response.case in cases else plain)(handler, request, response)

    return written


def sends(data: bytes) -> Write:
    """Write these bytes, and close."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        handler.close_connection = True
        handler.wfile.write(data)

    return write


def head(response: Response, **headers: Any) -> bytes:
    """The status line and the headers of a response."""
    fields = {**response.headers, **{name.replace("_", "-"): headers[name] for name in headers}}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {response.status} X", *lines, "", ""]).encode()


def framed(make: Callable[[Response, bytes], bytes]) -> Write:
    """Write what `make` makes of the response and its body, and close."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        data = b"" if request.method == "HEAD" or response.status == 204 else response.data()
        sends(make(response, data))(handler, request, response)

    return write


def waits(first: Callable[[Response], bytes] = lambda _: b"", drip: bytes = b"") -> Write:
    """Write the first bytes, and then nothing, or a drip, until the end of the test."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        handler.close_connection = True
        handler.wfile.write(first(response))
        while not handler.server.stop.wait(0.1):  # type: ignore[attr-defined]
            handler.wfile.write(drip)

    return write


def endless(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
    """A body without an end; `request.status` is the number of MiB that the client took."""
    handler.close_connection = True
    handler.wfile.write(head(response, Connection="close"))
    request.status = 0
    while not handler.server.stop.is_set():  # type: ignore[attr-defined]
        handler.wfile.write(b" " * MIB)
        request.status += 1


def limited(times: int, retry_after: str | None, *cases: str) -> Change:
    """429 to the first requests of each kind."""
    return first(times, on(*cases, status=429, headers={"Retry-After": retry_after}))


def redirects(location: str | None) -> Change:
    return on(status=302, headers={"Location": location, "Content-Type": None}, raw=b"")


def chunked(response: Response, data: bytes) -> bytes:
    chunks = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in data)
    return head(response, Transfer_Encoding="chunked") + chunks + b"0\r\nX-T: 1\r\n\r\n"


def short(response: Response, data: bytes) -> bytes:
    return head(response, Content_Length=len(data) + 9) + data


PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<!doc"
# Nothing can be said of these; what the sentence is about.
NOTHING_CHECKED: dict[str, tuple[str, Callable[[], Service]]] = {
    "HTML": ("HTML", lambda: Service(write=sends(PAGE))),
    "an HTML 404": ("HTML", lambda: Service(write=sends(PAGE.replace(b"200", b"404")))),
    "HTML of JSON": ("alike", lambda: Service(
        write=sends(PAGE.replace(b"text/html", b"application/json"))
    )),
    "a redirect to one page": ("to /login)", lambda: Service(redirects("/login"))),
    "a redirect to itself": ("redirects", lambda: Service(redirects("/v1/projects"))),
    "a redirect without a place": ("redirects", lambda: Service(redirects(None))),
    "429 always": ("429", lambda: Service(limited(10**6, "0"))),
    "503 always": ("503", lambda: Service(on(status=503))),
    "another token": ("rejects the token", lambda: Service(token="another")),
    "403 always": ("rejects the token", lambda: Service(on(status=403))),
    "no byte": ("cut off", lambda: Service(write=sends(b""))),
    "no HTTP": ("no HTTP", lambda: Service(write=sends(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"))),
    "status 9999": ("no HTTP", lambda: Service(write=sends(b"HTTP/1.1 9999 Many\r\n\r\n"))),
    "a long header": ("no HTTP", lambda: Service(
        write=sends(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000 + b"\r\n\r\n")
    )),
    "cut off": ("cut off", lambda: Service(write=framed(short))),
    "no chunk": ("cut off", lambda: Service(
        write=framed(lambda r, data: head(r, Transfer_Encoding="chunked") + b"zz\r\n{}\r\n")
    )),
}  # fmt: skip


def assert_nothing_checked(done: Verified, reason: str = "") -> None:
    """Status 2, and a sentence of why."""
    assert done.status == 2, done
    assert reason in done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize("name", NOTHING_CHECKED)
def test_nothing_can_be_checked_and_nothing_is_created(name: str) -> None:
    reason, make = NOTHING_CHECKED[name]
    service = make()
    assert_nothing_checked(verify(service, level="abuse"), reason)
    assert {each.method for each in service.requests} <= {"GET", "HEAD", "OPTIONS"}


def zipped(response: Response, request: Request, number: int) -> None:
    if response.case == "list":
        response.headers["Content-Encoding"] = "gzip"
        response.raw = gzip.compress(json.dumps(response.body).encode())


PARTLY = [
    read("429 once", NOTHING, limited(1, "1", "unknown")),
    read("429 once, without Retry-After", NO_404, limited(1, None, "unknown")),
    *(
        read(f"429 with {value}", NO_404, limited(10**6, value, "unknown"))
        for value in ("11", "-5", "1.5", "Mon, 05 Jan 2026 09:00:00 GMT")
    ),
    read("no HTTP at one path", NO_404, write=at("unknown", write=sends(b"\0\1\2"))),
    read("cut off at one path", NO_404, write=at("unknown", write=framed(short))),
    read("switched", NO_404, on("unknown", status=101)),
    read("an endless list", NO_LIST, write=at("list", write=endless)),
    read("5 MiB", NO_LIST, on("list", body=put(filling="x" * 5 * MIB))),
    read("3.9 MiB", NOTHING, on("list", body=put(filling="x" * int(3.9 * MIB)))),
    read("deep JSON", NO_LIST, on("list", raw=b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}")),
    read("a number of many digits", NO_LIST, on("list", raw=b'{"total": ' + b"7" * 10**4 + b"}")),
    read("no UTF-8", NO_LIST, on("list", raw=b'{"projects": [], "x": "\xff"}')),
    # Not asked for: RFC 9110 §12.5.3 allows it none the less.
    read("compressed", NO_LIST, zipped),
    read("chunked", NOTHING, write=framed(chunked)),
    read("until the end of the connection", NOTHING, write=framed(lambda r, x: head(r) + x)),
    read("HTTP/1.0", NOTHING, write=framed(lambda r, x: head(r).replace(b"1.1", b"1.0", 1) + x)),
    read("100 first", NOTHING, write=framed(
        lambda r, x: b"HTTP/1.1 100 Wait\r\n\r\n" + head(r, Content_Length=len(x)) + x
    )),
    read("headers twice", NOTHING, write=framed(
        lambda r, x: head(r).replace(b"Cache-", b"Cache-Control: private\r\nCache-", 1) + x
    )),
    read("bytes in a header", NOTHING, write=framed(
        lambda r, x: head(r, X="a").replace(b"X: a", b"X: \xff\xc3\x28\x1b[2J") + x
    )),
    read("one deployment of several projects", NOTHING, of_listed(put(latest_deployment_id="d-1"))),
    # An id that no path can have is never asked for.
    *(
        read(f"the deployment {name!r}", NOTHING, of_listed(put(latest_deployment_id=name)))
        for name in ("", ".", "..")
    ),
    *(
        read(f"the id {name!r:.9}", differs(LATEST), of_listed(put(latest_deployment_id=name)))
        for name in ("//other.example/x", "d\r\nX-Y: z", "a\0b", "x" * 4000)
    ),
]  # fmt: skip


@pytest.mark.parametrize("difference", PARTLY, ids=lambda each: each.name)
def test_what_misbehaves_in_one_place_could_not_be_checked_there(difference: Difference) -> None:
    done = find(difference)
    assert "\x1b" not in done.stdout + done.stderr


def test_nobody_listens() -> None:
    assert_nothing_checked(verify(f"http://127.0.0.1:{free_port()}", level="abuse"), "refused")


def test_the_name_has_no_address_or_none_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*args: object, **more: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    is_over = threading.Event()

    def dally(*args: object, **more: object) -> None:
        is_over.wait(5)
        resolve()

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert_nothing_checked(verify("http://service.invalid"), "Name or service not known")
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", dally)
    done = verify("http://service.invalid")
    is_over.set()
    assert_nothing_checked(done)
    assert done.stdout.count("could not check: timeout\n") == 3


def test_a_redirect_is_not_followed() -> None:
    trap = Service()
    with listening(trap) as other:
        done = verify(Service(redirects(f"{other}/v1/projects")), level="abuse")
        assert_nothing_checked(done, f"to {other}/v1/projects")
        headers = {"Location": f"{other}/v1/projects", "Refresh": f"0; url={other}"}
        for case in ("created", "deployment", "unknown", "anonymous"):
            verify(Service(on(case, status=303, headers=headers, raw=b"")), level="abuse")
    assert trap.requests == []
    service = Service(on("unknown", status=302, headers={"Location": "/v1/secret"}, raw=b""))
    verify(service)
    assert "/v1/secret" not in {each.path for each in service.requests}


def test_a_redirect_is_not_polled() -> None:
    def later(response: Response, request: Request, number: int) -> None:
        if service.created and request.target == "/v1/projects" and request.method == "GET":
            on("list", status=308, headers={"Location": "/v1/projects/"})(response, request, number)

    service = Service(later)
    done = verify(service, "--wait", "60", level="write")
    (listed,) = [each for each in done.report["probes"] if each["name"] == "created is listed"]
    assert listed["requests"] == 1


def test_retry_after_is_obeyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.client.MAX_RETRY_AFTER", 1.0)  # so long, and no longer
    service = Service(limited(10**6, "1", "unknown"))
    verify(service)
    one, other = [each for each in service.requests if each.status == 429]
    assert other.at - one.until >= 1


def test_a_body_is_read_to_4_mib() -> None:
    service = Service(write=at("list", write=endless))
    verify(service)
    in_sockets = 60  # MiB that the system may hold; without a limit it is all that fits into 10 s
    assert max(each.status for each in service.requests[:1]) <= 4 + in_sockets


def test_a_creation_that_is_cut_off_is_not_repeated_but_told() -> None:
    """The record may exist: whoever reads that has its name."""
    service = Service(write=at("created", write=framed(short)))
    done = verify(service, level="write")
    (post,) = [each for each in service.requests if each.status == 201]
    assert f'  perhaps  "{post.json["name"]}"\n' in done.stdout
    assert done.report["created"] == [{"id": None, "name": post.json["name"]}]


@pytest.mark.parametrize(
    "write",
    [
        waits(),
        waits(lambda r: head(r, Content_Length=99)),
        waits(lambda r: b"HTTP/1.1 200 OK\r\nA: ", b"x"),
        waits(lambda r: head(r, Content_Length=9999), b" "),
    ],
    ids=["no response", "no body", "a dripping head", "a dripping body"],
)
def test_after_three_timeouts_nothing_more_is_asked(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.2)
    service = Service(write=write)
    done = verify(service, level="abuse")
    assert_nothing_checked(done, "not asked after 3 timeouts in a row")
    assert done.stdout.count("could not check: timeout\n") == 3
    assert len(service.requests) <= 3


def test_timeouts_that_are_not_in_a_row_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.2)  # for the other responses, too
    done = verify(Service(write=at("unknown", "method", "anonymous", write=waits())))
    assert "not asked after" not in done.stdout
    assert done.stdout.count("could not check: timeout\n") == 6


def test_polls_end_after_three_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.verify.client.TIMEOUT", 0.2)

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        is_slow = service.created and request.method == "GET"
        (waits() if is_slow else plain)(handler, request, response)

    service, started = Service(write=write), time.monotonic()
    done = verify(service, "--wait", "30", level="write")
    assert time.monotonic() - started < 25  # seconds, of the 30 for which it may poll
    requests = {each["name"]: each["requests"] for each in done.report["probes"]}
    assert requests["created is listed"] == 3
    assert requests["created deployment"] == requests["deployment"] == 0
    assert len(done.report["created"]) == 1


@pytest.mark.parametrize("member", ["id", "name", "latest_deployment_id"])
def test_text_that_is_no_unicode_is_told_as_other_text(member: str) -> None:
    """JSON may have half of a character (RFC 8259 §8.2)."""
    half = framed(lambda response, data: head(response) + data.replace(b'"S"', b'"\\ud800"'))
    done = verify(Service(of_projects(put(**{member: "S"})), write=half), level="write")
    assert done.status in (0, 1)
    assert len(done.report["created"]) == 1


def test_a_429_ends_the_polls() -> None:
    def limited_later(response: Response, request: Request, number: int) -> None:
        if service.created and request.method == "GET":
            on(status=429, headers={"Retry-After": "0"})(response, request, number)

    service = Service(limited_later)
    done = verify(service, "--wait", "60", level="write")
    requests = {each["name"]: each["requests"] for each in done.report["probes"]}
    assert requests["created is listed"] == requests["created deployment"] == 2


def test_a_deployment_that_changes_no_more_is_followed_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cli.verify.session.STILL", 0.0)
    done = verify(Service(ends=False), "--wait", "3", level="write")
    requests = {each["name"]: each["requests"] for each in done.report["probes"]}
    assert requests["created deployment"] == 1
