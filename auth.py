"""The bearer check: every request needs the token, in exactly the form of the interface's §5."""

import hmac
import re
from collections.abc import Callable, Collection, Container
from typing import NamedTuple

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
NAMED = re.compile(rf"{WORLD.pattern}=[^=]")
NAME_ALONE = re.compile(rf"{WORLD.pattern}=")
# A token's own `=` stands at its end, so a name in front of it can be told apart.
TOKEN_TEXT = re.compile(rf"(?:({WORLD.pattern})=)?({B64TOKEN.pattern})")
TOKEN_RULE = "a token is made of one or more of A-Z a-z 0-9 - . _ ~ + / and may end with ="
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


class BearerAuth:
    """An allow-list of tokens: each text is a b64token (RFC 6750 §2.1), or `NAME=TOKEN`.

    With `worlds`, a token followed by a dot and the name of a world is valid, too. Then no token
    may be another token with a world (`a` and `a.b`). Without `worlds` there is one store, and a
    token with a name is rejected. Raises `ValueError`.
    """

    def __init__(self, tokens: Collection[str], *, worlds: bool = False) -> None:
        self._worlds = worlds
        self.replace(tokens)

    def replace(self, tokens: Collection[str]) -> None:
        """Take these tokens instead, all or none. Raises `ValueError`."""
        if isinstance(tokens, str):
            raise TypeError("give a collection of tokens, not one string")
        if not tokens:
            raise ValueError("at least one token is needed")
        read = [read_token(each) for each in tokens]
        if not self._worlds and any(each.tenant for each in read):
            raise ValueError("without worlds, no token has a name: leave out `NAME=`")
        if any(each.tenant for each in read) and any(map(is_empty, tokens)):
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
            if self._worlds and shorter in prefixes and WORLD.fullmatch(world):
                raise ValueError(
                    "one token would also be a world of another, as `a.b` is world `b` of token "
                    "`a`: rename one"
                )
        self._prefixes = [(value.encode(), prefix) for value, prefix in prefixes.items()]

    def check(self, header: str) -> str:
        """The full name of the world that an Authorization header is for.

        It is the name of the world behind that of the tenant, as in `job-1` and `team-a/job-1`;
        for the main world of a tenant `team-a/`, or nothing. Raises a `Problem` with 401. Without
        an attempt at a bearer token the challenge has no `error` (RFC 6750 §3.1).
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
        """The full name of the world that a token is for; None if the token is invalid."""
        prefix = self._prefix_of(token)
        if prefix is not None:
            return prefix
        token, _, world = token.rpartition(".")
        if not self._worlds or not WORLD.fullmatch(world):
            return None
        prefix = self._prefix_of(token)
        return None if prefix is None else prefix + world

    def intended_world(self, header: str) -> str:
        """The full name of the world of a valid token in a malformed header, else nothing."""
        # A token may end with a "=", and a world may follow.
        tokens = re.findall(rf"{B64TOKEN.pattern}(?:\.{WORLD.pattern})?", header)
        return next(filter(None, map(self.world_of, tokens)), "")

    def _mistake(self, header: str) -> str:
        """What is wrong with a header, without saying which tokens exist."""
        if not header.startswith("Bearer"):
            return "This request spells the word Bearer in another case."
        rest = header.removeprefix("Bearer")
        if not rest.strip():
            return "This request has no token after the word."
        if not re.match(r" \S", rest):
            return "This request has something other than one space after the word."
        if re.search(r"\s", rest[1:]):
            return "This request has something after the token."
        hint = ""
        if self._worlds and NAMED.match(rest[1:]):
            hint = " If it has a name, as in NAME=TOKEN: send the token alone."
        elif self._worlds and "." in rest:
            hint = f" If a world is meant: {WORLD_RULE}."
        if not CREDENTIAL.fullmatch(rest[1:]):
            return f"This request has another character: {TOKEN_RULE}.{hint}"
        return f"This request has an unknown token.{hint}"

    def _prefix_of(self, token: str) -> str | None:
        """What the names of a token's worlds begin with; None if the token is unknown."""
        # Compares with every token, each in constant time, so that the time reveals nothing.
        data = token.encode(errors="replace")
        found = [prefix for each, prefix in self._prefixes if hmac.compare_digest(each, data)]
        return found[0] if found else None


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
