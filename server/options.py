"""What `serve()` is given, and what it reports."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

App = Callable[..., Iterable[bytes]]  # of WSGI (PEP 3333)


class RejectedRequest(NamedTuple):
    """A request that the server rejected, with what was read of it, and its response."""

    method: str  # these three are empty if the head was not read
    target: str  # as it was sent
    host: str  # the field Host, or the authority of the target
    status: int
    code: str
    detail: str


@dataclass(frozen=True)
class ServerOptions:
    """How to serve. The last two callbacks run in the thread of the request."""

    threads: int = 16
    grace: float = 10.0  # seconds to finish the current requests after a signal
    trusted_hosts: Collection[str] = ()  # served on loopback besides its own names and the host
    on_listening: Callable[[int, Callable[[], None]], None] = lambda port, stop: None
    on_rejected: Callable[[RejectedRequest], None] = lambda rejected: None
    headers_for: Callable[[str | None], Mapping[str, str]] = lambda origin: {}  # of a rejection
