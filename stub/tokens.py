"""The valid tokens: their names, the worlds that they open, and their replacement."""

import re
from collections.abc import Collection
from typing import NamedTuple

from auth import B64TOKEN, TOKEN_RULE, is_same

WORLD = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMED = re.compile(rf"{WORLD.pattern}=[^=]")
NAME_ALONE = re.compile(rf"{WORLD.pattern}=")
# A token's own `=` stands at its end, so a name in front of it can be told apart.
TOKEN_TEXT = re.compile(rf"(?:({WORLD.pattern})=)?({B64TOKEN.pattern})")
TENANT_RULE = "a name in front of it, as in NAME=TOKEN, has 1 to 64 of A-Z a-z 0-9 _ -"
EMPTY = "a name has no token behind its `=`: is a variable empty?"
WORLD_RULE = "the name of a world has 1 to 64 of A-Z a-z 0-9 _ -"


class Token(NamedTuple):
    """A valid token. A named one is good for the worlds of the tenant of that name alone."""

    value: str
    tenant: str

    @property
    def prefix(self) -> str:
        """What the full names of its worlds begin with: `team-a/`, or nothing without a name."""
        return f"{self.tenant}/" if self.tenant else ""


def is_empty(text: str) -> bool:
    """Whether a text is a name without a token, or a token that looks so, as `dGVzdA=` does."""
    return NAME_ALONE.fullmatch(text) is not None


def read_token(text: str) -> Token:
    """The token of a text `TOKEN` or `NAME=TOKEN`. Raises `ValueError`, which does not show it."""
    found = TOKEN_TEXT.fullmatch(text)
    if not found:
        raise ValueError(f"{TOKEN_RULE}; {TENANT_RULE}")
    return Token(value=found[2], tenant=found[1] or "")


class Tokens:
    """An allow-list of tokens: each text is a b64token (RFC 6750 §2.1), or `NAME=TOKEN`.

    A token followed by a dot and the name of a world is valid, too. So no token may be another
    token with a world (`a` and `a.b`). Raises `ValueError`.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self.replace(texts)

    def replace(self, texts: Collection[str]) -> None:
        """Take these tokens instead, all or none. Raises `ValueError`."""
        if not texts:
            raise ValueError("at least one token is needed")
        read = [read_token(each) for each in texts]
        if any(each.tenant for each in read) and any(map(is_empty, texts)):
            raise ValueError(EMPTY)
        prefixes: dict[str, str] = {}
        for token in read:
            other = prefixes.setdefault(token.value, token.prefix)
            if other != token.prefix:
                first = other.rstrip("/") or "one without a name"
                second = token.tenant or "one without a name"
                raise ValueError(f"two names have the same token: {first} and {second}")
        if any(each.tenant in prefixes for each in read):
            raise ValueError("a name is a token: names are shown, tokens are not")
        for value in prefixes:
            shorter, _, world = value.rpartition(".")
            if shorter in prefixes and WORLD.fullmatch(world):
                raise ValueError(
                    "one token would also be a world of another, as `a.b` is world `b` of token "
                    "`a`: rename one"
                )
        self._prefixes = prefixes

    def world_of(self, token: str) -> str | None:
        """The full name of the world that a token is for; None if the token is invalid.

        It is the name of the world behind that of the tenant, as in `job-1` and `team-a/job-1`;
        for the main world of a tenant `team-a/`, or nothing.
        """
        prefix = self._prefix_of(token)
        if prefix is not None:
            return prefix
        token, _, world = token.rpartition(".")
        if not WORLD.fullmatch(world):
            return None
        prefix = self._prefix_of(token)
        return None if prefix is None else prefix + world

    def intended_world(self, header: str) -> str:
        """The full name of the world of a valid token in a malformed header, else nothing."""
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        return next(filter(None, map(self.world_of, tokens)), "")

    def _prefix_of(self, token: str) -> str | None:
        """What the names of a token's worlds begin with; None if the token is unknown."""
        # Compares with every token, so that the time reveals nothing.
        found = [prefix for known, prefix in self._prefixes.items() if is_same(token, known)]
        return found[0] if found else None


def hint_of(header: str) -> str:
    """What may be wrong with an unknown token, by the form of its header."""
    sent = re.fullmatch(r"Bearer (\S+)", header)
    if sent is None:
        return ""
    token = sent[1]
    if NAMED.match(token):
        return " If it has a name, as in NAME=TOKEN: send the token alone."
    return f" If a world is meant: {WORLD_RULE}." if "." in token else ""
