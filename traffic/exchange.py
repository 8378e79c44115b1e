"""An exchange: a request and its response, as the client and the server sent them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from web.routing import decode_path

Fields = Iterable[tuple[str, str]]
"""Header fields in their order, such as `[("Accept", "*/*")]`; a name may be repeated."""

UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(eq=False, slots=True)  # A frozen class takes longer to fill, for each request.
class Exchange:
    """A request and its response. It stays as it was made. A long body may have been cut.

    `target` is the path and the query as the client sent them: `/v1/projects?page=2`. `time` is
    UTC; `ms` is the duration in milliseconds. The status is 0 if there is no response.
    """

    method: str
    target: str
    request_fields: Fields = ()
    request_body: bytes = b""
    status: int = 0
    response_fields: Fields = ()
    response_body: bytes = b""
    time: datetime = UNKNOWN_TIME
    ms: float = 0.0

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
    return [(name, environ[key]) for key, name in find_names(tuple(environ))]


@lru_cache(maxsize=256)
def find_names(keys: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return the WSGI keys of header fields and their names: `HTTP_IF_MATCH` and `If-Match`.

    Most requests of a client have the same keys.
    """
    others = ("CONTENT_TYPE", "CONTENT_LENGTH")
    found = [key for key in keys if key.startswith("HTTP_") or key in others]
    return [(key, key.removeprefix("HTTP_").replace("_", "-").title()) for key in found]
