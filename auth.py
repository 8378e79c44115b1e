"""The bearer check: every request needs the token, in exactly the form of the interface's §5."""

import hmac
import re
from collections.abc import Callable, Collection, Container

from flask import g, request

from web.problems import Problem

DEFAULT_TOKEN = "dev-token"
"""Published, and therefore good for loopback only."""

CHALLENGE = 'Bearer realm="project-and-deployment-service"'
FORM = (
    "Send the header `Authorization: Bearer <ACCESS_TOKEN>`: the word Bearer, one space, "
    "a token that this service was started with, and nothing else."
)
B64TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/=-]+")  # a token, perhaps with a world
WORLD = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOKEN_RULE = "a token is made of one or more of A-Z a-z 0-9 - . _ ~ + / and may end with ="
WORLD_RULE = "the name of a world has 1 to 64 of A-Z a-z 0-9 _ -"


class BearerAuth:
    """An allow-list of tokens. Each must be a b64token (RFC 6750 §2.1), else `ValueError`.

    With `worlds`, a token followed by a dot and the name of a world is valid, too. Then no token
    may be another token with a world (`a` and `a.b`).
    """

    def __init__(self, tokens: Collection[str], *, worlds: bool = False) -> None:
        if isinstance(tokens, str):
            raise TypeError("give a collection of tokens, not one string")
        if not tokens:
            raise ValueError("at least one token is needed")
        for token in tokens:
            if not B64TOKEN.fullmatch(token):
                raise ValueError(TOKEN_RULE)
            prefix, _, world = token.rpartition(".")
            if worlds and prefix in tokens and WORLD.fullmatch(world):
                raise ValueError(
                    "one token would also be a world of another, as `a.b` is world `b` of token "
                    "`a`: rename one"
                )
        self._tokens = [token.encode() for token in tokens]
        self._worlds = worlds

    def check(self, header: str) -> str:
        """The name of the world that an Authorization header is for, empty for the main one.

        Raises a `Problem` with 401. Without an attempt at a bearer token the challenge has no
        `error` (RFC 6750 §3.1).
        """
        scheme, _, token = header.partition(" ")
        if scheme == "Bearer":
            world = self.world_of(token)
            if world is not None:
                return world
        words = header.split()
        word = words[0] if words else ""
        if word.lower() == "bearer":
            detail = f"{FORM} {self._mistake(header)}"
            raise unauthorized("token_invalid", detail, f'{CHALLENGE}, error="invalid_token"')
        sent = "has an Authorization header of another scheme" if word else "has no bearer token"
        raise unauthorized("token_missing", f"{FORM} This request {sent}.", CHALLENGE)

    def world_of(self, token: str) -> str | None:
        """The name of the world that a token is for; None if the token is invalid."""
        if self._is_valid(token):
            return ""
        token, _, world = token.rpartition(".")
        is_world = self._worlds and WORLD.fullmatch(world)
        return world if is_world and self._is_valid(token) else None

    def intended_world(self, header: str) -> str:
        """The name of the world of a valid token in a malformed header; else the main one's."""
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        return next(filter(None, map(self.world_of, tokens)), "")

    def _mistake(self, header: str) -> str:
        """What is wrong with a header, without saying which tokens exist."""
        word, rest = header[:6], header[6:]
        if word != "Bearer":
            return "This request spells the word Bearer in another case."
        if not rest.strip():
            return "This request has no token after the word."
        if not re.match(r" \S", rest):
            return "This request has something other than one space after the word."
        if re.search(r"\s", rest[1:]):
            return "This request has something after the token."
        hint = f" If a world is meant: {WORLD_RULE}." if self._worlds and "." in rest else ""
        if not CREDENTIAL.fullmatch(rest[1:]):
            return f"This request has another character: {TOKEN_RULE}.{hint}"
        return f"This request has an unknown token.{hint}"

    def _is_valid(self, token: str) -> bool:
        # Compares with every token, each in constant time, so that the time reveals nothing.
        data = token.encode(errors="replace")
        return sum(hmac.compare_digest(each, data) for each in self._tokens) > 0


def unauthorized(code: str, detail: str, challenge: str) -> Problem:
    return Problem(401, code, detail, headers={"WWW-Authenticate": challenge})


def bearer_check(
    auth: BearerAuth, open_paths: Container[str], explain: Callable[[], str] = lambda: ""
) -> Callable[[], None]:
    """The step that rejects a request without a token, except GET and HEAD of `open_paths`.

    `explain` returns what else the detail of a rejection says.

    It runs before Flask raises a routing error. So an unknown path or a wrong method without a
    token is 401, too.
    """

    def check_token() -> None:
        environ = request.environ  # request.path has lost its leading slashes
        if environ["PATH_INFO"] in open_paths and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return
        header = environ.get("HTTP_AUTHORIZATION", "")
        try:
            g.world_name = auth.check(header)
        except Problem as problem:
            g.intended_world_name = auth.intended_world(header)
            problem.description = f"{problem.description}{explain()}"
            raise

    return check_token
