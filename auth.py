"""The bearer check: every request needs the token, in exactly the form of the interface's §5."""

import hmac
import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from flask import Flask, request
from werkzeug.exceptions import Unauthorized

DEFAULT_TOKEN = "dev-token"
"""Published, and therefore good for loopback only."""

CHALLENGE = 'Bearer realm="project-and-deployment-service"'
FORM = (
    "Send the header `Authorization: Bearer <ACCESS_TOKEN>`: the word Bearer, one space, "
    "a token that this service was started with, and nothing else"
)


class TokenMissing(Unauthorized):
    """No attempt at a bearer token: RFC 6750 §3.1 wants no `error` in the challenge then."""

    problem = "token_missing"
    description = f"{FORM}. This request has no bearer token."
    challenge = CHALLENGE

    def get_headers(self, *args: object) -> list[tuple[str, str]]:
        return [("WWW-Authenticate", self.challenge)]


class TokenInvalid(TokenMissing):
    """An attempt in another form, or with a token that is not known."""

    problem = "token_invalid"
    description = f"{FORM}. What this request sent differs from that."
    challenge = f'{CHALLENGE}, error="invalid_token"'


class BearerAuth:
    """An allow-list of tokens. Each must be a b64token (RFC 6750 §2.1), else `ValueError`.

    With `worlds`, a token followed by a dot and the name of a world is valid, too.
    """

    def __init__(self, tokens: Iterable[str], *, worlds: bool = False) -> None:
        # Longest first, so that a token that contains another is redacted as a whole.
        self._tokens = sorted({*tokens}, key=len, reverse=True)
        self._worlds = worlds
        if not self._tokens:
            raise ValueError("at least one token is needed")
        for token in self._tokens:
            if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
                raise ValueError("a token is made of A-Z a-z 0-9 - . _ ~ + / and may end with =")

    def check(self, header: str) -> str:
        """The world that an Authorization header is for, empty for the main one.

        Raises `TokenMissing` or `TokenInvalid` unless the header is right.
        """
        scheme, _, sent = header.partition(" ")
        if scheme == "Bearer":
            if self._knows(sent):
                return ""
            token, _, world = sent.rpartition(".")
            if self._worlds and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", world) and self._knows(token):
                return world
        first_word = header.split(maxsplit=1)[:1]
        attempted = bool(first_word) and first_word[0].lower() == "bearer"
        raise TokenInvalid if attempted else TokenMissing

    def redact(self, text: str, tried: Iterable[str] = ()) -> str:
        """`text` with each valid token, and each of those `tried`, replaced by `***`.

        A token is found however a URL, JSON or the name of a header field spells it.
        """
        is_spelled = "%" in text or "\\" in text or "~" in text
        lower = text.lower()
        tokens = sorted({*self._tokens, *tried}, key=len, reverse=True) if tried else self._tokens
        for token in tokens:
            if is_spelled or token.lower() in lower:
                text = spelled(token).sub("***", text)
                if "%" in text and token.lower() in unquote(unquote(text)).lower():
                    return "***"
        return text

    def _knows(self, sent: str) -> bool:
        # Every token is compared, each in constant time: how long it takes tells nothing.
        data = sent.encode(errors="replace")
        known = [hmac.compare_digest(token.encode(), data) for token in self._tokens]
        return any(known)


@lru_cache(maxsize=256)
def spelled(token: str) -> re.Pattern[str]:
    """A token in any case, percent-encoded (also twice), or as JSON or a pointer escapes it."""
    pointer = {"~": "~0|", "/": "~1|"}
    return re.compile(
        "".join(
            rf"(?:{pointer.get(char, '')}\\?{re.escape(char)}|\\u{ord(char):04x}|"
            + "".join(f"%(?:25)*{byte:02x}" for byte in char.encode(errors="replace"))
            + ")"
            for char in token
        ),
        re.IGNORECASE,
    )


def require_token(app: Flask, auth: BearerAuth, open_paths: Container[str]) -> None:
    """Deny every request without a token, but GET and HEAD of the open paths.

    A `before_request` function of the app runs ahead of what routing found, so an unknown path or
    a wrong method without a token is 401, too. The path is compared with all its slashes. The
    world of the token is left in the environment.
    """

    @app.before_request
    def check_token() -> None:
        environ: dict[str, Any] = request.environ
        if environ["PATH_INFO"] in open_paths and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return
        environ["app.world"] = auth.check(environ.get("HTTP_AUTHORIZATION", ""))
