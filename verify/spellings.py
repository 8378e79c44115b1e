"""The secrets of a log, and the spellings in which they may stand somewhere.

One list serves all: whether a response has the token, what is masked in each output, and what may
not stand in a profile.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, unquote

from stub.redaction import MASK, SECRET_NAME, Redactor

from .exchange import NOTHING, Exchange, Log

LEAST_CORE = 8  # characters of base64 or hex that are searched for inside of other text
LEAST_COOKIE = 6  # characters of a cookie that is masked wherever it stands
LONG = 12  # of one that has letters alone
LONG_WORD = 16  # of a word that may be a token
LONG_NAME = 200  # of a member, of which the end is looked at

# Guesses: names of members and parameters that hold secrets, beside those of header fields.
SECRET_MEMBER = re.compile(
    "passw|passphrase|pwd|(^|_)pass(_|$)|credential|signature|(^|_)sig$|connection_?string"
    "|(^|_)key(_data|_pem)?$|(^|_)(dsn|pfx|p12|keystore|pin|otp)$"
    "|_private$|mnemonic|seed_phrase|recovery_code"
)
NO_SECRET = re.compile(
    "page|next|cursor|continuation|_(id|name|type|count|at|in)$"
    "|^(primary|partition|sort|foreign|public)_key$"
)
"""Names of what is none: a page token, the id of a key."""
SENT_SECRET = re.compile("code|otp|pin|assertion", re.IGNORECASE)  # whole names, in a request alone
SENT_DIGITS = re.compile("[0-9 -]{4,}")  # of such a code
PLACEHOLDER = re.compile("redact|filter|saniti|mask|placeholder|removed|hidden", re.IGNORECASE)

# A JSON Web Token of three parts, or of five (RFC 7519 §3.1); it begins with `{"` in base64.
JWT = re.compile(r"(?<![\w-])eyJ[\w-]{4,}={0,2}\.[\w-]*={0,2}\.[\w-]*(\.[\w-]*\.[\w-]*)?")
ENTITY = re.compile("&#|&[0-9A-Za-z]{1,8};")  # of HTML; a number may have no `;`
KNOWN = re.compile(  # how the tokens of well-known services begin
    r"(?<![\w-])(whsec_|[rs]k_(live|test)_|gh[oprsu]_|github_pat_|gl[a-z]{2,4}-|xox[a-z]-|npm_|pypi-"
    r"|dop_v1_|hf_|SG\.|AKIA|AIza)[\w.-]{16,}"
    r"|(?<=[Bb]earer )(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*"
)
# What has a name: its groups are all before the value, and the name.
ASSIGNED = re.compile(r"(?<![\w.-])(([\w.-]{1,64})(?:=|%3D))[^\s=&;\"'<>,%][^\s&;\"'<>,]*", re.I)
MEMBER = re.compile(r'("([^"\\]{1,64})"\s*:\s*")(?:[^"\\]|\\.)+')  # of JSON, perhaps cut off
USER = re.compile(r"(?<=://)[^/\s@\"'<>]+(?=@)")  # of a URL, with a password


class Secrets:
    """Finds and masks secrets in texts.

    `tokens` are the bearer tokens: a response that has one leaks it. `others` are masked, too.
    """

    def __init__(self, tokens: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        self.tokens = tuple(dict.fromkeys(filter(None, tokens)))
        spelled = [each for token in self.tokens for each in spellings(token)]
        self._tokens = Redactor(spelled)
        self._all = Redactor([*spelled, *others])

    def leak_in(self, exchange: Exchange) -> bool:
        """Whether a response has a token, in its body or in its header fields."""
        fields = [f"{name}: {value}" for name, value in exchange.headers.items()]
        text = exchange.content.decode(errors="replace")
        return any(has(self._tokens, each) for each in (*fields, text))

    def are_in(self, text: str) -> bool:
        """Whether a text has a secret, in any spelling, or looks like one."""
        return has(self._all, text) or has_credentials(text)

    def mask(self, text: str) -> str:
        """The text with each secret masked."""
        masked = self._all.text(text)
        if has(self._all, masked):  # in HTML entities
            masked = self._all.text(unescape(masked))
        for pattern in (JWT, KNOWN, USER):
            masked = pattern.sub(MASK, masked)
        for pattern in (MEMBER, ASSIGNED):
            masked = pattern.sub(masked_value, masked)
        return masked


def has(redactor: Redactor, text: str) -> bool:
    if redactor.text(text) != text:
        return True
    if not ENTITY.search(text):
        return False
    plain = unescape(text)
    return redactor.text(plain) != plain


def masked_value(named: re.Match[str]) -> str:
    before, name = named.groups()
    return f"{before}{MASK}" if is_secret_name(name) else named[0]


def spellings(token: str) -> Iterator[str]:
    """A token as it is, without its `=`, in hex, and in base64 wherever it stands in what is
    encoded, such as `Bearer TOKEN` or `user:TOKEN`. `Redactor` knows what is percent-encoded.
    """
    data = token.encode(errors="replace")
    yield token
    yield token.rstrip("=") or token
    cores = [data.hex()]
    for before in range(3):  # bytes that stand before it in a group of three (RFC 4648 §4)
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        first = (0, 2, 3)[before]  # of a character that has no bit of what stands before
        rest = (before + len(data)) % 3
        last = len(encoded) - 1 if rest else len(encoded)  # the last one has bits of what follows
        core = encoded[first:last]
        cores += [core, core.replace("+", "-").replace("/", "_")]
    for core in cores:
        if len(core) >= LEAST_CORE:
            yield core


# Which texts are secrets


def secrets_of(log: Log, token: str = "") -> Secrets:
    """The secrets of a log; `token` is that of the run, if it has one.

    A placeholder of who wrote a recording, or a word, is no token.
    """
    sent = dict.fromkeys(each.token for each in log.exchanges)
    tokens = [token, *(each for each in sent if not is_placeholder(each))]
    others: set[str] = set()
    for exchange in log.exchanges:
        others.update(filter(is_distinctive, other_secrets(exchange)))
        others.update(sent_codes(exchange))
    return Secrets(tokens, others)


def other_secrets(exchange: Exchange) -> Iterator[str]:
    """Cookies, and keys in header fields, URLs and bodies."""
    for name, value in (*exchange.sent, *exchange.headers.items()):
        lower_name = name.lower()
        if lower_name in ("cookie", "set-cookie"):
            yield from cookies_in(str(value))
        elif lower_name != "authorization" and SECRET_NAME.search(name):
            yield str(value)
    for name, value in sent_members(exchange):
        if is_secret_name(name):
            yield value
    for name, value in members_of(exchange.seen):
        if is_secret_name(name) and name.lower() != "key":  # which may be an id
            yield value


def sent_codes(exchange: Exchange) -> Iterator[str]:
    """The codes of a request, which may have digits alone."""
    for name, value in sent_members(exchange):
        is_secret = is_distinctive(value) or SENT_DIGITS.fullmatch(value)
        if is_secret and SENT_SECRET.fullmatch(name):
            yield value


def sent_members(exchange: Exchange) -> list[tuple[str, str]]:
    """The parameters and members of a request, in its query and its body."""
    sent = parse_qsl(exchange.query) + members_of(exchange.sent_json)
    if exchange.sent_json is NOTHING:
        sent += parse_qsl(exchange.body.decode(errors="replace")[:10_000])
    return sent


def members_of(value: Any) -> list[tuple[str, str]]:
    """The texts and numbers in the objects of a value, with the names of their members.

    That of a variable has the variable's name, too.
    """
    found = []
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            left += each.values()
            label = label_of(each)
            if label and isinstance(each["value"], str):
                found.append((label, each["value"]))
            plain = [(name, text) for name, text in each.items() if isinstance(text, str | int)]
            found += [(name, str(text)) for name, text in plain]
    return found


def label_of(value: dict[str, Any]) -> str:
    """The name of a variable that an object has with its value, "" if it has none."""
    label = value.get("key", value.get("name"))
    return label if "value" in value and isinstance(label, str) else ""


def cookies_in(field: str) -> list[str]:
    """The values in a Cookie or a Set-Cookie field, and those of its attributes."""
    values = [part.partition("=")[2] for part in re.split("[;,]", field)]
    return [value.strip(' "') for value in values]


def is_placeholder(text: str) -> bool:
    """Whether it stands for a secret that somebody has removed: `***`, `[Filtered]`, a word."""
    core = re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", text)
    characters = set(core) - {"-", "_"}
    if len(characters) <= 1 or PLACEHOLDER.search(core):
        return True
    return len(core) < LONG_WORD and re.fullmatch("[A-Za-z_-]+", core) is not None


def is_distinctive(text: str) -> bool:
    """Whether a text is a secret, and neither a word nor a placeholder."""
    if is_placeholder(text):
        return False
    if len(text) >= LONG:
        return True
    has_letters = re.search("[A-Za-z]", text) is not None
    has_digits = re.search("[0-9]", text) is not None
    return has_letters and has_digits and len(text) >= LEAST_COOKIE


def is_secret_name(name: str) -> bool:
    """Whether a member or a parameter of this name holds a secret; a page token is none."""
    separated = re.sub("(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name[-LONG_NAME:])
    words = separated.lower()
    if NO_SECRET.search(words):
        return False
    return bool(SECRET_NAME.search(words) or SECRET_MEMBER.search(words))


def has_credentials(text: str) -> bool:
    """Whether a text has a token of a known form, a URL with a password, `Pwd=` or the like."""
    text = unquote(text)
    if any(pattern.search(text) for pattern in (JWT, KNOWN, USER)):
        return True
    return any(is_secret_name(name) for _, name in ASSIGNED.findall(text))
