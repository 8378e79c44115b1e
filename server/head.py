"""The head of a request: the raw bytes are validated, then waitress reads them.

Beside each rule stands why it is there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import re
from functools import lru_cache
from typing import Any

from waitress.parser import HTTPRequestParser

from .problems import Rejection
from .settings import HOST, MAX_BODY, MAX_CONTROL_BODY, MAX_FIELDS, PORT, Settings

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Z-]+"  # (RFC 9110 §5.6.2), here in upper case
LOOKS_LIKE_TLS = "This looks like TLS: use http://."
WRONG_LINE = (
    "Start with a method in upper case, one space, a target of visible ASCII characters without a "
    "fragment, one space, and HTTP/1.1 or HTTP/1.0."
)
WRONG_FRAMING = "Send one Content-Length of decimal digits, or one Transfer-Encoding: chunked."

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
        rf"\A[^ ]+ (?!/|(?i:https?)://{HOST}{PORT}[/? ])[^\r]*\r\n".encode(),
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
