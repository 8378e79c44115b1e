"""Stand-in until the HTTP client is merged."""
from typing import Protocol
from .exchange import Exchange


class Client(Protocol):
    base: str

    def send(self, request: Exchange) -> Exchange: ...
