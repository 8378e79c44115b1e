"""The valid tokens, and the worlds that they open."""

import re
from collections.abc import Collection

from auth import B64TOKEN, TOKEN_RULE, is_same

MAIN = ""
"""The name of the main world, which a token opens that names none."""
WORLD = re.compile(r"[A-Za-z0-9_-]{1,64}")
WORLD_RULE = "the name of a world has 1 to 64 of A-Z a-z 0-9 _ -"


class Tokens:
    """An allow-list of tokens, each of which is a b64token (RFC 6750 §2.1).

    A token followed by a dot and the name of a world is valid, too: `dev-token.job-42`. All tokens
    open the same worlds. No token may be another token with a world (`a` and `a.b`). Raises
    `ValueError`.
    """

    def __init__(self, tokens: Collection[str]) -> None:
        for token in tokens:
            if not B64TOKEN.fullmatch(token):
                raise ValueError(TOKEN_RULE)
            shorter, _, world = token.rpartition(".")
            if shorter in tokens and WORLD.fullmatch(world):
                raise ValueError(
                    "one token would also be a world of another, as `a.b` is world `b` of token "
                    "`a`: rename one"
                )
        self._tokens = tokens

    def find_world(self, token: str) -> str | None:
        """Return the name of the world that a token opens; None if the token is invalid.

        The token is matched whole first, then without what follows its last dot.
        """
        if self._is_valid(token):
            return MAIN
        token, _, world = token.rpartition(".")
        if WORLD.fullmatch(world) and self._is_valid(token):
            return world
        return None

    def find_intended_world(self, header: str) -> str:
        """Return the world that a valid token in a malformed header names, else the main one."""
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        for token in tokens:
            world = self.find_world(token)
            if world:
                return world
        return MAIN

    def _is_valid(self, token: str) -> bool:
        # Compares with every token, so that the time reveals nothing.
        found = [is_same(token, known) for known in self._tokens]
        return any(found)


def explain_token(header: str) -> str:
    """Say what may be wrong with an unknown token, by the form of its header."""
    sent = re.fullmatch(r"Bearer (\S+)", header)
    return f" If a world is meant: {WORLD_RULE}." if sent and "." in sent[1] else ""
