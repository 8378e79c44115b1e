"""What is masked in a log or in the journal: replaced by `***`.

A valid token is masked wherever it stands, in any spelling; a short one only where it is a whole
word, since it may be a part of others. Also masked are the credential of the
Authorization header, header fields with a secret's name, and the value of the query parameter
`access_token` (RFC 6750 §2.3). Nothing else is searched for or changed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

MASK = "***"
SHORT = 8  # characters; a token of less is short
ESCAPES = ("%", "\\", "~")  # without one of these a token is spelled as it is
IN_POINTER = {"~": "~0", "/": "~1"}  # a JSON Pointer (RFC 6901 §4)
SECRET_NAME = re.compile(
    "authorization|(?:^|[-_])auth(?:[-_]|$)|bearer|token|api[-_]?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)


class Redactor:
    """Masks the valid `tokens` of an app, and other secrets by their place."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._tokens: tuple[str, ...] = ()
        self.add(tokens)

    def add(self, tokens: Iterable[str]) -> None:
        # Longest first, so that a token which contains another is masked as a whole.
        known = sorted({*self._tokens, *tokens}, key=len, reverse=True)
        # Each replaced as a whole, since other threads read them.
        self._tokens = tuple(known)
        self._lower = [token.lower() for token in known]
        self._signs = (*self._lower, *ESCAPES) if known else ()

    def text(self, text: str) -> str:
        """The text with each valid token masked."""
        lower = text.lower()
        if not any(sign in lower for sign in self._signs):
            return text
        pattern = pattern_of(self._tokens)
        masked = pattern.sub(MASK, text)
        # Encoded more than once, or in part: the whole text is masked, as the position is unknown.
        if "%" in masked and pattern.search(unquote(unquote(masked))):
            return MASK
        return masked

    def host(self, host: str) -> str:
        """A field Host, masked also where its name is the beginning of a token: a host can have no
        `/` and no `+`, which may follow there.
        """
        _, _, name = name_of_host(host).rpartition("@")
        name = name.strip("[].").lower()
        for token in self._lower:
            if name and token.startswith(name):
                return MASK
        return self.text(host)

    def target(self, target: str) -> str:
        """The target of a request with tokens and the value of `access_token` masked."""
        path, mark, query = target.partition("?")
        masked = self.query(query)
        return self.text(path) + mark + masked

    def query(self, query: str) -> str:
        """A query string with tokens and the value of `access_token` masked."""
        parts = []
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if value and unquote_plus(name) == "access_token":
                part = f"{name}={MASK}"
            parts.append(part)
        return self.text("&".join(parts))

    def request_line(self, method: str, path: str, query: str) -> dict[str, str]:
        return {
            "method": self.text(method),
            "path": self.text(path),
            "query": self.query(query),
        }

    @staticmethod
    def secret(name: str, value: str) -> str:
        """The value of a header field, masked if a field of this name holds a secret."""
        if name == "Authorization":
            is_bearer = value.lower().startswith("bearer ")
            return f"Bearer {MASK}" if is_bearer else MASK
        return MASK if SECRET_NAME.search(name) else value


@lru_cache(maxsize=8)
def pattern_of(tokens: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(spellings, tokens)), re.IGNORECASE)


def spellings(token: str) -> str:
    """A pattern of a token, percent-encoded (also twice), or escaped as in JSON or a pointer."""
    pattern = "".join(map(spellings_of_character, token))
    if len(token) >= SHORT:
        return pattern
    return rf"(?:(?<!\w)|(?<=%[0-9a-f]{{2}})){pattern}(?!\w)"


def spellings_of_character(char: str) -> str:
    code = ord(char)
    plain = re.escape(char)
    found = [
        rf"\\?{plain}",
        rf"\\u{code:04x}",
        rf"%(?:25)*{code:02x}",
    ]
    if char in IN_POINTER:
        found.insert(0, IN_POINTER[char])
    spelled = "|".join(found)
    return f"(?:{spelled})"


def name_of_host(host: str) -> str:
    """The name or the address in a field Host, without the port and brackets."""
    return re.sub(":[0-9]*$", "", host).strip("[]")


def printable(text: str) -> str:
    """The text with `?` for each control and the like, so that a line of it stays one."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def cut(text: str, size: int) -> str:
    """As much of the text as UTF-8 holds in `size` bytes."""
    data = text.encode(errors="replace")
    return data[:size].decode(errors="ignore")
