"""A request, rejected as soon as it cannot become well-formed.

The raw bytes of its head are validated, then waitress reads them. Beside each rule stands why it is
there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import json
import re
from functools import lru_cache
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.rfc7230 import CHUNK_EXT, HEADER_FIELD_RE

from .settings import (
    HOST,
    MAX_BODY,
    MAX_CHUNK_LINE,
    MAX_CONTROL_BODY,
    MAX_FIELDS,
    MAX_HEAD,
    PORT,
    Settings,
)

# By code: status, title and detail, which repeats nothing that was sent.
PROBLEMS = {
    "malformed_request": (400, "Bad Request", "Send a well-formed HTTP/1.1 request."),
    "host_not_allowed": (
        400,
        "Bad Request",
        "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or start it with "
        "--trusted-host and the name.",
    ),
    "body_too_large": (413, "Request Entity Too Large", "Send a much smaller body."),
    "headers_too_large": (
        431,
        "Request Header Fields Too Large",
        f"Send at most {MAX_HEAD // 1024} KiB and {MAX_FIELDS} fields before the body.",
    ),
    "internal_error": (500, "Internal Server Error", "The stub failed: see its log on stderr."),
}

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Z-]+"  # (RFC 9110 §5.6.2), here in upper case
LOOKS_LIKE_TLS = "This looks like TLS: use http://."
WRONG_LINE = (
    "Start with a method in upper case, one space, a target of visible ASCII characters without a "
    "fragment, one space, and HTTP/1.1 or HTTP/1.0."
)
WRONG_FRAMING = (
    "Send one Content-Length of 1 to 19 decimal digits, or one Transfer-Encoding: chunked."
)

# Bytes that no line can hold.
STRAY = rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n"

# What makes a head malformed, whatever follows, and what to send instead. The pattern of a line
# includes its end.
RULES = [
    # The type of a handshake (RFC 8446 §5.1).
    (rb"\A\x16", LOOKS_LIKE_TLS),
    (STRAY, "End every line with CRLF and send no control characters."),
    # waitress serves any version, and waits for the fields of HTTP/0.9, which has none.
    (rf"\A(?!{TOKEN} [!\"$-~]+ HTTP/1\.[01]\r)[^\r]*\r\n".encode(), WRONG_LINE),
    # The forms of a target (§3.2), for a server that is no proxy.
    (
        rf"\A(?!OPTIONS \* )[^ ]+ (?!/|(?i:https?)://{HOST}{PORT}[/? ])[^\r]*\r\n".encode(),
        "Send a target that starts with a slash, or an absolute http URL.",
    ),
    # waitress would unfold a field of several lines.
    (
        rf"\r\n(?!(?i:{TOKEN}):)[^\r]+\r\n".encode(),
        "Send each field on one line: a name, a colon right after it, a value.",
    ),
    # waitress would join the two with a comma.
    (rb"(?is)(\r\nauthorization:.*){2}", "Send one Authorization field."),
    # What says how long the body is (§6). waitress prefers one of two such fields, responds to
    # other codings with 501, and takes a chunked body in HTTP/1.0 for the next request.
    (rb"(?is)(\r\n(content-length|transfer-encoding):.*){2}", WRONG_FRAMING),
    (rb"(?i)\r\ncontent-length:(?![ \t]*[0-9]{1,19}[ \t]*\r)[^\r]*\r\n", WRONG_FRAMING),
    (rb"(?i)\r\ntransfer-encoding:(?![ \t]*chunked[ \t]*\r)[^\r]*\r\n", WRONG_FRAMING),
    (rb"(?is)\A[^\r]* HTTP/1\.0\r\n.*\ntransfer-encoding:", WRONG_FRAMING),
]

CHUNK = re.compile(f"([0-9A-Fa-f]{{1,16}}){CHUNK_EXT}".encode("latin-1"))
WRONG_CHUNKS = "Send each chunk as its size in hexadecimal digits, CRLF, so many bytes, and CRLF."
FIELD: Any = HEADER_FIELD_RE  # whose declared type is wrong


class Rejection(Exception):
    """Raised while a request arrives: an error response, as all errors are (RFC 9457)."""

    def __init__(self, detail: str = "", code: str = "malformed_request") -> None:
        self.status, self.title, default = PROBLEMS[code]
        self.code = code
        self.detail = detail or default
        document = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": code,
        }
        self.body = json.dumps(document).encode()


def validate_head(head: bytes) -> None:
    """Raise `Rejection` for what has arrived of a head, if that is malformed."""
    for pattern, detail in RULES:
        if re.search(pattern, head):
            raise Rejection(detail)
    if head.count(b"\r\n") > 1 + MAX_FIELDS:
        raise Rejection(code="headers_too_large")


@lru_cache(maxsize=256)
def read_head(head: bytes, settings: Settings) -> dict[str, Any]:
    """Validate a head, up to the end of its last field, and have waitress read it.

    Returns the attributes of its parser. Raises `Rejection`. Cached, as a client sends the same
    head again and again: saves 15 % of the processor time of a request.
    """
    validate_head(head)
    reader: Any = HTTPRequestParser(settings)
    try:
        reader.parse_header(head)
    except ValueError:  # urlsplit() rejects an IPv6 address that is none
        raise Rejection from None
    reader.body_rcv = None  # each request has its own
    reader.path = reader.path or "/"  # an absolute URL need not have one
    prefix = settings.options.control_prefix
    reader.is_control = prefix is not None and reader.path.startswith(prefix)
    reader.max_body = MAX_CONTROL_BODY if reader.is_control else MAX_BODY
    headers: dict[str, str] = reader.headers
    host = headers.get("HOST", "localhost" if reader.version == "1.0" else "")
    if not re.fullmatch(HOST + PORT, host):  # (§3.2)
        raise Rejection("Send one Host field, with a host and, if need be, a port.")
    if reader.proxy_netloc:  # it overrides the field (§3.2.2)
        headers["HOST"] = reader.proxy_netloc
    hosts = (host, reader.proxy_netloc or host)
    reader.is_host_allowed = all(map(settings.allowed_hosts.fullmatch, hosts))
    if "close" in headers.get("CONNECTION", "").lower():  # waitress reads no list of options
        headers["CONNECTION"] = "close"
    # No other protocol is served, so the field is ignored (RFC 9110 §7.8): Werkzeug would not.
    headers.pop("UPGRADE", None)
    read: dict[str, Any] = vars(reader)
    return read


class ChunkedBody(ChunkedReceiver):
    """waitress' reader with all rules of RFC 9112 §7.1.

    waitress takes an empty size for the last chunk, trailers of any form, and lines without end.
    """

    def received(self, data: bytes) -> int:
        pending = len(self.control_line)
        data = self.control_line + data
        at = 0
        while at < len(data) and not self.completed:
            if self.chunk_remainder:
                piece = data[at : at + self.chunk_remainder]
                self.buf.append(piece)
                self.chunk_remainder -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\r\n", at)
            line = data[at:] if end < 0 else data[at:end]
            if len(line) > MAX_CHUNK_LINE or re.search(STRAY, line):
                raise Rejection(WRONG_CHUNKS)
            if end < 0:
                break
            self.read_line(line)
            at = end + 2
        used = at if self.completed else len(data)
        self.control_line = data[at:used]
        return used - pending

    def read_line(self, line: bytes) -> None:
        if self.validate_chunk_end:
            is_valid = not line
            self.validate_chunk_end = False
        elif self.all_chunks_received:  # a trailer field never becomes a header (§7.1.2)
            is_valid = not line or bool(FIELD.fullmatch(line))
            self.completed = not line
        else:
            chunk = CHUNK.fullmatch(line)
            is_valid = bool(chunk)
            self.chunk_remainder = int(chunk[1], 16) if chunk else 0
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = not self.validate_chunk_end
        if not is_valid:
            raise Rejection(WRONG_CHUNKS)


class Parser(HTTPRequestParser):
    adj: Settings
    headers: dict[str, str]
    error: Rejection | None  # type: ignore[assignment]
    command = request_uri = ""  # type: ignore[assignment]
    path: str
    max_body: int  # bytes on the wire
    is_control = False
    is_host_allowed: bool

    def __init__(self, adj: Settings) -> None:
        super().__init__(adj)
        self.arriving_since = adj.options.clock()

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        try:
            used = self.receive_head(data) if self.body_rcv is None else self.receive_body(data)
        except Rejection as problem:
            self.error = problem
            self.completed = True
            used = len(data)
        if self.completed:  # waitress might send 100 Continue for it, and wait for the body
            self.expect_continue = False
        return used

    def receive_head(self, data: bytes) -> int:
        # Empty lines before a request are ignored (RFC 9112 §2.2).
        head, end, body = (self.header_plus + data).lstrip(b"\r\n").partition(b"\r\n\r\n")
        if head.startswith(b"HEAD "):
            self.command = "HEAD"  # a rejection has no body, either
        if len(head) + len(end) > MAX_HEAD:
            raise Rejection(code="headers_too_large")
        if not end:
            validate_head(head)
            self.header_plus = head
            return len(data)
        vars(self).update(read_head(head + b"\r\n", self.adj))
        self.headers = self.headers.copy()  # requests with the same head share what was read
        if not self.is_host_allowed:
            raise Rejection(code="host_not_allowed")
        if self.content_length > self.max_body:
            raise Rejection(code="body_too_large")
        buffer = OverflowableBuffer(self.adj.inbuf_overflow)
        if self.chunked:
            self.body_rcv = ChunkedBody(buffer)
        elif self.content_length:
            self.body_rcv = FixedStreamReceiver(self.content_length, buffer)
        self.headers_finished = True
        self.completed = self.body_rcv is None
        return len(data) - len(body)

    def receive_body(self, data: bytes) -> int:
        used = super().received(data)
        if self.body_bytes_received > self.max_body:
            raise Rejection(code="body_too_large")
        return used

    @property
    def has_begun(self) -> bool:
        """Whether more than empty lines have arrived."""
        return bool(self.header_plus or self.headers_finished)

    @property
    def sent(self) -> tuple[str, str, str]:
        """The method, the target and the Host, as far as the head has arrived."""
        head = self.header_plus.decode("latin-1")
        line, end, _ = head.partition("\r\n")
        is_arriving = not (self.headers_finished or self.error)
        if end and is_arriving:
            method, target, _ = line.split(" ")
            return method, target, ""
        host = self.headers.get("HOST", "")
        return self.command, self.request_uri, host

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"
