"""An exchange with the verified service, and a log of exchanges."""

import json
import math
import re
import zlib
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from traffic import exchange

PROJECTS = "/v1/projects"
DEPLOYMENTS = "/v1/deployments/"
MAX_BODY = 4 * 1024 * 1024  # bytes
TOO_LARGE = f"the body of the response is over {MAX_BODY // 1024**2} MiB"
CODINGS = ("gzip", "x-gzip", "deflate")
"""The content codings that are decompressed."""

NOTHING = object()
"""Stands for the JSON of a body that is not JSON, and for a missing value."""


@dataclass(eq=False)
class ServiceExchange(exchange.Exchange):
    """An exchange with the verified service.

    `target` is relative to the address of the service: `/v1/projects?page=2`. `failure` says why
    there is no complete response: `timed out`. `purpose` says why the script sent the request:
    `create`. It is "" in a recording.
    """

    failure: str = ""
    purpose: str = ""

    # The request

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
        """The id in the path, or "": `d-1` in `/v1/deployments/d-1`."""
        start, _, name = self.path.rpartition("/")
        return unquote(name) if f"{start}/" == DEPLOYMENTS else ""

    def find_request_field(self, name: str) -> str:
        """Return the value of a header field of the request, or ""."""
        return exchange.find_field(self.request_fields, name)

    @property
    def token(self) -> str:
        """The credential in the field Authorization, or "": `abc` in `Bearer abc`."""
        return self.find_request_field("Authorization").rpartition(" ")[2]

    @cached_property
    def request_json(self) -> Any:
        """The body of the request, or `NOTHING` if it is not JSON."""
        return parse_body(self.request_body)

    @property
    def sent_at(self) -> float:
        """The time of the request in seconds since 1970, or 0 if it is unknown."""
        return self.time.timestamp()

    # The response

    @property
    def is_success(self) -> bool:
        return not self.failure and 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return not self.failure and 300 <= self.status < 400

    @property
    def reason(self) -> str:
        """The failure, or else the status: `timed out` or `404`."""
        return self.failure or str(self.status)

    def find_response_field(self, name: str) -> str | None:
        """Return the value of a header field of the response, or `None`.

        The values of a repeated field are joined to a list (RFC 9110 §5.3): `no-store, private`.
        """
        values = [value for found, value in self.response_fields if found.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case: `application/json`."""
        content_type = self.find_response_field("Content-Type") or ""
        media_type, _, _ = content_type.partition(";")
        return media_type.strip().lower()

    @property
    def coding(self) -> str:
        """The content coding in lower case, or "": `gzip`."""
        return (self.find_response_field("Content-Encoding") or "").strip().lower()

    @property
    def served_at(self) -> float:
        """The time of the response by the clock of the service; without `Date` as `sent_at`."""
        try:
            return parsedate_to_datetime(self.find_response_field("Date") or "").timestamp()
        except ValueError:
            return self.sent_at

    @cached_property
    def response_json(self) -> Any:
        """The body of the response, or `NOTHING` if it is not JSON."""
        return parse_body(self.response_body)

    @property
    def has_json(self) -> bool:
        return self.response_json is not NOTHING

    @cached_property
    def body(self) -> Any:
        """The JSON of the response, shortened: `shorten_value` has the limits."""
        return shorten_value(self.response_json)


@dataclass(frozen=True)
class Log:
    """The exchanges with one service, in the order of their requests.

    `base` is the address of the service, without /v1. `remarks` are sentences about exchanges that
    were left out. `day` is the day of a recording without times: `2026-11-25`.
    """

    base: str
    exchanges: tuple[ServiceExchange, ...]
    remarks: tuple[str, ...] = ()
    day: str = ""

    @property
    def creations(self) -> tuple[ServiceExchange, ...]:
        """The requests that created a project."""
        return tuple(each for each in self.exchanges if each.is_creation and each.is_success)

    def has_change_after(self, creation: ServiceExchange) -> bool:
        """Return whether a request after a creation may have deleted or renamed the project."""
        return self._changed_at is not None and self._changed_at >= creation.time

    @cached_property
    def _changed_at(self) -> datetime | None:
        """The time of the last request that may have changed something, but for creations."""
        times = [
            each.time
            for each in self.exchanges
            if each.method not in ("GET", "HEAD", "OPTIONS")
            and each.is_success
            and not each.is_creation
        ]
        return max(times, default=None)


# Bodies


def parse_body(body: bytes) -> Any:
    """Parse JSON. Return `NOTHING` for invalid JSON, and for numbers without a double: `1e400`."""
    has_many_digits = re.search(rb"(?<!\d)\d{309}", body) is not None
    parse_int = parse_finite_int if has_many_digits else None  # It is slow.
    try:
        return json.loads(
            body.decode(),
            parse_constant=reject_constant,
            parse_float=parse_finite,
            parse_int=parse_int,
        )
    except (ValueError, RecursionError):
        return NOTHING


def reject_constant(name: str) -> None:
    """Raise `ValueError` for `NaN` and `Infinity`: the reader of Python accepts them."""
    raise ValueError(name)


def parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def parse_finite_int(text: str) -> int:
    parse_finite(text)
    return int(text)


def shorten_value(value: Any, level: int = 1, max_level: int = 36, half: int = 500) -> Any:
    """Leave out the values below `max_level`, and all but `half` items at both ends of an array."""
    if not isinstance(value, list | dict):
        return value
    if level >= max_level:
        return type(value)()
    if isinstance(value, dict):
        return {name: shorten_value(each, level + 1) for name, each in value.items()}
    items = value if len(value) <= 2 * half else value[:half] + value[-half:]
    return [shorten_value(each, level + 1) for each in items]


def unpack(packed: ServiceExchange) -> ServiceExchange:
    """Decompress the body of a response in gzip or deflate, and remove the field that says so.

    A body in an unknown coding, like `br`, stays as it is. A damaged body is a failure.
    """
    body = packed.response_body
    if packed.coding not in CODINGS or not body or packed.failure:
        return packed
    try:
        plain = make_decompressor(body, packed.coding).decompress(body, MAX_BODY + 1)
    except zlib.error:
        return replace(packed, failure=f"the body of the response is not {packed.coding}")
    removed = ("content-encoding", "content-length")
    fields = [each for each in packed.response_fields if each[0].lower() not in removed]
    failure = TOO_LARGE if len(plain) > MAX_BODY else ""
    return replace(packed, response_body=plain, response_fields=fields, failure=failure)


def make_decompressor(start: bytes, coding: str) -> "zlib._Decompress":
    """Return a decompressor for a body with this start, in one of the `CODINGS`."""
    if coding != "deflate":
        return zlib.decompressobj(31)
    has_header = start[0] & 15 == 8  # Servers send `deflate` with and without the header of zlib.
    return zlib.decompressobj(15 if has_header else -15)
