"""The head of a request: validated byte by byte, then read by waitress.

Beside each rule stands why it is there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import re
from functools import lru_cache
from typing import Any

from waitress.parser import HTTPRequestParser

from .problems import HeadersTooLarge, Problem
from .settings import HOST, MAX_FIELDS, PORT, Settings

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FIELD = TOKEN + rb":[^\x00-\x08\x0a-\x1f\x7f]*"

# Bytes that no head or chunk line can hold, whatever follows.
STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n")
# The target is visible ASCII without "#". waitress would serve a method in lower case.
REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Z-]+) ([!\"$-~]+) HTTP/(1\.[01])")
TARGET = re.compile(rf"/.*|https?://{HOST}{PORT}(?:[/?].*)?".encode(), re.IGNORECASE)
AUTHORITY_FORM = re.compile(rf"{HOST}:[0-9]{{1,5}}".encode())
FIELDS = re.compile(rb"(?:%s\r\n)*" % FIELD)
FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length):[ \t]*(.*?)[ \t]*(?=\r\n)")
LENGTH = re.compile(rb"[0-9]{1,19}")  # int() may reject more digits
HOST_PORT = re.compile(HOST + PORT)
WRONG_TARGET = "Send a target that starts with a slash, or an absolute http URL."


@lru_cache(maxsize=256)
def read_head(head: bytes, settings: Settings) -> dict[str, Any]:
    """The attributes that waitress' parser has after this head, but for the body.

    Cached, as a client sends the same head again and again: 0.9 of the time. Raises `Problem`.
    """
    request_line, _, fields = head.partition(b"\r\n")
    validate_request_line(request_line)
    validate_fields(fields.removesuffix(b"\r\n"))
    validate_framing(head.lower(), request_line)
    reader: Any = HTTPRequestParser(settings)
    try:
        reader.parse_header(head)
    except ValueError:  # urlsplit() rejects an IPv6 address that is none
        raise Problem(WRONG_TARGET) from None
    reader.body_rcv = None
    reader.path = reader.path or "/"  # an absolute URL need not have one
    target_host = reader.proxy_netloc
    if reader.command == "CONNECT":
        reader.path, target_host = reader.request_uri, ""
    reader.adj = settings.for_path(reader.path)
    headers: dict[str, str] = reader.headers
    hosts = validate_host(headers.get("HOST"), reader.version), target_host
    reader.is_host_allowed = all(map(settings.is_allowed, filter(None, hosts)))
    if target_host:
        headers["HOST"] = target_host  # it overrides the field (§3.2.2)
    # No other protocol is served, so the field is ignored (RFC 9110 §7.8): Werkzeug would not.
    headers.pop("UPGRADE", None)
    # waitress knows these two words alone, not a list with one of them (RFC 9110 §7.6.1).
    options = [each.strip(" \t") for each in headers.get("CONNECTION", "").lower().split(",")]
    for word in ("keep-alive", "close"):
        if word in options:
            headers["CONNECTION"] = word
    attributes: dict[str, Any] = vars(reader)
    return attributes


def validate_beginning(head: bytes) -> None:
    """Reject an unfinished head that cannot become a valid one.

    HTTP/0.9 has no fields, for which waitress would wait.
    """
    if STRAY.search(head):
        raise Problem("End every line with CRLF and send no control characters.")
    if b"\r\n" in head:
        validate_request_line(head.partition(b"\r\n")[0])


def validate_request_line(line: bytes) -> None:
    """Validate the request line (§3) and the form of its target (§3.2).

    waitress serves any version, and lets fragments through or fails on a broken authority.
    """
    request = REQUEST_LINE.fullmatch(line)
    if not request:
        raise Problem(
            "Start with a method in upper case, one space, a target of visible ASCII "
            "characters without a fragment, one space, and HTTP/1.1 or HTTP/1.0."
        )
    method, target, _ = request.groups()
    if method == b"CONNECT":
        if not AUTHORITY_FORM.fullmatch(target):
            raise Problem("CONNECT takes host:port as its target.")
    elif not TARGET.fullmatch(target) and (method, target) != (b"OPTIONS", b"*"):
        raise Problem(WRONG_TARGET)


def validate_fields(fields: bytes) -> None:
    """Validate the fields (§5), each ended by CRLF. waitress unfolds folded ones."""
    if not FIELDS.fullmatch(fields):
        raise Problem(
            "Send each field as a name, a colon right after it and a value without control "
            "characters, on one line ended by CRLF."
        )
    if fields.count(b"\r\n") > MAX_FIELDS:
        raise HeadersTooLarge


def validate_framing(head: bytes, request_line: bytes) -> None:
    """Validate what says how long the body is (§6), in a head in lower case.

    waitress prefers one of two framings, ignores chunked in HTTP/1.0 and takes the body for the
    next request, lets "chunked" be repeated, and responds to other codings with 501.
    """
    if head.count(b"\r\nauthorization:") > 1:  # waitress would join the two with a comma
        raise Problem("Send one Authorization field.")
    framing = FRAMING.findall(head)
    if not framing:
        return
    names = [name for name, _ in framing]
    codings = [value for name, value in framing if name == b"transfer-encoding"]
    if codings and (codings != [b"chunked"] or request_line.endswith(b"1.0")):
        raise Problem("Send no Transfer-Encoding but chunked, once, and in HTTP/1.1 only.")
    if codings and b"content-length" in names:
        raise Problem("Send either Content-Length or Transfer-Encoding.")
    if not codings and (len(framing) > 1 or not LENGTH.fullmatch(framing[0][1])):
        raise Problem("Send one Content-Length: decimal digits.")


def validate_host(host: str | None, version: str) -> str | None:
    """Validate the Host field (§3.2), and return it. waitress takes none, two, or any."""
    if host is None and version == "1.1":
        raise Problem("Send a Host field.")
    if host is not None and not HOST_PORT.fullmatch(host):
        raise Problem("Send a Host field with a host and, if need be, a port.")
    return host
