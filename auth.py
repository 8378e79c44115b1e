"""Checks bearer tokens: every request needs `Authorization: Bearer TOKEN` (interface §5)."""

import re
from collections.abc import Callable, Collection
from hmac import compare_digest

from flask import Request, g, request

from store import Store
from web.problems import Problem

DEFAULT_TOKEN = "dev-token"
"""The token of a service that was started without a token.

It is published, and therefore good for loopback only.
"""

CHALLENGE = 'Bearer realm="project-and-deployment-service"'
FORM = (
    "Send the header `Authorization: Bearer <ACCESS_TOKEN>`: the word Bearer, one space, "
    "a token that this service was started with, and nothing else."
)
B64TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750 §2.1
TOKEN_RULE = "a token is made of one or more of A-Z a-z 0-9 - . _ ~ + / and may end with ="

Authenticate = Callable[[str], Store | None]
"""Returns the store of a token; None if the token is unknown."""


class Unauthorized(Problem):
    """A 401, with the challenge `Bearer realm="…", error="invalid_token"`.

    If the request did not try to send a bearer token, it has no `error` (RFC 6750 §3.1).
    """

    def __init__(self, code: str, mistake: str, challenge: str) -> None:
        headers = {"WWW-Authenticate": challenge}
        super().__init__(401, code, f"{FORM} This request {mistake}", headers=headers)


def make_token_check(known: Collection[str]) -> Callable[[str], bool]:
    """Make a function that tells whether a token is known: `make_token_check(["a"])("a")` is True.

    It compares every token in constant time, so that the time reveals nothing.
    """
    encoded = [token.encode() for token in known]

    def is_known(token: str) -> bool:
        sent = token.encode(errors="replace")
        found = [compare_digest(sent, each) for each in encoded]
        return any(found)

    return is_known


def allow_list(store: Store, tokens: Collection[str] = (DEFAULT_TOKEN,)) -> Authenticate:
    """Make an `Authenticate` that opens the store with these tokens.

    Raises `ValueError` for an invalid token (`a token`).
    """
    for token in tokens:
        if not B64TOKEN.fullmatch(token):
            raise ValueError(TOKEN_RULE)
    is_known = make_token_check(tokens)

    def authenticate(token: str) -> Store | None:
        return store if is_known(token) else None

    return authenticate


def require_bearer(
    authenticate: Authenticate, is_open: Callable[[Request], bool]
) -> Callable[[], None]:
    """Make the step that puts the store of a request into `g.store`, or raises `Unauthorized`.

    `is_open` returns whether a request needs no token. The step runs before Flask raises a routing
    error, so an unknown path or a wrong method without a token is 401, too.
    """

    def check_token() -> None:
        received: Request = request._get_current_object()  # type: ignore[attr-defined]
        if is_open(received):
            return
        header = received.environ.get("HTTP_AUTHORIZATION", "")
        scheme, _, token = header.partition(" ")
        store = authenticate(token) if scheme == "Bearer" else None
        if store is None:
            raise make_rejection(header)
        g.store = store

    return check_token


def make_rejection(header: str) -> Unauthorized:
    """Describe the error in an Authorization header without revealing the known tokens."""
    words = header.split()
    if not words:
        return Unauthorized("token_missing", "has no bearer token.", CHALLENGE)
    if words[0].lower() != "bearer":
        mistake = "has an Authorization header of another scheme."
        return Unauthorized("token_missing", mistake, CHALLENGE)
    return Unauthorized(
        "token_invalid", describe_mistake(header), f'{CHALLENGE}, error="invalid_token"'
    )


def describe_mistake(header: str) -> str:
    """Describe the error in a header that begins with `bearer` in any case (`Bearer  x`)."""
    if not header.startswith("Bearer"):
        return "spells the word Bearer in another case."
    rest = header.removeprefix("Bearer")
    if not rest.strip():
        return "has no token after the word."
    if not re.match(r" \S", rest):
        return "has something other than one space after the word."
    if re.search(r"\s", rest[1:]):
        return "has something after the token."
    if not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", rest[1:]):
        return f"has another character: {TOKEN_RULE}."
    return "has an unknown token."
