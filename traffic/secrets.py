"""Finds the secrets of a recording, or of a session with a service, and masks them.

The names and the forms of secrets are guesses.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from html import unescape
from urllib.parse import unquote

from . import masking

SECRET_MEMBER = re.compile(
    "passw|passphrase|passcode|pwd|(^|_)pass(_|$)|credential|signature|(^|_)sig$"
    "|connection_?string|totp|kubeconfig|magic_link"
    "|(^|_)key(_data|_pem)?$|(^|_)(dsn|pfx|p12|keystore|pin|otp|pat|psk)$"
    "|_private$|mnemonic|seed_phrase|recovery_code|(^|_)(creds|refresh)$"
)
"""Matches further names of members and parameters with secrets, such as `db_password`."""
NO_SECRET = re.compile(
    "page|next|cursor|continuation|_(id|name|type|count|at|in)$"
    "|^(primary|partition|sort|foreign|public)_key$"
)
"""Matches names that look like those of secrets, but are harmless: `page_token`, `key_id`."""

# A JSON Web Token has three or five parts (RFC 7519 §3.1); `eyJ` is `{"` in base64.
JWT = re.compile(r"(?<![\w-])eyJ[\w-]{4,}={0,2}\.[\w-]*={0,2}\.[\w-]*(\.[\w-]*\.[\w-]*)?")
# The tokens of well-known services have these prefixes.
KNOWN = re.compile(
    r"(?<![\w-])(whsec_|[rs]k_(live|test)_|gh[oprsu]_|github_pat_|gl[a-z]{2,4}-|xox[a-z]-|npm_|pypi-"
    r"|dop_v1_|dckr_pat_|hf_|sk-|SG\.|AKIA|AIza)[\w.-]{16,}"
    r"|(?<=[Bb]earer )(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*|(?<=[Bb]asic )(?=[\w+/-]*[\d=])[\w+/-]{8,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[^-]*"
)
# The groups of the next three patterns are the text before the value, and the name of the value.
ASSIGNED = re.compile(r"(?<![\w.-])(([\w.-]{1,64})(?:=|%3D))[^\s=&;\"'<>,%][^\s&;\"'<>,]*", re.I)
# `password: x7k2q9`, `--password x7k2q9` and `{\"password\": \"x7k2q9\"}` in a text.
SPOKEN = re.compile(
    r"(?<![\w.-])(([\w.-]{1,64})[\\\"']{0,4}(?: ?[:=] ?| )[\\\"']{0,4})"
    r"(?=[^\s\"'\\,;&<>]{,64}[0-9])(?=[^\s\"'\\,;&<>]{,64}[A-Za-z])[^\s\"'\\,;&<>]{6,}"
)
MEMBER = re.compile(r'("([^"\\]{1,64})"\s*:\s*")(?:[^"\\]|\\.)+')  # The JSON may have been cut.
USER = re.compile(r"(?<=://)[^/\s@\"'<>]+(?=@)")  # It matches `user:password` in a URL.
# The path of the URL of a webhook may be a secret; the group is the text before it.
HOOK = re.compile(
    r"(://[^\s\"'<>:]{0,200}?(?:\bhooks?\b|webhook)[^\s\"'<>:/]{0,100}/)[^\s\"'<>]+", re.IGNORECASE
)


class Secrets:
    """The secrets of a recording, or of a session with a service.

    Bearer tokens (`tokens`) are also found in base64, hex and HTML, and without the `=` at their
    end. Further secrets (`others`) are cookies, keys and codes. Texts that look like secrets, such
    as `api_key=4f9a`, are masked, too.
    """

    def __init__(self, tokens: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        self.tokens = tuple(dict.fromkeys(filter(None, tokens)))
        known = {*self.tokens, *(token.rstrip("=") for token in self.tokens)}
        encoded = [each for token in self.tokens for each in encode_token(token)]
        self._tokens = masking.Redactor(known, encoded)
        self._all = masking.Redactor(known, [*encoded, *others])

    def has_token(self, text: str) -> bool:
        """Return whether a text has a bearer token."""
        return self._tokens.finds(text) or self._tokens.finds(decode_entities(text))

    def has_secret(self, text: str) -> bool:
        """Return whether a text has a secret, in any spelling, or looks like one."""
        is_known = self._all.finds(text) or self._all.finds(decode_entities(text))
        return is_known or has_credentials(text)

    def mask(self, text: str) -> str:
        """Mask the secrets of a text."""
        masked = self._all.mask(text)
        plain = decode_entities(masked)
        if self._all.finds(plain):
            masked = self._all.mask(plain)
        for pattern in (JWT, KNOWN, USER):
            masked = pattern.sub(masking.MASK, masked)
        for pattern in (MEMBER, ASSIGNED, SPOKEN):
            masked = pattern.sub(mask_value, masked)
        return HOOK.sub(rf"\1{masking.MASK}", masked)


def mask_value(named: re.Match[str]) -> str:
    """Mask the value in a match of one of the patterns, if its name is that of a secret."""
    before, name = named.groups()
    return f"{before}{masking.MASK}" if is_secret_name(name) else named[0]


def encode_token(token: str, min_length: int = 8) -> Iterator[str]:
    """Encode a token in hex, and in base64 at all offsets: it may follow `Bearer ` or `user:`.

    Encoded tokens with fewer than `min_length` characters are left out.
    """
    data = token.encode(errors="replace")
    encoded = [data.hex()]
    # Base64 encodes groups of three bytes (RFC 4648 §4): the token may begin at each byte of them.
    for before in range(3):
        digits = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and the last character may also have bits of the surrounding text.
        first = (0, 2, 3)[before]
        rest = (before + len(data)) % 3
        last = len(digits) - 1 if rest else len(digits)
        core = digits[first:last]
        encoded += [core, core.replace("+", "-").replace("/", "_")]
    for core in encoded:
        if len(core) >= min_length:
            yield core


def decode_entities(text: str) -> str:
    """Replace the entities of HTML, such as `&amp;`, `&#47;` and `&#47`."""
    return unescape(text) if re.search("&#|&[0-9A-Za-z]{1,8};", text) else text


def is_secret_name(name: str) -> bool:
    """Return whether a member or a parameter holds a secret: `apiKey` does, `page_token` does not.

    Only the last 200 characters of a name are read.
    """
    separated = re.sub("(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name[-200:])
    words = separated.lower()
    if NO_SECRET.search(words):
        return False
    return bool(masking.SECRET_FIELD.search(words) or SECRET_MEMBER.search(words))


def has_credentials(text: str) -> bool:
    """Return whether a text looks like a secret: a known token, a URL with a password, `pwd=x`."""
    text = unquote(text)
    if any(pattern.search(text) for pattern in (JWT, KNOWN, USER)):
        return True
    named = (*ASSIGNED.findall(text), *SPOKEN.findall(text))
    return any(is_secret_name(name) for _, name in named)


def is_placeholder(text: str, max_word: int = 15) -> bool:
    """Return whether a text replaces a removed secret: `***`, `[Filtered]`, a word like `token`.

    A word with more than `max_word` characters may be a token.
    """
    core = re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", text)
    characters = set(core) - {"-", "_"}
    words = "redact|filter|saniti|mask|placeholder|removed|hidden"
    if len(characters) <= 1 or re.search(words, core, re.IGNORECASE):
        return True
    return len(core) <= max_word and re.fullmatch("[A-Za-z_-]+", core) is not None


def is_distinctive(text: str, min_mixed: int = 6, min_length: int = 12) -> bool:
    """Return whether a text can be masked wherever it stands, since no other text is like it.

    It is no placeholder, and has at least `min_length` characters, or at least `min_mixed`
    characters with letters and digits among them.
    """
    if is_placeholder(text):
        return False
    if len(text) >= min_length:
        return True
    has_letters = re.search("[A-Za-z]", text) is not None
    has_digits = re.search("[0-9]", text) is not None
    return has_letters and has_digits and len(text) >= min_mixed


def parse_cookies(field: str) -> list[str]:
    """Return the values in a field Cookie or Set-Cookie: of `a=1; Path=/` they are `1` and `/`."""
    values = [part.partition("=")[2] for part in re.split("[;,]", field)]
    return [value.strip(' "') for value in values]
