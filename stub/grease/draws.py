"""Draws that are a function of the seed, an axis and a key."""

import string
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

# Tables that give a character for each byte.
LETTERS = (string.ascii_lowercase * 10)[:256].encode()
UNRESERVED = (f"{string.ascii_letters}{string.digits}-._~" * 4)[:256].encode()

Option = TypeVar("Option")


def digest(*key: str) -> bytes:
    return blake2b("\0".join(key).encode()).digest()


class Draws:
    """Draws from a digest: the same for a key in every process and version of Python."""

    __slots__ = ("_digest", "_pool")

    def __init__(self, *key: str) -> None:
        self._digest = digest(*key)
        self._pool = int.from_bytes(self._digest, "big")

    def below(self, limit: int) -> int:
        """An integer from 0, less than `limit`, which is at most 2**512."""
        if self._pool < limit:
            self._digest = blake2b(self._digest).digest()
            self._pool = int.from_bytes(self._digest, "big")
        self._pool, drawn = divmod(self._pool, limit)
        return drawn

    def choice(self, options: Sequence[Option]) -> Option:
        return options[self.below(len(options))]

    def text(self, table: bytes, length: int) -> str:
        """Up to 32 characters; the table gives one for each byte."""
        return self.below(256**length).to_bytes(length, "big").translate(table).decode()

    def word(self) -> str:
        """A word that no client knows, fit for a member, a header or a status."""
        return self.text(LETTERS, 6 + self.below(7))
