"""Masks secrets in what is printed, logged or recorded: `***` stands in their place.

A token is masked whole or not at all. What is shown never depends on whether a text is the
beginning of a token: a rule for a part of one would let a client guess the rest, a character at a
time. So a text is masked before it is cut, and a long body ends where no token can stand
(`cut_between_words`).

Known limitation: a search takes a little longer where a text has the beginning of a token.
"""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import unescape
from urllib.parse import quote, unquote, unquote_plus

MASK = "***"
SHORT = 8  # characters; a token of less is masked only where it is a whole word
# Where a word begins: also after an escaped character.
WORD = r"(?:(?<!\w)|(?<=%[0-9a-f]{2})|(?<=25[0-9a-f]{2})|(?<=\\u00[0-9a-f]{2})|(?<=\\[bfnrt]))"
# A byte that no token has in any spelling, in UTF-8 or UTF-16.
BETWEEN_WORDS = re.compile(rb"[^\0\w.~+/=%\\ -]")
# Of an escape: JSON may stand in JSON, and both in a URL.
BACKSLASH = r"(?:\\|%(?:25)*5c)"
# How some characters may stand in a text: in JSON, in a JSON Pointer (RFC 6901 §4), in a form.
SPELLED = {"/": rf"{BACKSLASH}{{0,8}}/|~0*1", "~": "~0*", "+": "[+ ]"}

# Names and texts of secrets: guesses.
SECRET_FIELD = re.compile(
    "authorization|(?:^|[-_])auth(?:[-_]|$)|bearer|token|api[-_]?key|cookie|secret|password|jwt",
    re.IGNORECASE,
)
"""The name of a header field with a secret."""
SECRET_MEMBER = re.compile(
    "passw|passphrase|pwd|(^|_)pass(_|$)|credential|signature|(^|_)sig$|connection_?string"
    "|(^|_)key(_data|_pem)?$|(^|_)(dsn|pfx|p12|keystore|pin|otp)$"
    "|_private$|mnemonic|seed_phrase|recovery_code|(^|_)(creds|refresh)$"
)
"""The name of a member or a parameter with a secret, beside those of header fields."""
NO_SECRET = re.compile(
    "page|next|cursor|continuation|_(id|name|type|count|at|in)$"
    "|^(primary|partition|sort|foreign|public)_key$"
)
"""The name of what is none: a page token, the id of a key."""
LONG_NAME = 200  # characters at the end of a name that are looked at
PLACEHOLDER = re.compile("redact|filter|saniti|mask|placeholder|removed|hidden", re.IGNORECASE)
LEAST_ENCODED = 8  # characters of base64 or hex that are searched for inside of other text
LEAST_MIXED = 6  # characters of a secret with letters and digits that is masked anywhere
LEAST_ALIKE = 12  # of one with letters alone, or digits alone
LEAST_WORD = 16  # of a word that may be a token

# A JSON Web Token of three parts, or of five (RFC 7519 §3.1); it begins with `{"` in base64.
JWT = re.compile(r"(?<![\w-])eyJ[\w-]{4,}={0,2}\.[\w-]*={0,2}\.[\w-]*(\.[\w-]*\.[\w-]*)?")
ENTITY = re.compile("&#|&[0-9A-Za-z]{1,8};")  # of HTML; a number may have no `;`
KNOWN = re.compile(  # how the tokens of well-known services begin
    r"(?<![\w-])(whsec_|[rs]k_(live|test)_|gh[oprsu]_|github_pat_|gl[a-z]{2,4}-|xox[a-z]-|npm_|pypi-"
    r"|dop_v1_|hf_|SG\.|AKIA|AIza)[\w.-]{16,}"
    r"|(?<=[Bb]earer )(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*|(?<=[Bb]asic )(?=[\w+/-]*[\d=])[\w+/-]{8,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*"
)
# What has a name. Its groups are all before the value, and the name.
ASSIGNED = re.compile(r"(?<![\w.-])(([\w.-]{1,64})(?:=|%3D))[^\s=&;\"'<>,%][^\s&;\"'<>,]*", re.I)
MEMBER = re.compile(r'("([^"\\]{1,64})"\s*:\s*")(?:[^"\\]|\\.)+')  # of JSON, perhaps cut off
USER = re.compile(r"(?<=://)[^/\s@\"'<>]+(?=@)")  # of a URL, with a password


class Redactor:
    """Masks tokens wherever they stand, in any spelling, other texts as they are or
    percent-encoded, and more secrets by their place.
    """

    def __init__(self, tokens: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        self._pattern = compile_secrets(tokens, others)

    def finds(self, text: str) -> bool:
        """Return whether a text has a token or another of the texts."""
        return self._pattern.search(text) is not None

    def text(self, text: str) -> str:
        """Mask each token of a text."""
        return self._pattern.sub(MASK, text)

    def target(self, target: str) -> str:
        """Mask tokens and the value of `access_token` in the target of a request."""
        path, mark, query = target.partition("?")
        return self.text(path) + mark + self.query(query)

    def query(self, query: str) -> str:
        """Mask tokens and the value of `access_token` (RFC 6750 §2.3) in a query string."""
        parts = []
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if value and unquote_plus(name) == "access_token":
                part = f"{name}={MASK}"
            parts.append(part)
        return self.text("&".join(parts))

    def request_line(self, method: str, path: str, query: str) -> dict[str, str]:
        """Mask the parts of a request line."""
        return {
            "method": self.text(method),
            "path": self.text(path),
            "query": self.query(query),
        }

    @staticmethod
    def secret(name: str, value: str) -> str:
        """Mask the value of a header field whose name is that of a secret."""
        if name == "Authorization":
            is_bearer = value.lower().startswith("bearer ")
            return f"Bearer {MASK}" if is_bearer else MASK
        return MASK if SECRET_FIELD.search(name) else value


def compile_secrets(tokens: Iterable[str], others: Iterable[str]) -> re.Pattern[str]:
    """Compile the pattern of tokens in any spelling, and of other texts.

    Of two that begin together it finds the token, and of two tokens the longer one. A search takes
    linear time.
    """
    spelled: dict[str, list[str]] = {}
    for token in sorted(tokens, key=len, reverse=True):
        spelled[token] = [spell(char) for char in token]
    for other in sorted(others, key=len, reverse=True):
        in_json = other.replace("/", r"\/")
        for text in (other, in_json, quote(other, safe=""), unquote(other)):
            spelled.setdefault(text, [re.escape(text[:1]), re.escape(text[1:])])
    spelled.pop("", None)
    long = [forms for text, forms in spelled.items() if len(text) >= SHORT]
    short = [forms for text, forms in spelled.items() if len(text) < SHORT]
    # Most characters begin nothing.
    starts = re.escape("".join({text[0] for text in spelled}))
    pattern = rf"(?=[{starts}%\\~])(?:{join_by_first(long)}|{WORD}(?:{join_by_first(short)})(?!\w))"
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


def spell(char: str) -> str:
    r"""Write the pattern of a character of a token, as it is or escaped: `/` is also `%2F`,
    `%252F`, `\u002f`, `\\u002f`, `\/` and `~1`.
    """
    if not char.isascii():
        return re.escape(char)
    codes = {f"{ord(char.lower()):02x}", f"{ord(char.upper()):02x}"}
    own = SPELLED.get(char, re.escape(char.lower()))
    return rf"(?:{own}|(?:%(?:25)*|{BACKSLASH}{{1,8}}u00)(?:{'|'.join(sorted(codes))}))"


def join_by_first(texts: Iterable[list[str]]) -> str:
    """Join patterns of texts, so that a search tries those with one first character together."""
    rests: dict[str, list[str]] = defaultdict(list)
    for first, *rest in texts:
        rests[first].append("".join(rest))
    branches = [f"{first}(?:{'|'.join(each)})" for first, each in rests.items()]
    return "|".join(branches) or "(?!)"  # which matches nothing


class Secrets:
    """Finds and masks the secrets of a recording or of a session with a service.

    `tokens` are bearer tokens: they are found without the `=` at their end, in base64, hex and
    HTML, too. `others` are cookies, keys and codes. Also masked is what looks like a secret.
    """

    def __init__(self, tokens: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        self.tokens = tuple(dict.fromkeys(filter(None, tokens)))
        known = {*self.tokens, *(token.rstrip("=") for token in self.tokens)}
        encoded = [each for token in self.tokens for each in encodings(token)]
        self._tokens = Redactor(known, encoded)
        self._all = Redactor(known, [*encoded, *others])

    def has_token(self, text: str) -> bool:
        """Return whether a text has a token, as a response that leaks it."""
        return self._tokens.finds(text) or self._tokens.finds(plain_of_html(text))

    def are_in(self, text: str) -> bool:
        """Return whether a text has a secret, in any spelling, or looks like one."""
        is_known = self._all.finds(text) or self._all.finds(plain_of_html(text))
        return is_known or has_credentials(text)

    def mask(self, text: str) -> str:
        """Mask each secret of a text."""
        masked = self._all.text(text)
        plain = plain_of_html(masked)
        if self._all.finds(plain):
            masked = self._all.text(plain)
        for pattern in (JWT, KNOWN, USER):
            masked = pattern.sub(MASK, masked)
        for pattern in (MEMBER, ASSIGNED):
            masked = pattern.sub(mask_value, masked)
        return masked


def mask_value(named: re.Match[str]) -> str:
    """Mask the value in a match of `ASSIGNED` or `MEMBER`, if its name is that of a secret."""
    before, name = named.groups()
    return f"{before}{MASK}" if is_secret_name(name) else named[0]


def encodings(token: str) -> Iterator[str]:
    """Encode a token in hex, and in base64 wherever it stands in what is encoded, such as
    `Bearer TOKEN` or `user:TOKEN`.
    """
    data = token.encode(errors="replace")
    encoded = [data.hex()]
    for before in range(3):  # bytes that stand before it in a group of three (RFC 4648 §4)
        digits = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        first = (0, 2, 3)[before]  # of a character that has no bit of what stands before
        rest = (before + len(data)) % 3
        last = len(digits) - 1 if rest else len(digits)  # the last one has bits of what follows
        core = digits[first:last]
        encoded += [core, core.replace("+", "-").replace("/", "_")]
    for core in encoded:
        if len(core) >= LEAST_ENCODED:
            yield core


def plain_of_html(text: str) -> str:
    """Replace the entities of HTML."""
    return unescape(text) if ENTITY.search(text) else text


# Which texts are secrets


def is_secret_name(name: str) -> bool:
    """Return whether a member or a parameter of this name holds a secret; a page token is none."""
    separated = re.sub("(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name[-LONG_NAME:])
    words = separated.lower()
    if NO_SECRET.search(words):
        return False
    return bool(SECRET_FIELD.search(words) or SECRET_MEMBER.search(words))


def has_credentials(text: str) -> bool:
    """Return whether a text has a token of a known form, a URL with a password, `Pwd=x` or so."""
    text = unquote(text)
    if any(pattern.search(text) for pattern in (JWT, KNOWN, USER)):
        return True
    return any(is_secret_name(name) for _, name in ASSIGNED.findall(text))


def is_placeholder(text: str) -> bool:
    """Return whether a text stands for a removed secret: `***`, `[Filtered]`, a word."""
    core = re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", text)
    characters = set(core) - {"-", "_"}
    if len(characters) <= 1 or PLACEHOLDER.search(core):
        return True
    return len(core) < LEAST_WORD and re.fullmatch("[A-Za-z_-]+", core) is not None


def is_distinctive(text: str) -> bool:
    """Return whether a text is a secret, and neither a word nor a placeholder."""
    if is_placeholder(text):
        return False
    if len(text) >= LEAST_ALIKE:
        return True
    has_letters = re.search("[A-Za-z]", text) is not None
    has_digits = re.search("[0-9]", text) is not None
    return has_letters and has_digits and len(text) >= LEAST_MIXED


def cookies_in(field: str) -> list[str]:
    """Return the values in a field Cookie or Set-Cookie, and those of its attributes."""
    values = [part.partition("=")[2] for part in re.split("[;,]", field)]
    return [value.strip(' "') for value in values]


# What is shown


def cut_between_words(body: bytes, size: int) -> bytes:
    """Cut a body of more than `size` bytes at the first byte behind them that no token has.

    So it ends with no part of a token, whatever the tokens are.
    """
    end = BETWEEN_WORDS.search(body, size)
    return body[: end.start()] if end else body


def printable(text: str) -> str:
    """Replace each control character and the like by `?`, so that a line stays one."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def cut(text: str, size: int) -> str:
    """Cut a text to what UTF-8 holds in `size` bytes. It is masked already."""
    data = text.encode(errors="replace")
    return data[:size].decode(errors="ignore")
