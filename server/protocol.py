"""Requests that are rejected before the app, and how: strict heads, and errors in JSON.

Beside each rule stands why it is there. A bare § is one of RFC 9112, HTTP/1.1.
"""

import json
import re
from typing import Any

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask

from .addresses import HOST, PORT
from .options import RejectedRequest

MAX_HEAD = 16 * 1024  # bytes of a request line and its fields
MAX_BODY = 64 * 1024 * 1024  # bytes on the wire: a seed

# By status: code and detail, which repeats nothing that was sent.
MALFORMED = "malformed_request"
PROBLEMS = {
    400: (MALFORMED, "Send a well-formed HTTP/1.1 request; each line of its head ends with CRLF."),
    413: ("body_too_large", "Send a much smaller body."),
    431: ("headers_too_large", f"Send at most {MAX_HEAD // 1024} KiB before the body."),
    500: ("internal_error", "The stub failed: see its log on stderr."),
}
HOST_NOT_ALLOWED = (
    "host_not_allowed",
    "Call a server that listens on loopback by localhost, 127.0.0.1 or [::1], or start it with "
    "--trusted-host and the name.",
)

TOKEN = r"[!#$%&'*+.^_`|~0-9A-Z-]+"  # (RFC 9110 §5.6.2), here in upper case
HANDSHAKE = b"\x16"  # what TLS begins with (RFC 8446 §5.1)
WRONG_LINE = (
    "Start with a method in upper case, one space, a target of visible ASCII characters without a "
    "fragment, one space, and HTTP/1.1 or HTTP/1.0."
)
WRONG_FRAMING = (
    "Send one Content-Length of 1 to 19 decimal digits, or one Transfer-Encoding: chunked."
)
WRONG_HOST = "Send one Host field, with a host and, if need be, a port."

LENGTH = r"\r\n(?:content-length|transfer-encoding):"

# What makes a head malformed, and what to send instead. The pattern of a line includes its end. The
# rest, such as a bare LF, waitress rejects itself.
RULES = [
    (rb"\A\x16", "This looks like TLS: use http://."),
    # waitress serves any version, and drops a bare CR behind it.
    (rf"\A(?!{TOKEN} [!\"$-~]+ HTTP/1\.[01]\r\n)".encode(), WRONG_LINE),
    # The forms of a target (§3.2), for a server that is no proxy.
    (
        rf"\A(?!OPTIONS \* )[^ ]+ (?!/|(?i:https?)://{HOST}{PORT}[/? ])[^\r]*\r\n".encode(),
        "Send a target that starts with a slash, or an absolute http URL.",
    ),
    # waitress would unfold a field of several lines (§5.2).
    (
        rf"\r\n(?!(?i:{TOKEN}):)[^\r]+\r\n".encode(),
        "Send each field on one line: a name, a colon right after it, a value.",
    ),
    # waitress would join the two with a comma.
    (rb"(?is)\r\nauthorization:.*\r\nauthorization:", "Send one Authorization field."),
    # What says how long the body is (§6). waitress prefers one of two such fields, responds to
    # other codings with 501, and takes a chunked body in HTTP/1.0 for the next request.
    (rf"(?is){LENGTH}.*{LENGTH}".encode(), WRONG_FRAMING),
    (rb"(?i)\r\ncontent-length:(?![ \t]*[0-9]{1,19}[ \t]*\r)[^\r]*\r\n", WRONG_FRAMING),
    (rb"(?i)\r\ntransfer-encoding:(?![ \t]*chunked[ \t]*\r)[^\r]*\r\n", WRONG_FRAMING),
    (rb"(?is)\A[^\r]* HTTP/1\.0\r\n.*\ntransfer-encoding:", WRONG_FRAMING),
]
ORIGIN = re.compile(rb"(?i)\r\norigin:[ \t]*([^\r\n]*[^\r\n \t])")
WELL_FORMED_HOST = re.compile(HOST + PORT)
COMPILED = [(re.compile(pattern), detail) for pattern, detail in RULES]


class Parser(HTTPRequestParser):
    hosts_served: re.Pattern[str]

    headers: dict[str, str]
    command = request_uri = ""  # type: ignore[assignment]
    path: str
    proxy_scheme: str  # these two are empty but for an absolute target
    proxy_netloc: str
    head = b""  # as far as it has arrived
    is_head = False  # whether the response has no body; known for a malformed request, too
    problem: tuple[str, str] | None = None  # code and detail, if they are not those of the status

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        if self.body_rcv is None:
            self.head = (self.header_plus + data).lstrip()
            self.is_head = self.head.startswith(b"HEAD ")
            if self.head.startswith(
                HANDSHAKE
            ):  # waitress would wait for its end, which never comes
                data = HANDSHAKE + b"\r\n\r\n"
        used = super().received(data)
        if self.completed:  # waitress might send 100 Continue, and wait for a body
            self.expect_continue = False
        return used

    def parse_header(self, header_plus: bytes) -> None:
        """Read a head; ParsingError, which becomes 400, if another server could read another."""
        for pattern, detail in COMPILED:
            if pattern.search(header_plus):
                self.reject(MALFORMED, detail)
        try:
            super().parse_header(header_plus)
        except ValueError:  # urlsplit() rejects an IPv6 address that is none
            self.reject(*PROBLEMS[400])
        self.validate_host()
        if not self.path:  # of http://localhost
            self.path = "/"
            end = len(self.proxy_scheme) + len("://") + len(self.proxy_netloc)
            self.request_uri = f"{self.request_uri[:end]}/{self.request_uri[end:]}"

    def validate_host(self) -> None:
        """Reject a Host that is none (§3.2), or is not served."""
        host = self.headers.get("HOST", "localhost" if self.version == "1.0" else "")
        if not WELL_FORMED_HOST.fullmatch(host):
            self.reject(MALFORMED, WRONG_HOST)
        if self.proxy_netloc:  # it overrides the field (§3.2.2)
            self.headers["HOST"] = self.proxy_netloc
        for each in (host, self.proxy_netloc or host):
            if not self.hosts_served.fullmatch(each):
                self.reject(*HOST_NOT_ALLOWED)

    def close_connection(self) -> None:
        """End the connection after this request: waitress' tasks look for this word."""
        self.headers["CONNECTION"] = "close"

    def reject(self, code: str, detail: str) -> None:
        self.problem = (code, detail)
        raise ParsingError(code)


def origin_in(head: bytes) -> str | None:
    """The field Origin of a head, of which the rest may be malformed."""
    found = ORIGIN.search(head)
    return found[1].decode("latin-1") if found else None


class RejectionTask(ErrorTask):
    channel: Any
    request: Parser  # type: ignore[assignment]

    def execute(self) -> None:
        """Respond as the app does to an error. waitress sends text/plain, perhaps as HTTP/1.0."""
        sent: Parser = self.channel.requests[0]  # for a 500 waitress makes another request
        error: Any = self.request.error
        code, detail = PROBLEMS[error.code]
        if error.code == 400 and sent.problem:
            code, detail = sent.problem
        line = (sent.command, sent.request_uri, sent.headers.get("HOST", ""))
        if error.code == 431:  # waitress has read another head in its place
            line = ("", "", "")
        options = self.channel.owner.options
        options.on_rejected(RejectedRequest(*line, error.code, code, detail))
        document = {
            "type": "about:blank",
            "title": error.reason,
            "status": error.code,
            "detail": detail,
            "code": code,
        }
        body = json.dumps(document).encode()
        self.version = "1.1"
        self.status = f"{error.code} {error.reason}"
        self.response_headers = [
            ("Cache-Control", "no-store"),
            ("Content-Type", "application/problem+json"),
            *options.headers_for(origin_in(sent.head)).items(),
        ]
        self.request.close_connection()
        self.content_length = len(body)
        self.write(b"" if sent.is_head else body)
