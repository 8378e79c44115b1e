"""Requests: how they are read, and what ends their connection."""

from waitress.parser import (
    HTTPRequestParser,
    ParsingError,
    TransferEncodingNotImplemented,
)
from waitress.utilities import BadRequest, RequestHeaderFieldsTooLarge

MAX_HEAD = 16 * 1024  # bytes of a request line and its fields
MAX_FIELDS = 100
MAX_BODY = 64 * 1024 * 1024  # bytes on the wire: a seed

HANDSHAKE = b"\x16"  # what TLS begins with (RFC 8446 §5.1)


class Parser(HTTPRequestParser):
    """Reads a request as waitress does, and limits the number of fields."""

    headers: dict[str, str]
    hint = ""
    """What to send instead, where that is known better than by the status."""
    is_dropped = False

    def received(self, data: bytes) -> int:
        """Take what belongs to this request; return how many bytes of `data` that was."""
        is_first = self.body_rcv is None and not self.header_plus
        if is_first and data.startswith(HANDSHAKE):  # waitress would wait for the end of a line
            self.hint = "This looks like TLS: use http://."
            self.error = BadRequest(self.hint)
            self.completed = True
            return len(data)
        used = super().received(data)
        if self.completed:  # waitress would send 100 Continue, and wait for a body
            self.expect_continue = False
        return used

    def parse_header(self, header_plus: bytes) -> None:
        """Read a head. An error becomes the response."""
        if header_plus.count(b"\r\n") > MAX_FIELDS + 2:  # with the first line and the empty one
            self.error = RequestHeaderFieldsTooLarge(f"exceeds {MAX_FIELDS} fields")
            header_plus = b"GET / HTTP/1.0\r\n"  # as waitress reads a head that is too long
        try:
            super().parse_header(header_plus)
        # A ValueError is that of an address in brackets, or of a length of 5,000 digits.
        except (TransferEncodingNotImplemented, ValueError) as error:
            raise ParsingError("not readable") from error

    def close_connection(self) -> None:
        """End the connection after the response."""
        self.headers["CONNECTION"] = "close"  # waitress' tasks look for this word

    def drop(self) -> None:
        """End the connection without the response, whose body must be empty."""
        self.is_dropped = True
