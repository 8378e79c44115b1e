"""A request, rejected as soon as it cannot become well-formed. A bare § is one of RFC 9112."""

import re

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.rfc7230 import CHUNK_EXT

from .head import FIELD, STRAY, read_head, validate_beginning
from .problems import Rejection
from .settings import MAX_BODY, MAX_CHUNK_LINE, MAX_CONTROL_BODY, MAX_HEAD, Settings

EMPTY_LINES = re.compile(rb"\A(?:\r\n)+")
CHUNK = re.compile(f"([0-9A-Fa-f]{{1,16}}){CHUNK_EXT}".encode("latin-1"))


class ChunkedBody(ChunkedReceiver):
    """waitress' reader, with all rules of §7.1: it rejects a body at its first wrong byte."""

    def __init__(self, buffer: OverflowableBuffer, limit: int) -> None:
        super().__init__(buffer)
        self.room = limit  # bytes that may still arrive

    def received(self, data: bytes) -> int:
        pending, at = len(self.control_line), 0
        data = self.control_line + data
        while at < len(data) and not self.completed:
            if self.chunk_remainder:
                piece = data[at : at + self.chunk_remainder]
                self.buf.append(piece)
                self.chunk_remainder -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\r\n", at)
            line = data[at:].removesuffix(b"\r") if end < 0 else data[at:end]
            if self.validate_chunk_end and line:
                raise Rejection("End the data of each chunk with CRLF.")
            if len(line) > MAX_CHUNK_LINE:  # without an end it would be searched each time
                raise Rejection("Keep chunk extensions and trailer fields short.")
            if end < 0 and STRAY.search(line):  # a bare LF ends no line (§2.2)
                raise Rejection("End every line of a chunked body with CRLF.")
            if end < 0:
                break
            self.read_line(line)
            at = end + 2
        used = at if self.completed else len(data)
        self.control_line = data[at:used]
        self.room -= used - pending
        if self.chunk_remainder > self.room:  # before the bytes arrive
            raise Rejection(code="body_too_large")
        return used - pending

    def read_line(self, line: bytes) -> None:
        if self.validate_chunk_end:
            self.validate_chunk_end = False
        elif self.all_chunks_received:
            # A trailer field is validated and dropped: it never becomes a header (§7.1.2).
            self.completed = not line
            if line and not FIELD.fullmatch(line):
                raise Rejection("Send well-formed trailer fields, or none.")
        elif chunk := CHUNK.fullmatch(line):  # no empty line, no extension without a name (§7.1.1)
            self.chunk_remainder = int(chunk[1], 16)
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = self.chunk_remainder == 0
        else:
            raise Rejection("Give each chunk's size as hexadecimal digits alone.")


class Parser(HTTPRequestParser):
    adj: Settings
    headers: dict[str, str]
    error: Rejection | None  # type: ignore[assignment]
    command = request_uri = ""  # type: ignore[assignment]
    path: str
    is_control = False
    is_host_allowed: bool

    def __init__(self, adj: Settings) -> None:
        super().__init__(adj)
        self.arriving_since = adj.options.clock()

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        try:
            used = self.receive_head(data) if self.body_rcv is None else super().received(data)
        except Rejection as problem:
            self.error, self.completed, used = problem, True, len(data)
        if self.completed:  # waitress might send 100 Continue for it, and wait for the body
            self.expect_continue = False
        return used

    def receive_head(self, data: bytes) -> int:
        # Empty lines before a request are ignored (§2.2). waitress would take two for a request,
        # and so give a client that trickles them a new deadline each time.
        unread = EMPTY_LINES.sub(b"", self.header_plus + data)
        head, end, body = unread.partition(b"\r\n\r\n")
        if head.startswith(b"HEAD "):
            self.command = "HEAD"  # a rejection has no body, either
        if len(head) + len(end) > MAX_HEAD:
            raise Rejection(code="headers_too_large")
        if not end:
            validate_beginning(head)
            self.header_plus = head
            return len(data)
        vars(self).update(read_head(head + b"\r\n", self.adj))
        self.headers = self.headers.copy()  # requests with the same head share what was read
        if not self.is_host_allowed:
            raise Rejection(code="host_not_allowed")
        limit = MAX_CONTROL_BODY if self.is_control else MAX_BODY
        if self.content_length > limit:
            raise Rejection(code="body_too_large")
        buffer = OverflowableBuffer(self.adj.inbuf_overflow)
        if self.chunked:
            self.body_rcv = ChunkedBody(buffer, limit)
        elif self.content_length:
            self.body_rcv = FixedStreamReceiver(self.content_length, buffer)
        self.headers_finished = True
        self.completed = self.body_rcv is None
        return len(data) - len(body)

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"
