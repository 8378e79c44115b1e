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


class WorldName(NamedTuple):
    """The name of a world: that of its tenant, empty for the tokens without a name, and its own,
    empty for a main world. As text: `team-a/job-1`, `job-1`, `team-a/`, or nothing.
    """

    tenant: str = ""
    world: str = ""

    @property
    def main(self) -> "WorldName":
        """The main world of the tenant."""
        return WorldName(self.tenant)

    def __str__(self) -> str:
        return f"{self.tenant}/{self.world}" if self.tenant else self.world


class Token(NamedTuple):
    """A valid token. A named one is good for the worlds of the tenant of that name alone."""

    value: str
    tenant: str


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
        tenants: dict[str, str] = {}  # by token
        for value, tenant in read:
            other = tenants.setdefault(value, tenant)
            if other != tenant:
                first = other or "one without a name"
                second = tenant or "one without a name"
                raise ValueError(f"two names have the same token: {first} and {second}")
        if any(each.tenant in tenants for each in read):
            raise ValueError("a name is a token: names are shown, tokens are not")
        for value in tenants:
            shorter, _, world = value.rpartition(".")
            if shorter in tenants and WORLD.fullmatch(world):
                raise ValueError(
                    "one token would also be a world of another, as `a.b` is world `b` of token "
                    "`a`: rename one"
                )
        self._tenants = tenants

    def world_of(self, token: str) -> WorldName | None:
        """The name of the world that a token is for; None if the token is invalid."""
        tenant = self._tenant_of(token)
        if tenant is not None:
            return WorldName(tenant)
        token, _, world = token.rpartition(".")
        if not WORLD.fullmatch(world):
            return None
        tenant = self._tenant_of(token)
        return None if tenant is None else WorldName(tenant, world)

    def intended_world(self, header: str) -> WorldName:
        """The world of a valid token in a malformed header; the main one of the tokens without a
        name, if there is no such token.
        """
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        for token in tokens:
            name = self.world_of(token)
            if name and name != WorldName():
                return name
        return WorldName()

    def _tenant_of(self, token: str) -> str | None:
        """The tenant of a token; None if the token is unknown."""
        # Compares with every token, so that the time reveals nothing.
        found = [tenant for known, tenant in self._tenants.items() if is_same(token, known)]
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
