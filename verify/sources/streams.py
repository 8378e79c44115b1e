"""Passes on responses of unknown length in pieces, like server-sent events."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPResponse
from queue import Empty, SimpleQueue
from threading import Event, Thread

from ..seen.service_log import CODINGS, MAX_BODY, TOO_LARGE, make_decompressor
from . import client

Record = Callable[[bytes, str], None]
"""Called once, with the body of a response, and "" or the reason why it is not complete."""


def read_pieces(
    response: HTTPResponse, is_awaited: Callable[[], bool], record: Record, pause: float = 0.5
) -> Iterator[bytes]:
    """Yield the pieces of a body when they come, and record the body before its end.

    A thread reads, so this function asks every `pause` seconds whether the client still waits.
    Raises `ConnectionError` if the service does not send all, to cut the response to the client.
    """
    pieces: SimpleQueue[bytes | Exception] = SimpleQueue()
    has_left = Event()
    Thread(target=read_into, args=(pieces, response, has_left), daemon=True).start()
    body = b""
    failure = "the body of the response did not end"
    try:
        while is_awaited():
            with suppress(Empty):
                piece = pieces.get(timeout=pause)
                if isinstance(piece, Exception):
                    failure = client.describe_failure(piece)
                    raise ConnectionError(failure)
                if not piece:
                    failure = "" if len(body) <= MAX_BODY else TOO_LARGE
                    return
                if len(body) <= MAX_BODY:
                    body += piece
                yield piece
    finally:
        has_left.set()
        record(body, failure)


def read_into(
    pieces: "SimpleQueue[bytes | Exception]", response: HTTPResponse, has_left: Event
) -> None:
    """Read a response until its end, which is an empty piece, or until the client has left."""
    with response:
        try:
            while not has_left.is_set():
                piece = response.read1(65536)
                pieces.put(piece)
                if not piece:
                    return
        except client.ERRORS as error:
            pieces.put(error)


def decompress_pieces(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """Decompress the pieces of a body in gzip or deflate. Pieces in an unknown coding stay."""
    if coding not in CODINGS:
        yield from pieces
        return
    decompressor = None
    for piece in pieces:
        decompressor = decompressor or make_decompressor(piece, coding)
        yield decompressor.decompress(piece)


def replace_in_pieces(pieces: Iterable[bytes], texts: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Replace texts in pieces. A text may begin in a piece that ends with `http://ser`.

    The end of a piece waits for the next piece only if it is the start of a text.
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
