"""A request, rejected as soon as it cannot become well-formed."""

import re
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver
from waitress.rfc7230 import CHUNK_EXT, HEADER_FIELD_RE

from .head import STRAY, read_head, validate_head
from .problems import Rejection
from .settings import MAX_CHUNK_LINE, MAX_HEAD, Settings

CHUNK = re.compile(f"([0-9A-Fa-f]{{1,16}}){CHUNK_EXT}".encode("latin-1"))
WRONG_CHUNKS = "Send each chunk as its size in hexadecimal digits, CRLF, so many bytes, and CRLF."
FIELD: Any = HEADER_FIELD_RE  # whose declared type is wrong


class ChunkedBody(ChunkedReceiver):
    """waitress' reader with all rules of RFC 9112 §7.1.

    waitress takes an empty size for the last chunk, trailers of any form, and lines without end.
    """

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
        is_valid: object
        if self.validate_chunk_end:
            is_valid, self.validate_chunk_end = not line, False
        elif self.all_chunks_received:  # a trailer field never becomes a header (§7.1.2)
            is_valid, self.completed = not line or FIELD.fullmatch(line), not line
        else:
            is_valid = chunk = CHUNK.fullmatch(line)
            self.chunk_remainder = int(chunk[1], 16) if chunk else 0
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = self.chunk_remainder == 0
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
            self.error, self.completed, used = problem, True, len(data)
        if self.completed:  # waitress might send 100 Continue for it, and wait for the body
            self.expect_continue = False
        return used

    def receive_head(self, data: bytes) -> int:
        # Empty lines before a request are ignored (RFC 9112 §2.2).
        head, end, body = (self.header_plus + data).lstrip(b"\r\n").partition(b"\r\n\r\n")
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

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"
