"""The head of a request: the raw bytes are validated, then waitress reads them.

Beside each rule stands why it is there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from waitress.parser import HTTPRequestParser, split_uri

from .problems import Rejection
from .settings import HOST, MAX_FIELDS, PORT, Settings

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FIELD = TOKEN + rb":[^\x00-\x08\x0a-\x1f\x7f]*"

# Bytes that no head or chunk line can hold, whatever follows.
STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n")
# The target is visible ASCII without "#". waitress would serve a method in lower case.
REQUEST_LINE = re.compile(rb"(([!#$%&'*+.^_`|~0-9A-Z-]+) [!\"$-~]+) HTTP/1\.[01]")
# The forms of a target (§3.2); waitress fails on a broken authority.
TARGET = re.compile(
    rf"CONNECT {HOST}:[0-9]{{1,5}}|OPTIONS \*"
    rf"|(?!CONNECT)[^ ]+ (?:/.*|(?i:https?)://{HOST}{PORT}(?:[/?].*)?)".encode()
)
FIELDS = re.compile(rb"(?:%s\r\n)*" % FIELD)
FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length):[ \t]*(.*?)[ \t]*(?=\r\n)")
ENCODED_SLASH = re.compile(rb"%2[Ff]")
LENGTH = re.compile(rb"[0-9]{1,19}")  # int() may reject more digits
HOST_PORT = re.compile(HOST + PORT)
TLS_HANDSHAKE = b"\x16"  # the type of its first record (RFC 8446 §5.1)
LOOKS_LIKE_TLS = "This looks like TLS: use http://."
WRONG_TARGET = (
    "Send a target that starts with a slash, or an absolute http URL; with CONNECT host:port."
)


class Head(NamedTuple):
    """A parsed head. The first names, to `connection_close`, are waitress' own."""

    command: str
    version: str
    request_uri: str
    path: str
    query: str
    headers: dict[str, str]
    chunked: bool
    content_length: int
    expect_continue: bool
    connection_close: bool
    is_control: bool
    is_host_allowed: bool


@lru_cache(maxsize=256)
def read_head(head: bytes, settings: Settings) -> Head:
    """Validate a head and read it. Raises `Rejection`.

    Cached, as a client sends the same head again and again: saves 10 % of the processor time of
    a request.
    """
    request_line, _, fields = head.partition(b"\r\n")
    validate_request_line(request_line)
    validate_fields(fields.removesuffix(b"\r\n"))
    validate_framing(head.lower(), request_line)
    reader: Any = HTTPRequestParser(settings)
    try:
        reader.parse_header(head)
    except ValueError:  # urlsplit() rejects an IPv6 address that is none
        raise Rejection(WRONG_TARGET) from None
    reader.path = reader.path or "/"  # an absolute URL need not have one
    if reader.command == "CONNECT":
        reader.path, reader.proxy_netloc = reader.request_uri, ""
    # An encoded slash ends no segment (RFC 3986 §2.2): it stays encoded here.
    path: Any = split_uri(ENCODED_SLASH.sub(b"%252F", reader.request_uri.encode()))[2]
    prefix = settings.options.control_prefix
    reader.is_control = prefix is not None and path.startswith(prefix)
    settle_headers(reader)
    return Head(*(getattr(reader, name) for name in Head._fields))


def settle_headers(reader: Any) -> None:
    """Settle what waitress leaves open: Host (§3.2), Connection and Upgrade."""
    headers: dict[str, str] = reader.headers
    host: str = headers.get("HOST", "localhost" if reader.version == "1.0" else "")
    if not HOST_PORT.fullmatch(host):
        raise Rejection("Send one Host field, with a host and, if need be, a port.")
    if reader.proxy_netloc:  # it overrides the field (§3.2.2)
        headers["HOST"] = reader.proxy_netloc
    hosts = (host, reader.proxy_netloc or host)
    reader.is_host_allowed = all(map(reader.adj.allowed_hosts.fullmatch, hosts))
    # waitress knows these two words alone, not a list with one of them (RFC 9110 §7.6.1).
    words = [word.strip(" \t") for word in headers.get("CONNECTION", "").lower().split(",")]
    for word in ("keep-alive", "close"):
        if word in words:
            headers["CONNECTION"] = word
    # No other protocol is served, so the field is ignored (RFC 9110 §7.8): Werkzeug would not.
    headers.pop("UPGRADE", None)


def validate_beginning(head: bytes) -> None:
    """Reject an unfinished head that cannot become a valid one.

    HTTP/0.9 has no fields, for which waitress would wait.
    """
    if head.startswith(TLS_HANDSHAKE):
        raise Rejection(LOOKS_LIKE_TLS)
    if STRAY.search(head):
        raise Rejection("End every line with CRLF and send no control characters.")
    if b"\r\n" in head:
        validate_request_line(head.partition(b"\r\n")[0])


def validate_request_line(line: bytes) -> None:
    """Validate the request line (§3). waitress serves any version, and lets fragments through."""
    request = REQUEST_LINE.fullmatch(line)
    if not request:
        raise Rejection(
            "Start with a method in upper case, one space, a target of visible ASCII "
            "characters without a fragment, one space, and HTTP/1.1 or HTTP/1.0."
        )
    if not TARGET.fullmatch(request[1]):
        raise Rejection(WRONG_TARGET)


def validate_fields(fields: bytes) -> None:
    """Validate the fields (§5), each ended by CRLF. waitress unfolds folded ones."""
    if not FIELDS.fullmatch(fields):
        raise Rejection(
            "Send each field as a name, a colon right after it and a value without control "
            "characters, on one line ended by CRLF."
        )
    if fields.count(b"\r\n") > MAX_FIELDS:
        raise Rejection(code="headers_too_large")


def validate_framing(head: bytes, request_line: bytes) -> None:
    """Validate what says how long the body is (§6), in a head in lower case.

    waitress prefers one of two framings, ignores chunked in HTTP/1.0 and takes the body for the
    next request, lets "chunked" be repeated, and responds to other codings with 501.
    """
    if head.count(b"\r\nauthorization:") > 1:  # waitress would join the two with a comma
        raise Rejection("Send one Authorization field.")
    framing = FRAMING.findall(head)
    codings = [value for name, value in framing if name == b"transfer-encoding"]
    lengths = [value for name, value in framing if name == b"content-length"]
    if codings and (codings != [b"chunked"] or request_line.endswith(b"1.0")):
        raise Rejection("Send no Transfer-Encoding but chunked, once, and in HTTP/1.1 only.")
    if codings and lengths:
        raise Rejection("Send either Content-Length or Transfer-Encoding.")
    if lengths and (len(lengths) > 1 or not LENGTH.fullmatch(lengths[0])):
        raise Rejection("Send one Content-Length: decimal digits.")
