"""Makes the server faster without changing a response, by public names of waitress.

A client that polls repeats the head of its request, and the response has the same head. The server
caches both heads. Only the program applies this file.
"""

import sys
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from waitress.buffers import OverflowableBuffer
from waitress.receiver import FixedStreamReceiver

from . import loop
from .parser import Parser

MAX_BYTES = 4096  # size of a cached head


class Head:
    """The head of a request: the attributes of its parser after reading it, and its fields."""

    environ: dict[str, Any] | None = None
    """The WSGI environment of the first request with this head, except for `own_members()`."""

    def __init__(self, attributes: dict[str, Any], headers: dict[str, str]) -> None:
        self.attributes = attributes
        self.headers = headers


class ResponseHead(NamedTuple):
    """The head of a response, and the attributes of its task."""

    data: bytes
    close_on_finish: bool
    chunked_response: bool


def speed_up(server: loop.Server) -> None:
    """Let the connections of a server cache heads, and send at once."""
    make_parser = partial(FastParser, {})
    server.make_connection = partial(FastConnection, make_parser, {})


class FastParser(Parser):
    """A request that takes its head from the cache."""

    known: Head | None = None

    def __init__(self, heads: dict[bytes, Head], adj: Any) -> None:
        super().__init__(adj)
        self.heads = heads

    def parse_header(self, header_plus: bytes) -> None:
        """Read a head, or take it from the cache. A rejected head is not cached."""
        known = self.heads.get(header_plus)
        if known is None:
            before = {*vars(self)}
            super().parse_header(header_plus)
            if self.error or self.chunked or len(header_plus) > MAX_BYTES:
                return
            set_now = vars(self).keys() - before - {"body_rcv"}
            attributes = {name: getattr(self, name) for name in set_now}
            known = Head(attributes, self.headers.copy())
            add_to_cache(self.heads, header_plus, known)
        else:
            vars(self).update(known.attributes)
            self.headers = known.headers.copy()
            if self.content_length:
                buffer = OverflowableBuffer(self.adj.inbuf_overflow)
                self.body_rcv = FixedStreamReceiver(self.content_length, buffer)
        self.known = known

    def close_connection(self) -> None:
        """End the connection after the response. The environment tells the app."""
        super().close_connection()
        self.known = None


class FastTask(loop.AppTask):
    """A request that caches its environment and the head of its response.

    It sends the head and the body together.
    """

    channel: "FastConnection"
    request: FastParser

    def get_environment(self) -> dict[str, Any]:
        """Return the cached environment, with the own members of this request."""
        known = self.request.known
        if known is None:
            return super().get_environment()
        if known.environ is None:
            environ = super().get_environment()
            known.environ = environ | dict.fromkeys(self.own_members())
        else:
            environ = known.environ | self.own_members()
            self.environ = environ
        return environ

    def own_members(self) -> dict[str, Any]:
        """Return the members of the environment that no further request has."""
        channel = self.channel
        host, port, *_ = channel.addr
        return {
            "REMOTE_ADDR": host,
            "REMOTE_HOST": host,
            "REMOTE_PORT": str(port),
            "wsgi.errors": sys.stderr,
            "wsgi.input": self.request.get_body_stream(),
            "waitress.client_disconnected": channel.check_client_disconnected,
            **self.make_functions(),
        }

    def build_response_header(self) -> bytes:
        """Return the head of the response. Its Date is the same for a second."""
        request = self.request
        if request.is_dropped:
            return super().build_response_header()
        key = (
            int(self.start_time),
            self.version,
            self.status,
            self.content_length,
            self.close_on_finish,
            request.headers.get("CONNECTION"),
            *self.response_headers,
        )
        known = self.channel.response_heads.get(key)
        if known is None:
            data = super().build_response_header()
            known = ResponseHead(data, self.close_on_finish, self.chunked_response)
            if len(data) <= MAX_BYTES:
                add_to_cache(self.channel.response_heads, key, known)
        self.close_on_finish = known.close_on_finish
        self.chunked_response = known.chunked_response
        return known.data

    def write(self, data: bytes) -> None:
        """Write a part of the response. If it is the whole body, send it with the head."""
        is_whole = self.complete and not self.wrote_header and len(data) == self.content_length
        if is_whole and self.has_body:
            self.channel.write_soon(self.build_response_header() + data)
            self.wrote_header = True
            self.content_bytes_written = len(data)
        else:
            super().write(data)


class FastConnection(loop.Connection):
    """A connection that sends at once, without the loop."""

    task_class = FastTask

    def __init__(
        self,
        make_parser: Any,
        response_heads: dict[tuple[Any, ...], ResponseHead],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self.parser_class = make_parser
        self.response_heads = response_heads
        super().__init__(*args, **kwargs)

    def write_soon(self, data: Any) -> int:
        """Send data if no earlier data waits. The loop sends the rest."""
        size = len(data)
        with self.outbuf_lock:
            if self.connected and not self.total_outbufs_len and isinstance(data, bytes):
                with suppress(OSError):  # The loop meets the error again.
                    data = data[self.send(data, do_close=False) :]
            if data:
                super().write_soon(data)
        return size


def add_to_cache(cache: dict[Any, Any], key: Any, value: Any, size: int = 256) -> None:
    """Add a value to a cache. A full cache is emptied first."""
    if len(cache) >= size:
        cache.clear()
    cache[key] = value
