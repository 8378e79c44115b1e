"""A request with its response, and the log of them that each source gives."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from .limits import Limited

NOTHING = object()
"""What a body that is no JSON has, and what is at a path that a value does not have."""

MANY_DIGITS = re.compile(rb"(?<!\d)\d{309}")  # of an integer that may be larger than any double

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
        return parsed(self.body)

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

    @cached_property
    def json(self) -> Any:
        """The body of the response, `NOTHING` if it is no JSON."""
        return parsed(self.content)

    @property
    def has_json(self) -> bool:
        return self.json is not NOTHING

    @cached_property
    def limited(self) -> Limited:
        """As much of the JSON as is looked at; the value is `NOTHING` if the body is no JSON."""
        return Limited(self.json)

    @property
    def seen(self) -> Any:
        return self.limited.value


@dataclass(frozen=True)
class Log:
    """The exchanges with one service, in the order in which they were sent.

    `base` is the address of the service, without /v1. `remarks` are sentences about what the
    source left out.
    """

    base: str
    exchanges: tuple[Exchange, ...]
    remarks: tuple[str, ...] = ()

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


def parsed(content: bytes) -> Any:
    """A body as JSON, `NOTHING` if it is none or has a number that is larger than any double."""
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
