"""Responses that are passed on as they come, such as server-sent events.

The service does not say how long they are, and they may have no end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPResponse
from queue import Empty, SimpleQueue
from threading import Thread

from .client import BROKEN, describe_failure
from .exchange import CODINGS, MAX_BODY, TOO_LARGE, make_decompressor

UNENDED = "its body did not end"

Record = Callable[[bytes, str], None]
"""Called once with the content of a response, and with why it is not whole, or ""."""


def read_pieces(
    response: HTTPResponse, is_awaited: Callable[[], bool], record: Record, pause: float = 0.5
) -> Iterator[bytes]:
    """Yield each piece of a body when it comes, and record the body before its end.

    A thread reads, so that this asks every `pause` seconds whether the client still waits. Raises
    `ConnectionError` if the service does not send all, which cuts the response to the client, too.
    """
    pieces: SimpleQueue[bytes | Exception] = SimpleQueue()
    Thread(target=read_into, args=(pieces, response), daemon=True).start()
    content = b""
    failure = UNENDED
    try:
        while is_awaited():
            with suppress(Empty):
                piece = pieces.get(timeout=pause)
                if isinstance(piece, Exception):
                    failure = describe_failure(piece)
                    raise ConnectionError(failure)
                if not piece:
                    failure = "" if len(content) <= MAX_BODY else TOO_LARGE
                    return
                if len(content) <= MAX_BODY:
                    content += piece
                yield piece
    finally:
        record(content, failure)


def read_into(pieces: "SimpleQueue[bytes | Exception]", response: HTTPResponse) -> None:
    """Read a response to its end, which is an empty piece, or an error."""
    with response:
        try:
            while piece := response.read1(65536):
                pieces.put(piece)
            pieces.put(b"")
        except BROKEN as error:
            pieces.put(error)


def decompress_pieces(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """Decompress the pieces of a body in gzip or deflate; those in another coding stay."""
    if coding not in CODINGS:
        yield from pieces
        return
    decompressor = None
    for piece in pieces:
        decompressor = decompressor or make_decompressor(piece, coding)
        yield decompressor.decompress(piece)


def replace_in_pieces(pieces: Iterable[bytes], texts: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Replace texts in pieces, in which `http://ser` may be the end of one piece.

    The end of a piece waits for the next piece only if it is the start of such a text.
    """
    rest = b""
    for piece in pieces:
        text = rest + piece
        for old, new in texts.items():
            text = text.replace(old, new)
        end = len(text) - max(count_common(text, old) for old in texts)
        rest = text[end:]
        yield text[:end]
    yield rest


def count_common(text: bytes, old: bytes) -> int:
    """Return how many bytes at the end of `text` are the start of `old`, but not all of it."""
    for size in range(min(len(text), len(old) - 1), 0, -1):
        if text.endswith(old[:size]):
            return size
    return 0
