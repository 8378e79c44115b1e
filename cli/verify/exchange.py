"""A request and its response, as they were sent or recorded."""

import json
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from .checks import Check
from .values import NOTHING


@dataclass(frozen=True, eq=False)
class Exchange:
    """A check as it was sent, and its response. `failure` says why there is nothing to judge."""

    check: Check
    target: str
    sent: tuple[tuple[str, str], ...]  # headers
    body: bytes
    sent_at: float = 0.0  # seconds since 1970
    status: int = 0
    headers: Message = field(default_factory=Message)
    content: bytes = b""
    failure: str = ""

    @property
    def name(self) -> str:
        return self.check.name

    @property
    def method(self) -> str:
        return self.check.method

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

    @property
    def deployment_id(self) -> str:
        """The id in the path of a request for a deployment."""
        _, _, name = self.path.rpartition("/")
        return unquote(name)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

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
        try:
            return json.loads(self.content.decode(), parse_constant=reject)
        except (ValueError, RecursionError):
            return NOTHING

    @property
    def has_json(self) -> bool:
        return self.json is not NOTHING


def reject(name: str) -> None:
    """Raises `ValueError` for NaN and Infinity, which Python's reader accepts."""
    raise ValueError(name)
