"""Finds the secrets of a log: its tokens, and the cookies, keys and codes in it."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from profiles import markers
from traffic import masking, secrets

from .inspection import list_leaves
from .service_log import NOTHING, Log, ServiceExchange

LABEL = re.compile(".*key|.*name|var(iable)?|id", re.IGNORECASE)
"""Matches the names of members with the name of a variable: `{"key": "PASSWORD", "value": "x"}`."""

LABELLED = re.compile(".*value|val|content|default", re.IGNORECASE)
"""Matches the names of members with the value of a variable."""


def find_secrets(log: Log, token: str = "") -> secrets.Secrets:
    """Find the secrets of a log; `token` is the token of the run.

    A placeholder in a recording is not a token: `REDACTED`.
    """
    sent = dict.fromkeys(each.token for each in log.exchanges)
    tokens = [token, *(each for each in sent if not secrets.is_placeholder(each))]
    others: set[str] = set()
    for exchange in log.exchanges:
        others.update(filter(secrets.is_distinctive, find_named_secrets(exchange)))
        others.update(find_sent_codes(exchange))
    return secrets.Secrets(tokens, others)


def find_named_secrets(exchange: ServiceExchange) -> Iterator[str]:
    """Find cookies, and values with the name of a secret, like `api_key=4f9a` in a URL."""
    for name, value in (*exchange.request_fields, *exchange.response_fields):
        lower_name = name.lower()
        if lower_name in ("cookie", "set-cookie"):
            yield from secrets.parse_cookies(value)
        elif lower_name != "authorization" and masking.SECRET_FIELD.search(name):
            yield value
    for name, value in list_sent_members(exchange):
        if secrets.is_secret_name(name):
            yield value
    for name, value in list_members(exchange.body):
        is_id = name.lower() == "key"  # A member `key` of a response may be an id.
        if secrets.is_secret_name(name) and not is_id:
            yield value
    for path, leaf in list_leaves(exchange.body):  # `{"creds": {"value": "4f9a"}}`
        around = [name for name in path[:-1] if isinstance(name, str)]
        if isinstance(leaf, str) and any(map(secrets.is_secret_name, around)):
            yield leaf


def find_sent_codes(exchange: ServiceExchange) -> Iterator[str]:
    """Find the codes that a client sent, like `{"otp": "48 29 13"}`. They may be short."""
    for name, value in list_sent_members(exchange):
        is_code = secrets.is_distinctive(value) or re.fullmatch("[0-9 -]{4,}", value)
        if is_code and re.fullmatch("code|otp|pin|assertion", name, re.IGNORECASE):
            yield value


def list_sent_members(exchange: ServiceExchange) -> list[tuple[str, str]]:
    """List the parameters of a request, and the members of its body: JSON, or a form."""
    sent = parse_qsl(exchange.query) + list_members(exchange.request_json)
    if exchange.request_json is NOTHING:
        sent += parse_qsl(exchange.request_body.decode(errors="replace")[:10_000])
    return sent


def list_members(value: Any) -> list[tuple[str, str]]:
    """List the texts and numbers in objects by name: `[("pin", "7713")]` for `{"pin": 7713}`.

    The value of a variable also has its name: `{"key": "PASSWORD", "value": "x"}`.
    """
    found = []
    for holder in markers.find_objects(value):
        labels = find_labels(holder)
        for name, member in holder.items():
            if isinstance(member, str | int):
                found += [(name, str(member)), *((label, str(member)) for label in labels[name])]
    return found


def find_labels(holder: dict[str, Any]) -> dict[str, list[str]]:
    """Find the names of a variable for its value: `{"value": ["A"]}` of `{"key": "A", "value": 1}`.

    A member that is no value has none.
    """
    named = [member for name, member in holder.items() if LABEL.fullmatch(name)]
    labels = [member for member in named if isinstance(member, str)]
    return {name: labels if LABELLED.fullmatch(name) else [] for name in holder}


def has_token(exchange: ServiceExchange, known: secrets.Secrets) -> bool:
    """Return whether a response has a token, in its body or in its header fields."""
    fields = [f"{name}: {value}" for name, value in exchange.response_fields]
    text = exchange.response_body.decode(errors="replace")
    return any(known.has_token(each) for each in (*fields, text))
