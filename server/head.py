"""The head of a request: the raw bytes are validated, then waitress reads them.

Beside each rule stands why it is there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import re
from functools import lru_cache
from typing import Any

from waitress.parser import HTTPRequestParser, split_uri
from waitress.rfc7230 import HEADER_FIELD_RE

from .problems import Rejection
from .settings import HOST, MAX_FIELDS, PORT, Settings

FIELD: Any = HEADER_FIELD_RE  # whose declared type is wrong
# Bytes that no head or chunk line can hold, whatever follows.
STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n")
# The target is visible ASCII without "#".
REQUEST_LINE = re.compile(rb"(([!#$%&'*+.^_`|~0-9A-Z-]+) [!\"$-~]+) HTTP/1\.[01]")
# The forms of a target (§3.2); waitress fails on a broken authority.
TARGET = re.compile(
    rf"CONNECT {HOST}:[0-9]{{1,5}}|OPTIONS \*"
    rf"|(?!CONNECT)[^ ]+ (?:/.*|(?i:https?)://{HOST}{PORT}(?:[/?].*)?)".encode()
)
FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length):[ \t]*(.*?)[ \t]*(?=\r\n)")
LENGTH = re.compile(rb"[0-9]{1,19}")  # int() may reject more digits
LOOKS_LIKE_TLS = "This looks like TLS: use http://."
WRONG_TARGET = (
    "Send a target that starts with a slash, or an absolute http URL; with CONNECT host:port."
)


# What a parser takes from its head.
READ = ("command", "request_uri", "version", "url_scheme", "path", "query", "headers", "chunked",
        "content_length", "expect_continue", "is_control", "is_host_allowed")  # fmt: skip


@lru_cache(maxsize=256)
def read_head(head: bytes, settings: Settings) -> dict[str, Any]:
    """Validate a head, up to the end of its last field, and have waitress read it.

    Returns what is in `READ`. Raises `Rejection`. Cached, as a client sends the same head again
    and again: saves 15 % of the processor time of a request.
    """
    validate_beginning(head)
    request_line, *fields, _ = head.split(b"\r\n")
    if not all(map(FIELD.fullmatch, fields)):  # waitress would unfold folded ones
        raise Rejection("Send each field on one line: a name, a colon right after it, a value.")
    if len(fields) > MAX_FIELDS:
        raise Rejection(code="headers_too_large")
    lower = head.lower()
    if lower.count(b"\r\nauthorization:") > 1:  # waitress would join the two with a comma
        raise Rejection("Send one Authorization field.")
    validate_framing(lower, request_line[-3:])
    reader: Any = HTTPRequestParser(settings)
    try:
        reader.parse_header(head)
    except ValueError:  # urlsplit() rejects an IPv6 address that is none
        raise Rejection(WRONG_TARGET) from None
    # An absolute URL need not have a path, and CONNECT has none.
    reader.path = reader.request_uri if reader.command == "CONNECT" else reader.path or "/"
    # An encoded slash ends no segment (RFC 3986 §2.2): it stays encoded here.
    target = re.sub(b"%2[Ff]", b"%252F", reader.request_uri.encode())
    path: Any = split_uri(target)[2]
    prefix = settings.options.control_prefix
    reader.is_control = prefix is not None and path.startswith(prefix)
    settle_headers(reader)
    return {name: getattr(reader, name) for name in READ}


def validate_beginning(head: bytes) -> None:
    """Reject a head that is or will be malformed, whatever follows.

    waitress serves any version, waits for the fields of HTTP/0.9, which has none, and lets
    fragments through.
    """
    if head.startswith(b"\x16"):  # the type of a handshake (RFC 8446 §5.1)
        raise Rejection(LOOKS_LIKE_TLS)
    if STRAY.search(head):
        raise Rejection("End every line with CRLF and send no control characters.")
    if b"\r\n" not in head:
        return
    request = REQUEST_LINE.fullmatch(head.partition(b"\r\n")[0])
    if not request:
        raise Rejection(
            "Start with a method in upper case, one space, a target of visible ASCII "
            "characters without a fragment, one space, and HTTP/1.1 or HTTP/1.0."
        )
    if not TARGET.fullmatch(request[1]):
        raise Rejection(WRONG_TARGET)


def validate_framing(head: bytes, version: bytes) -> None:
    """Validate what says how long the body is (§6), in a head in lower case.

    waitress prefers one of two framings, ignores chunked in HTTP/1.0 and takes the body for the
    next request, lets "chunked" be repeated, and responds to other codings with 501.
    """
    framing = FRAMING.findall(head)
    if len(framing) > 1:
        raise Rejection("Send one Content-Length or one Transfer-Encoding.")
    for name, value in framing:
        if name == b"content-length" and not LENGTH.fullmatch(value):
            raise Rejection("Send a Content-Length of decimal digits.")
        if name == b"transfer-encoding" and (value != b"chunked" or version == b"1.0"):
            raise Rejection("Send no Transfer-Encoding but chunked, and in HTTP/1.1 only.")


def settle_headers(reader: Any) -> None:
    """Settle what waitress leaves open: Host (§3.2), Connection and Upgrade."""
    headers: dict[str, str] = reader.headers
    host: str = headers.get("HOST", "localhost" if reader.version == "1.0" else "")
    if not re.fullmatch(HOST + PORT, host):
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
