"""Reads requests, and ends their connections."""

from waitress.parser import (
    HTTPRequestParser,
    ParsingError,
    TransferEncodingNotImplemented,
)
from waitress.utilities import BadRequest, RequestHeaderFieldsTooLarge

MAX_HEAD = 16 * 1024  # bytes of a request line and its fields
MAX_FIELDS = 100
MAX_BODY = 64 * 1024 * 1024  # bytes of a large seed


class Parser(HTTPRequestParser):
    """A request that waitress reads, with a limited number of fields."""

    headers: dict[str, str]
    hint = ""
    """The detail of a rejection, if it is more precise than the detail of the status."""
    is_dropped = False

    def received(self, data: bytes) -> int:
        """Read the bytes of this request; return their number."""
        is_first = self.body_rcv is None and not self.header_plus
        # TLS begins with a handshake record (RFC 8446 §5.1). waitress would wait for a line.
        if is_first and data.startswith(b"\x16"):
            self.hint = "This looks like TLS: use http://."
            self.error = BadRequest(self.hint)
            self.completed = True
            return len(data)
        used = super().received(data)
        if self.completed:  # waitress would send 100 Continue, and wait for a body.
            self.expect_continue = False
        return used

    def parse_header(self, header_plus: bytes) -> None:
        """Read a head. An error becomes the response."""
        # Two lines are no fields: the request line and the empty line.
        if header_plus.count(b"\r\n") > MAX_FIELDS + 2:
            self.error = RequestHeaderFieldsTooLarge(f"exceeds {MAX_FIELDS} fields")
            header_plus = b"GET / HTTP/1.0\r\n"  # waitress replaces a long head by this line, too.
        try:
            super().parse_header(header_plus)
        # An address in brackets, or a length of 5,000 digits, is a ValueError.
        except (TransferEncodingNotImplemented, ValueError) as error:
            raise ParsingError("not readable") from error

    def close_connection(self) -> None:
        """End the connection after the response."""
        self.headers["CONNECTION"] = "close"  # The tasks of waitress read it.

    def drop(self) -> None:
        """End the connection without a response. The body of the response must be empty."""
        self.is_dropped = True
