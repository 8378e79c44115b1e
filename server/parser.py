"""A request, rejected as soon as it cannot become well-formed."""

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver

from .head import read_head, validate_head
from .problems import Rejection
from .settings import MAX_HEAD, Settings


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
            self.body_rcv = ChunkedReceiver(buffer)
        elif self.content_length:
            self.body_rcv = FixedStreamReceiver(self.content_length, buffer)
        self.headers_finished = True
        self.completed = self.body_rcv is None
        return len(data) - len(body)

    def receive_body(self, data: bytes) -> int:
        used = super().received(data)
        if self.error:  # waitress' own, for malformed chunks
            raise Rejection
        if self.body_bytes_received > self.max_body:
            raise Rejection(code="body_too_large")
        return used

    def close_connection(self) -> None:
        """End the connection after this request: the tasks look for this word."""
        self.headers["CONNECTION"] = "close"
