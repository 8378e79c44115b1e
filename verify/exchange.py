"""A request with its response, and the log of them that each source gives."""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote

NOTHING = object()
"""What a body that is no JSON has, and what is at a path that a value does not have."""

MANY_DIGITS = re.compile(rb"(?<!\d)\d{309}")  # of an integer that may be larger than any double
HALF = 500  # items of an array: of one that has more, the first and the last of them are read
MAX_LEVELS = 36  # of a body; what stands deeper is not read
CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # with the window bits that zlib wants

PROJECTS = "/v1/projects"
DEPLOYMENTS = "/v1/deployments/"


@dataclass(frozen=True, eq=False)
class Exchange:
    """A request and its response, as they were sent, or recorded.

    `target` is the path and the query below the address of the service, such as
    `/v1/projects?page=2`. `sent` are the header fields of the request. `failure` says why there
    is nothing to judge. `purpose` is what the script asked for; it is "" in a recording.
    """

    method: str
    target: str
    sent: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    sent_at: float = 0.0  # seconds since 1970
    status: int = 0
    headers: Message = field(default_factory=Message)
    content: bytes = b""
    failure: str = ""
    purpose: str = ""

    # The request

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and self.path == PROJECTS

    @property
    def is_creation(self) -> bool:
        return self.method == "POST" and self.path == PROJECTS

    @property
    def is_deployment(self) -> bool:
        return self.method == "GET" and self.deployment_id != ""

    @property
    def deployment_id(self) -> str:
        """The id in the path of a request for a deployment, "" in another path."""
        start, _, name = self.path.rpartition("/")
        return unquote(name) if f"{start}/" == DEPLOYMENTS else ""

    def sent_field(self, name: str) -> str:
        """A header field of the request, "" if it has none."""
        for sent_name, value in self.sent:
            if sent_name.lower() == name.lower():
                return value
        return ""

    @property
    def token(self) -> str:
        """The credential in the Authorization field, without the scheme; "" if there is none."""
        return self.sent_field("Authorization").rpartition(" ")[2]

    @cached_property
    def sent_json(self) -> Any:
        """The body of the request, `NOTHING` if it is no JSON."""
        return parse_body(self.body)

    # The response

    @property
    def is_success(self) -> bool:
        return not self.failure and 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return not self.failure and 300 <= self.status < 400

    @property
    def reason(self) -> str:
        """The failure, or the status, of a response that is not as it should be."""
        return self.failure or str(self.status)

    def header(self, name: str) -> str | None:
        """A header of the response, whose repeated fields are one list (RFC 9110 §5.3)."""
        values: list[str] | None = self.headers.get_all(name)
        return None if values is None else ", ".join(map(str, values))

    @property
    def media_type(self) -> str:
        """The media type in lower case, without its parameters."""
        content_type = self.header("Content-Type") or ""
        media_type, _, _ = content_type.partition(";")
        return media_type.strip().lower()

    @property
    def coding(self) -> str:
        """The content coding in lower case, such as `gzip`; "" without one."""
        return (self.header("Content-Encoding") or "").strip().lower()

    @cached_property
    def json(self) -> Any:
        """The body of the response, `NOTHING` if it is no JSON."""
        return parse_body(self.content)

    @property
    def has_json(self) -> bool:
        return self.json is not NOTHING

    @cached_property
    def seen(self) -> Any:
        """As much of the JSON as is read, `NOTHING` if the body is no JSON."""
        return shorten_value(self.json)


@dataclass(frozen=True)
class Log:
    """The exchanges with one service, in the order in which they were sent.

    `base` is the address of the service, without /v1. `remarks` are sentences about what the
    source left out. `day` is that of a recording whose exchanges have no time: `2026-11-25`.
    """

    base: str
    exchanges: tuple[Exchange, ...]
    remarks: tuple[str, ...] = ()
    day: str = ""

    @property
    def creations(self) -> tuple[Exchange, ...]:
        """The requests that created a project: in this run, this recording, or these tests."""
        return tuple(each for each in self.exchanges if each.is_creation and each.is_success)


def message_of(fields: Iterable[tuple[str, str]]) -> Message:
    """Header fields as those of an exchange."""
    message = Message()
    for name, value in fields:
        message[name] = value
    return message


def clock_of(exchange: Exchange) -> float:
    """The time of a response by the clock of the service, if it says so; 0 if it is not known."""
    try:
        return parsedate_to_datetime(exchange.header("Date") or "").timestamp()
    except ValueError:
        return exchange.sent_at


# Bodies


def parse_body(content: bytes) -> Any:
    """Parse JSON; `NOTHING` if it is none, or has a number that is larger than any double."""
    whole = parse_whole if MANY_DIGITS.search(content) else None  # it is slow
    try:
        return json.loads(
            content.decode(), parse_constant=reject, parse_float=parse_finite, parse_int=whole
        )
    except (ValueError, RecursionError):
        return NOTHING


def reject(name: str) -> None:
    """Raises `ValueError` for NaN and Infinity, which Python's reader accepts."""
    raise ValueError(name)


def parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def parse_whole(text: str) -> int:
    parse_finite(text)
    return int(text)


def shorten_value(value: Any, level: int = 1) -> Any:
    """Leave out what stands too deep, and the middle of a long array."""
    if isinstance(value, list):
        items = value if len(value) <= 2 * HALF else value[:HALF] + value[-HALF:]
        return [shorten_value(each, level + 1) for each in items] if level < MAX_LEVELS else []
    if isinstance(value, dict):
        if level >= MAX_LEVELS:
            return {}
        return {name: shorten_value(each, level + 1) for name, each in value.items()}
    return value


def unpack(exchange: Exchange, most: int) -> Exchange:
    """Decompress a body whose field Content-Encoding says gzip or deflate; that field goes.

    Of another coding, such as `br`, both stay. A body that is damaged is a failure.
    """
    coding = exchange.coding
    if coding not in CODINGS or not exchange.content or exchange.failure:
        return exchange
    try:
        content = decompress(exchange.content, coding, most)
    except (zlib.error, gzip.BadGzipFile, EOFError):
        return replace(exchange, failure=f"its body is no {coding}")
    fields = [(name, str(value)) for name, value in exchange.headers.items()]
    gone = ("content-encoding", "content-length")
    headers = message_of(each for each in fields if each[0].lower() not in gone)
    failure = f"its body is over {most // 1024**2} MiB" if len(content) > most else ""
    return replace(exchange, content=content, headers=headers, failure=failure)


def decompress(content: bytes, coding: str, most: int) -> bytes:
    """Decompress up to `most` bytes, and one."""
    return make_decompressor(content, coding).decompress(content, most + 1)


def make_decompressor(start: bytes, coding: str) -> "zlib._Decompress":
    """Return a decompressor for what starts so: servers send `deflate` with and without a head."""
    has_no_head = coding == "deflate" and start[0] & 15 != 8
    return zlib.decompressobj(-15 if has_no_head else CODINGS[coding])
