"""What is masked in a log or in the journal: replaced by `***`.

A valid token is masked wherever it stands, in any spelling; a short one only where it is a whole
word, since it may be a part of others. Also masked are the credential of the
Authorization header, header fields with a secret's name, and the value of the query parameter
`access_token` (RFC 6750 §2.3). Nothing else is searched for or changed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

MASK = "***"
SHORT = 8  # characters; a token of less is short
ESCAPES = ("%", "\\", "~")  # without one of these a token is spelled as it is
SECRET_NAME = re.compile(
    "authorization|(?:^|[-_])auth(?:[-_]|$)|bearer|token|api[-_]?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)


class Known(NamedTuple):
    """The tokens to mask, as they are and in lower case. Replaced as a whole."""

    tokens: tuple[str, ...]
    in_lower_case: tuple[str, ...]


class Redactor:
    """Masks the valid `tokens` of an app, and other secrets by their place."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._known = Known((), ())
        self.add(tokens)

    def add(self, tokens: Iterable[str]) -> None:
        """Mask these tokens, too."""
        # Longest first, so that a token which contains another is masked as a whole.
        known = sorted({*self._known.tokens, *tokens}, key=len, reverse=True)
        self._known = Known(tuple(known), tuple(token.lower() for token in known))

    def text(self, text: str) -> str:
        """The text with each valid token masked."""
        tokens, in_lower_case = self._known
        lower = text.lower()
        if not tokens or not any(sign in lower for sign in (*ESCAPES, *in_lower_case)):
            return text
        pattern = pattern_of(tokens)
        text = pattern.sub(MASK, text)
        if "%" in text:
            decoded = unquote(unquote(text))
            if pattern.search(decoded):  # encoded more than once, or in part
                return MASK  # the whole text, as the position is unknown
        return text

    def host(self, host: str) -> str:
        """A field Host, masked also where its name is the beginning of a token: a host can have no
        `/` and no `+`, which may follow there.
        """
        name = re.sub(":[0-9]*$", "", host).strip("[].").rpartition("@")[2].lower()
        if name and any(token.startswith(name) for token in self._known.in_lower_case):
            return MASK
        return self.text(host)

    def target(self, target: str) -> str:
        """The target of a request with tokens and the value of `access_token` masked."""
        path, mark, query = target.partition("?")
        return self.text(path) + mark + self.query(query)

    def query(self, query: str) -> str:
        """A query string with tokens and the value of `access_token` masked."""
        parts = query.split("&")
        for index, part in enumerate(parts):
            name, equals, value = part.partition("=")
            if value and unquote_plus(name) == "access_token":
                parts[index] = f"{name}{equals}{MASK}"
        return self.text("&".join(parts))

    def request_line(self, method: str, path: str, query: str) -> dict[str, str]:
        """The first line of a request, masked, by the names of the journal."""
        return {"method": self.text(method), "path": self.text(path), "query": self.query(query)}

    @staticmethod
    def secret(name: str, value: str) -> str:
        """The value of a header field, masked if a field of this name holds a secret."""
        if name == "Authorization":
            return f"Bearer {MASK}" if value[:7].lower() == "bearer " else MASK
        return MASK if SECRET_NAME.search(name) else value


@lru_cache(maxsize=8)
def pattern_of(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the tokens in any spelling."""
    return re.compile("|".join(map(spellings, tokens)), re.IGNORECASE)


def spellings(token: str) -> str:
    """A pattern of a token, percent-encoded (also twice), or escaped as in JSON or a pointer."""
    pattern = "".join(map(spellings_of_character, token))
    if len(token) >= SHORT:
        return pattern
    return rf"(?:(?<!\w)|(?<=%[0-9a-f]{{2}})){pattern}(?!\w)"


def spellings_of_character(char: str) -> str:
    code = ord(char)
    pointer = {"~": "~0|", "/": "~1|"}.get(char, "")
    return rf"(?:{pointer}\\?{re.escape(char)}|\\u{code:04x}|%(?:25)*{code:02x})"


def printable(text: str) -> str:
    """The text with `?` for each control and the like, so that a line of it stays one."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    return text.encode(errors="replace")[:size].decode(errors="ignore")
