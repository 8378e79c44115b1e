"""Replaces secrets by `***` in texts that are printed, logged or recorded.

A token is masked whole or not at all. The output never depends on whether a text is the beginning
of a token: otherwise a client could guess a token character by character. So a text is masked
before it is cut, and a long body is cut where no token can be (`cut_between_words`).

Known limitation: a search takes a little longer if a text has the beginning of a token.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import quote, unquote, unquote_plus

MASK = "***"
SHORT = 8  # A token with fewer characters is masked only if it is a whole word.

# The names are guesses.
SECRET_FIELD = re.compile(
    "authorization|(?:^|[-_])auth(?:[-_]|$)|bearer|token|api[-_]?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)
"""Matches the names of header fields with secrets, such as `X-Api-Key`."""


class Redactor:
    """A mask for tokens in any spelling, and for texts as they are or percent-encoded.

    `Redactor(["t0ken"]).mask("Bearer t0ken")` is `Bearer ***`. Some methods also mask secrets by
    their place, such as the value of `access_token` in a query.
    """

    def __init__(self, tokens: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        self._pattern = compile_secrets(tokens, others)

    def finds(self, text: str) -> bool:
        """Return whether a text has something to mask."""
        return self._pattern.search(text) is not None

    def mask(self, text: str) -> str:
        """Mask the tokens and the further texts."""
        return self._pattern.sub(MASK, text)

    def mask_target(self, target: str) -> str:
        """Mask tokens and the value of `access_token` in the target of a request."""
        path, mark, query = target.partition("?")
        return self.mask(path) + mark + self.mask_query(query)

    def mask_query(self, query: str) -> str:
        """Mask tokens and the value of `access_token` (RFC 6750 §2.3) in a query string."""
        parts = []
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if value and unquote_plus(name) == "access_token":
                part = f"{name}={MASK}"
            parts.append(part)
        return self.mask("&".join(parts))

    def mask_request_line(self, method: str, path: str, query: str) -> dict[str, str]:
        """Mask the parts of a request line."""
        return {
            "method": self.mask(method),
            "path": self.mask(path),
            "query": self.mask_query(query),
        }

    @staticmethod
    def mask_field(name: str, value: str) -> str:
        """Mask the value of a header field whose name is that of a secret."""
        if name == "Authorization":
            is_bearer = value.lower().startswith("bearer ")
            return f"Bearer {MASK}" if is_bearer else MASK
        return MASK if SECRET_FIELD.search(name) else value


def compile_secrets(tokens: Iterable[str], others: Iterable[str]) -> re.Pattern[str]:
    """Compile the pattern of tokens in any spelling, and of further texts.

    If two texts begin at the same place, it finds the token, and the longer token. A token with
    fewer than `SHORT` characters is found only if it is a whole word. A search takes linear time.
    """
    spelled: dict[str, list[str]] = {}
    for token in sorted(tokens, key=len, reverse=True):
        spelled[token] = [build_pattern(char) for char in token]
    for other in sorted(others, key=len, reverse=True):
        in_json = other.replace("/", r"\/")
        for text in (other, in_json, quote(other, safe=""), unquote(other)):
            spelled.setdefault(text, [re.escape(text[:1]), re.escape(text[1:])])
    spelled.pop("", None)
    long = [forms for text, forms in spelled.items() if len(text) >= SHORT]
    short = [forms for text, forms in spelled.items() if len(text) < SHORT]
    # A word may begin after an escaped character.
    word = r"(?:(?<!\w)|(?<=%[0-9a-f]{2})|(?<=25[0-9a-f]{2})|(?<=\\u00[0-9a-f]{2})|(?<=\\[bfnrt]))"
    # The lookahead makes the search fast: most characters do not begin a match.
    starts = re.escape("".join({text[0] for text in spelled}))
    pattern = rf"(?=[{starts}%\\~])(?:{join_by_first(long)}|{word}(?:{join_by_first(short)})(?!\w))"
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


def build_pattern(char: str) -> str:
    r"""Return the pattern of a character of a token, as it is or escaped.

    A `/` may be escaped as `%2F`, `%252F`, `\u002f`, `\\u002f`, `\/` and `~1`.
    """
    if not char.isascii():
        return re.escape(char)
    backslash = r"(?:\\|%(?:25)*5c)"  # JSON may be nested in JSON, and in a URL.
    # Some characters have an escape of their own in JSON, in a JSON Pointer, or in a form.
    escapes = {"/": rf"{backslash}{{0,8}}/|~0*1", "~": "~0*", "+": "[+ ]"}
    codes = {f"{ord(char.lower()):02x}", f"{ord(char.upper()):02x}"}
    own = escapes.get(char, re.escape(char.lower()))
    return rf"(?:{own}|(?:%(?:25)*|{backslash}{{1,8}}u00)(?:{'|'.join(sorted(codes))}))"


def join_by_first(texts: Iterable[list[str]]) -> str:
    """Join patterns of texts: `ab` and `ac` become `a(?:b|c)`, which is faster than `ab|ac`."""
    rests: dict[str, list[str]] = defaultdict(list)
    for first, *rest in texts:
        rests[first].append("".join(rest))
    branches = [f"{first}(?:{'|'.join(each)})" for first, each in rests.items()]
    return "|".join(branches) or "(?!)"  # `(?!)` matches nothing.


def cut_between_words(body: bytes, size: int) -> bytes:
    """Cut a body after at least `size` bytes, at a byte that is in no spelling of a token.

    So it does not end with a part of a token, for any token. No token has the byte in UTF-8 or
    UTF-16.
    """
    end = re.compile(rb"[^\0\w.~+/=%\\ -]").search(body, size)
    return body[: end.start()] if end else body


def make_printable(text: str) -> str:
    """Replace control characters and other unprintable characters by `?`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def cut_text(text: str, size: int) -> str:
    """Cut a text to at most `size` bytes of UTF-8. Mask it before."""
    data = text.encode(errors="replace")
    return data[:size].decode(errors="ignore")
