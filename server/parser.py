"""A request, rejected as soon as it cannot become well-formed. A bare § is one of RFC 9112."""

import re

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.utilities import Error

from .head import FIELD, STRAY, TOKEN, read_head, validate_beginning
from .problems import Rejection
from .settings import MAX_CHUNK_LINE, MAX_HEAD, Settings

EMPTY_LINES = re.compile(rb"(?:\r\n)*")
QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;%b(?:=(?:%b|%b))?)*" % (TOKEN, TOKEN, QUOTED))
TRAILER = re.compile(FIELD)
CODES = {413: "body_too_large", 431: "headers_too_large"}


class ChunkedBody(ChunkedReceiver):
    """waitress' reader (§7.1) with the rules that it lacks, each of which has a comment."""

    def __init__(self, buffer: OverflowableBuffer, limit: int) -> None:
        super().__init__(buffer)
        self.limit = limit  # bytes

    def received(self, data: bytes) -> int:
        pending = len(self.control_line)
        data = self.control_line + data
        self.control_line = b""
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
            if self.validate_chunk_end and line != (b"\r" if end < 0 else b""):
                raise Rejection(
                    "End each chunk's data with CRLF, where its size says that it ends."
                )
            if len(line) > MAX_CHUNK_LINE:  # a line without an end would be searched each time
                raise Rejection("Keep chunk extensions and trailer fields short.")
            if end >= 0:
                self.read_line(line)
                at = end + 2
            elif STRAY.search(line):  # a bare LF ends no line (§2.2)
                raise Rejection("End every line of a chunked body with CRLF.")
            else:
                self.control_line = line
                at = len(data)
        return at - pending

    def read_line(self, line: bytes) -> None:
        if self.validate_chunk_end:
            self.validate_chunk_end = False
        elif self.all_chunks_received:
            # A trailer field is validated and dropped: it never becomes a header (§7.1.2).
            self.completed = not line
            if line and not TRAILER.fullmatch(line):
                raise Rejection("Send well-formed trailer fields, or none.")
        elif chunk := CHUNK.fullmatch(line):  # no empty line, no extension without a name (§7.1.1)
            self.chunk_remainder = int(chunk[1], 16)
            if self.chunk_remainder >= self.limit:  # before the bytes arrive
                raise Rejection(code="body_too_large")
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = self.chunk_remainder == 0
        else:
            raise Rejection("Give each chunk's size as hexadecimal digits alone.")


class Parser(HTTPRequestParser):
    """One request."""

    adj: Settings
    headers: dict[str, str]
    error: Rejection | Error | None  # type: ignore[assignment]
    is_host_allowed: bool
    is_control = False
    command = path = request_uri = ""  # type: ignore[assignment]
    url_scheme = "http"

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        try:
            used = self.receive_head(data) if self.body_rcv is None else super().received(data)
        except Rejection as problem:
            self.error = problem
            self.completed = True
            used = len(data)
        if isinstance(self.error, Error):  # one that waitress found
            self.error = Rejection(code=CODES.get(self.error.code, "malformed_request"))
            if self.error.code == "headers_too_large":
                self.request_uri = ""  # waitress has put one of its own there
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
            is_unfinished = b"\r\n\r\n" not in head and len(head) <= MAX_HEAD
            if is_unfinished or head[:1].isspace():  # which waitress would strip
                validate_beginning(head)
            used = super().received(head)
        finally:
            if head.startswith(b"HEAD "):
                self.command = "HEAD"  # a rejection of HEAD has no body, either
        return used + blank - pending

    def parse_header(self, header_plus: bytes) -> None:
        vars(self).update(read_head(header_plus, self.adj)._asdict())
        self.headers = self.headers.copy()
        if not self.is_host_allowed:
            raise Rejection(code="host_not_allowed")
        if self.is_control:
            self.adj = self.adj.for_control
        buffer = OverflowableBuffer(self.adj.inbuf_overflow)
        if self.chunked:
            self.body_rcv = ChunkedBody(buffer, self.adj.max_request_body_size)
        elif self.content_length:
            self.body_rcv = FixedStreamReceiver(self.content_length, buffer)

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"
