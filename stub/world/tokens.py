"""The valid tokens, and the worlds that they open."""

import re
from collections.abc import Collection
from hmac import compare_digest

import auth

MAIN = ""
"""The name of the main world. A token without the name of a world opens it."""
WORLD = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Tokens:
    """An allow-list of b64tokens (RFC 6750 §2.1).

    A token may be followed by a dot and the name of a world: `"dev-token.job-42"`. All tokens open
    the same worlds. Raises `ValueError` for an invalid token, and for two tokens like `a` and
    `a.b`.
    """

    def __init__(self, tokens: Collection[str]) -> None:
        for token in tokens:
            if not auth.B64TOKEN.fullmatch(token):
                raise ValueError(auth.TOKEN_RULE)
            shorter, _, world = token.rpartition(".")
            if shorter in tokens and WORLD.fullmatch(world):
                raise ValueError(
                    "two tokens are ambiguous: with the tokens `a` and `a.b`, the second would "
                    "also open the world `b` of the first; rename one of them"
                )
        self._allowed = [token.encode() for token in tokens]

    def find_world(self, token: str) -> str | None:
        """Return the name of the world that a token opens: of `"dev-token.job-42"` it is `job-42`.

        Return None for an invalid token. A token with a dot may be valid as a whole.
        """
        if self._is_valid(token):
            return MAIN
        token, _, world = token.rpartition(".")
        if WORLD.fullmatch(world) and self._is_valid(token):
            return world
        return None

    def find_intended_world(self, header: str) -> str:
        """Return the world of a valid token in a malformed header, or else the main world.

        Of the header `bearer dev-token.job-42` it is `job-42`.
        """
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{auth.B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        for token in tokens:
            world = self.find_world(token)
            if world:
                return world
        return MAIN

    def _is_valid(self, token: str) -> bool:
        sent = token.encode(errors="replace")
        # It compares every token in constant time, so that the time reveals nothing.
        found = [compare_digest(sent, known) for known in self._allowed]
        return any(found)


def explain_token(header: str) -> str:
    """Explain the names of worlds if an invalid token may name a world; otherwise return ""."""
    sent = re.fullmatch(r"Bearer (\S+)", header)
    if not sent or "." not in sent[1]:
        return ""
    return " If a world is meant: the name of a world has 1 to 64 of A-Z a-z 0-9 _ -."
