"""A chunked body (RFC 9112 §7.1), read strictly."""

import re

from waitress.buffers import OverflowableBuffer
from waitress.receiver import ChunkedReceiver

from .problems import BodyTooLarge, Problem
from .settings import MAX_CHUNK_LINE

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
FIELD = TOKEN + rb":[^\x00-\x08\x0a-\x1f\x7f]*"
QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'

CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;%b(?:=(?:%b|%b))?)*" % (TOKEN, TOKEN, QUOTED))
TRAILER = re.compile(FIELD)
# Bytes that no head or chunk line can hold, whatever follows.
STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)|(?<!\r)\n")


class ChunkedBody(ChunkedReceiver):
    """waitress' reader with the rules that it lacks, each of which has a comment.

    Raises `Problem`.
    """

    def __init__(self, buffer: OverflowableBuffer, limit: int) -> None:
        super().__init__(buffer)
        self.limit = limit  # bytes

    def received(self, data: bytes) -> int:
        """Take what belongs to this body; return how many bytes of `data` that was."""
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
                raise Problem("End each chunk's data with CRLF, where its size says that it ends.")
            if len(line) > MAX_CHUNK_LINE:  # a line without an end would fill the memory
                raise Problem("Keep chunk extensions and trailer fields short.")
            if end < 0:
                if STRAY.search(line):  # a bare LF ends no line (§2.2)
                    raise Problem("End every line of a chunked body with CRLF.")
                self.control_line = line
                at = len(data)
            else:
                self.read_line(line)
                at = end + 2
        return at - pending

    def read_line(self, line: bytes) -> None:
        if self.validate_chunk_end:
            self.validate_chunk_end = False
        elif self.all_chunks_received:
            # A trailer field is validated and dropped: it never becomes a header (§7.1.2).
            self.completed = not line
            if line and not TRAILER.fullmatch(line):
                raise Problem("Send well-formed trailer fields, or none.")
        elif chunk := CHUNK.fullmatch(line):  # no empty line, no extension without a name (§7.1.1)
            self.chunk_remainder = int(chunk[1], 16)
            if self.chunk_remainder > self.limit:  # before the bytes arrive
                raise BodyTooLarge
            self.validate_chunk_end = self.chunk_remainder > 0
            self.all_chunks_received = self.chunk_remainder == 0
        else:
            raise Problem("Give each chunk's size as hexadecimal digits alone.")
