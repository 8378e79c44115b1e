"""A request, read strictly and rejected as soon as it cannot become well-formed.

waitress reads the head (`parse_header`) once the raw bytes are found valid. Beside each rule stands
why it is there; a bare § is one of RFC 9112, HTTP/1.1.
"""

import re

from waitress.parser import HTTPRequestParser
from waitress.utilities import Error

from .chunked import FIELD, STRAY, ChunkedBody
from .problems import HeadersTooLarge, HostNotAllowed, Problem, problem_of
from .settings import HOST, MAX_FIELDS, PORT, Settings

EMPTY_LINES = re.compile(rb"(?:\r\n)*")
# The target is visible ASCII without "#". waitress would serve a method in lower case.
REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Z-]+) ([!\"$-~]+) HTTP/(1\.[01])")
TARGET = re.compile(rf"/.*|https?://{HOST}{PORT}(?:[/?].*)?".encode(), re.IGNORECASE)
AUTHORITY_FORM = re.compile(rf"{HOST}:[0-9]{{1,5}}".encode())
FIELDS = re.compile(rb"(?:%s\r\n)*" % FIELD)
FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length):[ \t]*(.*?)[ \t]*(?=\r\n)")
LENGTH = re.compile(rb"[0-9]{1,19}")  # int() may reject more digits
HOST_PORT = re.compile(HOST + PORT)
WRONG_TARGET = "Send a target that starts with a slash, or an absolute http URL."


class Parser(HTTPRequestParser):
    """One request."""

    adj: Settings
    headers: dict[str, str]
    error: Problem | Error | None  # type: ignore[assignment]
    command = path = query = proxy_netloc = ""  # type: ignore[assignment]

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        try:
            used = self.receive_head(data) if self.body_rcv is None else super().received(data)
        except Problem as problem:
            self.error = problem
            self.completed = True
            used = len(data)
        if isinstance(self.error, Error):
            self.error = problem_of(self.error)
        if self.completed:
            # waitress would send 100 Continue for a rejected request, and for one without a body.
            self.expect_continue = False
        return used

    def receive_head(self, data: bytes) -> int:
        pending = len(self.header_plus)
        head = self.header_plus + data
        # Empty lines before a request are ignored (§2.2). waitress would take two for a request,
        # and so give a client that trickles them a new deadline each time.
        blank = EMPTY_LINES.match(head).end()  # type: ignore[union-attr]
        head = head[blank:]
        self.header_plus, self.header_bytes_received = b"", 0
        try:
            # waitress strips white space before the request line.
            if b"\r\n\r\n" not in head or head[:1].isspace():
                validate_beginning(head)
            used = super().received(head)
        finally:
            if head.startswith(b"HEAD "):
                self.command = "HEAD"  # a rejection of HEAD has no body, either
        return used + blank - pending

    def parse_header(self, header_plus: bytes) -> None:
        """Validate the raw head, let waitress read it, and settle what waitress leaves open."""
        request_line, _, rest = header_plus.partition(b"\r\n")
        fields = rest.removesuffix(b"\r\n")
        validate_request_line(request_line)
        validate_fields(fields)
        validate_framing(header_plus.lower(), request_line)
        try:
            super().parse_header(header_plus)
        except ValueError:  # urlsplit() rejects an IPv6 address that is none
            raise Problem(WRONG_TARGET) from None
        self.path = self.path or "/"  # an absolute URL need not have one
        if self.command == "CONNECT":
            self.path = self.request_uri  # type: ignore[attr-defined]
        self.adj = self.adj.for_path(self.path)
        if self.chunked:
            limit = self.adj.max_request_body_size - 1
            self.body_rcv = ChunkedBody(self.body_rcv.getbuf(), limit)  # type: ignore[union-attr]
        # waitress knows these two words alone, not a list with one of them (RFC 9110 §7.6.1).
        options = {
            each.strip(" \t") for each in self.headers.get("CONNECTION", "").lower().split(",")
        }
        for word in ("keep-alive", "close"):
            if word in options:
                self.headers["CONNECTION"] = word
        # No other protocol is served, so the field is ignored (RFC 9110 §7.8): Werkzeug would not.
        self.headers.pop("UPGRADE", None)
        self.validate_host()

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"

    def validate_host(self) -> None:
        """Validate the host that the request is for (§3.2). waitress takes none, two, or any."""
        host = self.headers.get("HOST")
        if host is None and self.version == "1.1":
            raise Problem("Send a Host field.")
        if host is not None and not HOST_PORT.fullmatch(host):
            raise Problem("Send a Host field with a host and, if need be, a port.")
        target_host = self.proxy_netloc if self.command != "CONNECT" else ""
        if allowed := self.adj.allowed_hosts:
            for name in (host, target_host):
                if name and not allowed.fullmatch(name):
                    raise HostNotAllowed
        if target_host:
            self.headers["HOST"] = target_host  # it overrides the field (§3.2.2)


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
