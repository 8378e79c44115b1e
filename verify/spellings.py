"""The secrets of a log: its tokens, and the cookies, keys and codes in it."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from traffic import secrets
from traffic.masking import SECRET_FIELD
from traffic.secrets import is_distinctive, is_placeholder, parse_cookies
from traffic.secrets import is_secret_name as is_secret_name

from .exchange import NOTHING, Log, ServiceExchange

SENT_SECRET = re.compile("code|otp|pin|assertion", re.IGNORECASE)  # whole names, in a request alone
SENT_DIGITS = re.compile("[0-9 -]{4,}")  # of such a code


class Secrets(secrets.Secrets):
    def leak_in(self, exchange: ServiceExchange) -> bool:
        """Return whether a response has a token, in its body or in its header fields."""
        fields = [f"{name}: {value}" for name, value in exchange.response_fields]
        text = exchange.response_body.decode(errors="replace")
        return any(self.has_token(each) for each in (*fields, text))


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


def other_secrets(exchange: ServiceExchange) -> Iterator[str]:
    """Cookies, and keys in header fields, URLs and bodies."""
    for name, value in (*exchange.request_fields, *exchange.response_fields):
        lower_name = name.lower()
        if lower_name in ("cookie", "set-cookie"):
            yield from parse_cookies(str(value))
        elif lower_name != "authorization" and SECRET_FIELD.search(name):
            yield str(value)
    for name, value in sent_members(exchange):
        if is_secret_name(name):
            yield value
    for name, value in members_of(exchange.seen):
        if is_secret_name(name) and name.lower() != "key":  # which may be an id
            yield value


def sent_codes(exchange: ServiceExchange) -> Iterator[str]:
    """The codes of a request, which may have digits alone."""
    for name, value in sent_members(exchange):
        is_secret = is_distinctive(value) or SENT_DIGITS.fullmatch(value)
        if is_secret and SENT_SECRET.fullmatch(name):
            yield value


def sent_members(exchange: ServiceExchange) -> list[tuple[str, str]]:
    """The parameters and members of a request, in its query and its body."""
    sent = parse_qsl(exchange.query) + members_of(exchange.request_json)
    if exchange.request_json is NOTHING:
        sent += parse_qsl(exchange.request_body.decode(errors="replace")[:10_000])
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
