"""The bearer check: every request needs the token, in exactly the form of the interface's §5."""

import hmac
import re
from collections.abc import Collection, Container

from flask import Flask, g, request

from problems import Problem

DEFAULT_TOKEN = "dev-token"
"""Published, and therefore good for loopback only."""

REALM = 'Bearer realm="project-and-deployment-service"'
FORM = (
    "Send the header `Authorization: Bearer <ACCESS_TOKEN>`: the word Bearer, one space, "
    "a token that this service was started with, and nothing else"
)


class BearerAuth:
    """An allow-list of tokens. Each must be a b64token (RFC 6750 §2.1), else `ValueError`.

    With `worlds`, a token followed by a dot and the name of a world is valid, too.
    """

    def __init__(self, tokens: Collection[str], *, worlds: bool = False) -> None:
        if not tokens:
            raise ValueError("at least one token is needed")
        for token in tokens:
            if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
                raise ValueError("a token is made of A-Z a-z 0-9 - . _ ~ + / and may end with =")
        self._tokens = [token.encode() for token in tokens]
        self._worlds = worlds

    def check(self, header: str) -> str:
        """The name of the world that an Authorization header is for, empty for the main one.

        Raises a `Problem` with 401. Without an attempt at a bearer token the challenge has no
        `error` (RFC 6750 §3.1).
        """
        scheme, _, sent = header.partition(" ")
        if scheme == "Bearer":
            if self._is_valid(sent):
                return ""
            token, _, world = sent.rpartition(".")
            is_world = self._worlds and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", world)
            if is_world and self._is_valid(token):
                return world
        if header.split(maxsplit=1)[:1] and header.split(maxsplit=1)[0].lower() == "bearer":
            detail = f"{FORM}. What this request sent differs from that."
            raise unauthorized("token_invalid", detail, f'{REALM}, error="invalid_token"')
        raise unauthorized("token_missing", f"{FORM}. This request has no bearer token.", REALM)

    def _is_valid(self, sent: str) -> bool:
        # Compares with every token, each in constant time, so that the time reveals nothing.
        data = sent.encode(errors="replace")
        return sum(hmac.compare_digest(token, data) for token in self._tokens) > 0


def unauthorized(code: str, detail: str, challenge: str) -> Problem:
    return Problem(401, code, detail, headers={"WWW-Authenticate": challenge})


def require_token(app: Flask, auth: BearerAuth, open_paths: Container[str]) -> None:
    """Reject every request without a token, but GET and HEAD of the open paths.

    `before_request` functions of the app run before the result of routing is looked at, so an
    unknown path or a wrong method without a token is 401, too.
    """

    @app.before_request
    def check_token() -> None:
        environ = request.environ  # request.path has lost its leading slashes
        if environ["PATH_INFO"] in open_paths and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return
        g.world_name = auth.check(environ.get("HTTP_AUTHORIZATION", ""))
