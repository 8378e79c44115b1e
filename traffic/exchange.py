"""An exchange: a request and its response, as the client and the server sent them."""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from web.routing import decode_path

Fields = Iterable[tuple[str, str]]
"""Header fields in their order, such as `[("Accept", "*/*")]`; a name may be repeated."""


class Exchange(NamedTuple):
    """A request and its response. A long body may have been cut.

    `target` is the path and the query as the client sent them: `/v1/projects?page=2`. `time` is
    UTC; `ms` is the duration in milliseconds.
    """

    method: str
    target: str
    request_fields: Fields
    request_body: bytes
    status: int
    response_fields: Fields
    response_body: bytes
    time: datetime
    ms: float

    @property
    def path(self) -> str:
        """The path with its segments decoded, except for `%2F` and `%25`."""
        path = self.target.partition("?")[0]
        return decode_path(path) if "%" in path else path

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


def find_field(fields: Fields, name: str) -> str:
    """Return the value of the first header field with this name, in any case, or ""."""
    for found, value in fields:
        if found.lower() == name.lower():
            return value
    return ""


def read_fields(environ: dict[str, Any]) -> Fields:
    """Return the header fields of a request from its WSGI environment."""
    found = []
    for key, value in environ.items():
        if key.startswith("HTTP_") or key in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            found.append((format_name(key), value))
    return found


@lru_cache(maxsize=256)
def format_name(key: str) -> str:
    """Return the name of a header field from its WSGI key: `HTTP_IF_MATCH` is `If-Match`."""
    return key.removeprefix("HTTP_").replace("_", "-").title()
