"""Services that misbehave: what they write is not what HTTP or the interface expects.

`NOTHING_CHECKED` are those of which nothing can be said: a sentence, and status 2. The others
misbehave in one place: `PARTLY` says what follows, in the form of tests/verify/parts.py.
"""

import gzip
import json
import socket
import struct
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.verify.changes import on, put
from tests.verify.differences import NO_LIST
from tests.verify.error_differences import PAGE
from tests.verify.parts import LATEST, NOTHING, UNKNOWN, Difference, Finding, differs, unchecked
from tests.verify.parts import difference as d
from tests.verify.service import Change, Request, Response, Service, Write, plain

MIB = 1 << 20


def at(*cases: str, write: Write) -> Write:
    """Write so in these cases, and as usual in the others."""

    def written(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        chosen = not cases or response.case in cases
        (write if chosen else plain)(handler, request, response)

    return written


def sends(*pieces: bytes) -> Write:
    """Write these bytes, and close."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        handler.close_connection = True
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()

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
    """Write the first bytes, and then nothing, or a drip five times a second, until the end."""

    def write(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
        handler.close_connection = True
        handler.wfile.write(first(response))
        while not handler.server.stop.wait(0.2):  # type: ignore[attr-defined]
            handler.wfile.write(drip)

    return write


def reset(handler: BaseHTTPRequestHandler, request: Request, response: Response) -> None:
    """Half of a response, and a reset."""
    handler.wfile.write(head(response, Content_Length=len(response.data())))
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


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

    def change(response: Response, request: Request, number: int) -> None:
        if number < times and (not cases or response.case in cases):
            on(status=429, headers={"Retry-After": retry_after})(response, request, number)

    return change


def in_two_seconds(has_zone: bool) -> Change:
    """429 once, until a time."""

    def change(response: Response, request: Request, number: int) -> None:
        date = formatdate(time.time() + 2, usegmt=has_zone)
        limited(1, date.removesuffix(" -0000"), "unknown")(response, request, number)

    return change


def redirects(location: str) -> Change:
    return on(status=302, headers={"Location": location, "Content-Type": None}, raw=b"")


def one_deployment(name: object) -> Change:
    """Each listed project has this deployment."""
    edit = put(latest_deployment_id=name)
    return on("list", body=put(projects=lambda each: [edit(one) for one in each]))


def chunked(response: Response, data: bytes, trailer: bytes = b"X-T: 1\r\n") -> bytes:
    chunks = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in data)
    return head(response, Transfer_Encoding="chunked") + chunks + b"0\r\n" + trailer + b"\r\n"


def after(status: int) -> Callable[[Response, bytes], bytes]:
    """Two informational responses before the response."""
    first = f"HTTP/1.1 {status} Wait\r\nLink: </a>\r\n\r\n".encode() * 2
    return lambda response, data: first + head(response, Content_Length=len(data)) + data


HTML = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE
)
NOTHING_CHECKED: dict[str, Callable[[], Service]] = {
    "HTML": lambda: Service(write=sends(HTML)),
    "an HTML 404": lambda: Service(write=sends(HTML.replace(b"200 OK", b"404 Not Found"))),
    "HTML, said to be JSON": lambda: Service(
        write=sends(HTML.replace(b"text/html", b"application/json"))
    ),
    "a redirect to itself": lambda: Service(redirects("/v1/projects")),
    "a redirect without a place": lambda: Service(on(status=301, raw=b"")),
    "429 always": lambda: Service(limited(10**6, "0")),
    "429 for an hour": lambda: Service(limited(10**6, "3600")),
    "429 without Retry-After": lambda: Service(limited(10**6, None)),
    "503 always": lambda: Service(on(status=503, headers={"Retry-After": "120"})),
    "500 always": lambda: Service(on(status=500)),
    "another token": lambda: Service(token="another"),
    "403 always": lambda: Service(on(status=403)),
    "no byte": lambda: Service(write=sends()),
    "no HTTP": lambda: Service(write=sends(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")),
    "binary": lambda: Service(write=sends(bytes(range(256)) * 40)),
    "one long line": lambda: Service(write=sends(b"x" * 200_000)),
    "status 9999": lambda: Service(write=sends(b"HTTP/1.1 9999 Many\r\n\r\n")),
    "a long header": lambda: Service(
        write=sends(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000 + b"\r\n\r\n")
    ),
    "many headers": lambda: Service(
        write=sends(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5000 + b"\r\n")
    ),
    "cut off": lambda: Service(
        write=framed(lambda r, data: head(r, Content_Length=len(data) + 9) + data)
    ),
    "cut off in a chunk": lambda: Service(
        write=framed(lambda r, data: head(r, Transfer_Encoding="chunked") + b"fff\r\n{")
    ),
    "no chunk": lambda: Service(
        write=framed(lambda r, data: head(r, Transfer_Encoding="chunked") + b"zz\r\n{}\r\n")
    ),
    "cut off in the first line": lambda: Service(write=framed(lambda r, data: head(r)[:10])),
    "reset": lambda: Service(write=reset),
    "1xx without end": lambda: Service(write=sends(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)),
}
# Each request of these takes as long as the time limit.
SLOW: dict[str, Callable[[], Service]] = {
    "no response": lambda: Service(write=waits()),
    "no body": lambda: Service(write=waits(lambda r: head(r, Content_Length=99))),
    "a dripping head": lambda: Service(write=waits(lambda r: b"HTTP/1.1 200 OK\r\nA: ", b"x")),
    "a dripping body": lambda: Service(write=waits(lambda r: head(r, Content_Length=9999), b" ")),
    "dripping chunks": lambda: Service(
        write=waits(lambda r: head(r, Transfer_Encoding="chunked"), b"1\r\n \r\n")
    ),
    "dripping 1xx": lambda: Service(write=waits(drip=b"HTTP/1.1 100 Continue\r\n\r\n")),
}
DEEP = b'{"projects": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
DIGITS = b'{"projects": [], "total": ' + b"7" * 10_000 + b"}"
ZIPPED = {"Content-Encoding": "gzip"}


def zipped(response: Response, request: Request, number: int) -> None:
    if response.case == "list":
        response.headers.update(ZIPPED)
        response.raw = gzip.compress(json.dumps(response.body).encode())


def utf_16(response: Response, request: Request, number: int) -> None:
    if response.case == "list":
        response.raw = json.dumps(response.body).encode("utf-16")


def d_(name: str, findings: frozenset[Finding], *changes: Change, **more: Any) -> Difference:
    return d(name, "read", findings, *changes, **more)


PARTLY = [
    d_("429 once", NOTHING, limited(1, "1", "list")),
    d_("429 once, at once", NOTHING, limited(1, "0", "unknown")),
    d_("429 until a time", NOTHING, in_two_seconds(has_zone=True)),
    d_("429 until a time without a zone", NOTHING, in_two_seconds(has_zone=False)),
    d_("429 once, without Retry-After", unchecked(UNKNOWN), limited(1, None, "unknown")),
    *(
        d_(f"429 with {value}", unchecked(UNKNOWN), limited(10**6, value, "unknown"))
        for value in ("11", "-5", "1.5", "Mon, 99 Foo 2026 25:61:00 GMT")
    ),
    d_(
        "a date long ago",
        unchecked(UNKNOWN),
        limited(10**6, "Thu, 01 Jan 1970 00:00:00 GMT", "unknown"),
    ),
    d_("no HTTP at one path", unchecked(UNKNOWN), write=at("unknown", write=sends(b"\0\1\2"))),
    d_("reset at one path", unchecked(UNKNOWN), write=at("unknown", write=reset)),
    d_(
        "cut off at one path",
        unchecked(UNKNOWN),
        write=at(
            "unknown", write=framed(lambda r, data: head(r, Content_Length=len(data) + 1) + data)
        ),
    ),
    d_("5 MiB", NO_LIST, on("list", body=put(filling="x" * 5 * MIB))),
    d_("an endless list", NO_LIST, write=at("list", write=endless)),
    d_("an endless 404", unchecked(UNKNOWN), write=at("unknown", write=endless)),
    d_("3.9 MiB", NOTHING, on("list", body=put(filling="x" * int(3.9 * MIB)))),
    d_("deep JSON", NO_LIST, on("list", raw=DEEP)),
    d_("a number of many digits", NO_LIST, on("list", raw=DIGITS)),
    d_("no UTF-8", NO_LIST, on("list", raw=b'{"projects": [], "x": "\xff"}')),
    d_("UTF-16", NO_LIST, utf_16),
    # Not asked for: RFC 9110 §12.5.3 allows it none the less.
    d_("compressed", NO_LIST, zipped),
    d_("said to be compressed", NOTHING, on("list", headers=ZIPPED)),
    d_("chunked", NOTHING, write=framed(chunked)),
    d_("until the end of the connection", NOTHING, write=framed(lambda r, data: head(r) + data)),
    d_(
        "HTTP/1.0", NOTHING, write=framed(lambda r, data: head(r).replace(b"1.1", b"1.0", 1) + data)
    ),
    d_(
        "closed after each response",
        NOTHING,
        write=framed(lambda r, data: head(r, Content_Length=len(data)) + data),
    ),
    d_("100 first", NOTHING, write=framed(after(100))),
    d_("102 first", NOTHING, write=framed(after(102))),
    d_("103 first", NOTHING, write=framed(after(103))),
    d_(
        "headers twice",
        NOTHING,
        write=framed(
            lambda r, data: (
                head(r, Content_Length=len(data)).replace(
                    b"\r\nCache-Control:", b"\r\nCache-Control: private\r\nCache-Control:"
                )
                + data
            )
        ),
    ),
    d_(
        "bytes in a header",
        NOTHING,
        write=framed(
            lambda r, data: (
                head(r, X="a", Content_Length=len(data)).replace(b"X: a", b"X: \xff\xc3\x28\x1b[2J")
                + data
            )
        ),
    ),
    d_("one deployment of several projects", NOTHING, one_deployment("d-1")),
    # An id that no path can have is never asked for.
    *(d_(f"the deployment {name!r}", NOTHING, one_deployment(name)) for name in ("", ".", "..")),
    *(
        d_(f"the deployment {name!r:.20}", differs(LATEST), one_deployment(name))
        for name in (
            "../../admin",
            "//other.example/x",
            "d\r\nX-Y: z",
            "a\0b",
            "\x1b[2J",
            "x" * 4000,
        )
    ),
    d_(
        "a lone surrogate",
        NOTHING,
        one_deployment("S"),
        on("list", raw=None),
        write=at(
            "list", write=framed(lambda r, data: head(r) + data.replace(b'"S"', b'"\\ud800"'))
        ),
    ),
    d_(
        "the project of a lone surrogate",
        NOTHING,
        write=at(
            "list",
            write=framed(lambda r, data: head(r) + data.replace(b'"sample-0"', b'"\\udfff"')),
        ),
    ),
]
