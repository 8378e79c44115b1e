"""Reads recorded exchanges: a HAR file (HAR 1.2), as browsers and proxies write it."""

import base64
import binascii
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from email.message import Message
from itertools import islice
from operator import attrgetter
from pathlib import Path as File
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from profiles.markers import DEFAULT_REQUEST, NAME
from stub.contract import object_in
from stub.redaction import SECRET_NAME
from web.files import content_of

from . import checks
from .checks import NONE, WRONG, Check, without
from .constants import is_secret_query
from .exchange import Exchange
from .values import (
    Path,
    at,
    called_name,
    is_through_objects,
    parse_seconds,
    replaced,
    texts_in,
    values_in,
)

PATH = re.compile(r"(.*)(/v1/(?:projects|deployments/([^/]+)))")
# Characters of what is masked wherever it stands: a shorter one may be a word of the service.
LEAST_TOKEN = 4
LEAST_COOKIE = 6
LONG = 12  # of one that has letters alone
# Of each status of a rejected creation, the response of the contract.
RESPONSE_OF = {status: response for response, (status, _) in checks.REJECTIONS.items()}
MAX_OF_A_KIND = 100
MAX_EXCHANGES = 2000  # a run compares each with the others
NO_BODY = "it was recorded without its body"


class Recording(NamedTuple):
    """The exchanges of a file with one service.

    `request` is the body of the creation, with the marker of the name. `tokens` are the
    bearer tokens, `secrets` other texts that are masked, such as cookies.
    """

    exchanges: list[Exchange]
    request: dict[str, Any]
    tokens: list[str]
    secrets: list[str]


def read_har(file: File, base: str) -> Recording:
    """The exchanges with the service at a base URL, "" if there is but one in the file.

    Raises `ValueError` with what is wrong, and `OSError`.
    """
    try:
        document = json.loads(content_of(file).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: no JSON, perhaps cut off: {error}") from None
    entries = at(document, ("log", "entries"))
    if not isinstance(entries, list):
        raise ValueError(f"{file}: no HAR file: there is no log with entries")
    by_base: dict[str, list[Exchange]] = defaultdict(list)
    for entry in entries:
        found = read_entry(entry)
        if found:
            entry_base, exchange = found
            by_base[entry_base].append(exchange)
    chosen = choose_base(file, by_base, base.rstrip("/"))
    in_order = sorted(by_base[chosen], key=attrgetter("sent_at"))  # some write the end first
    exchanges = list(islice(first_of_each(in_order), MAX_EXCHANGES))
    session = as_session(exchanges)
    if not session:
        raise ValueError(f"{file}: no exchange with {chosen} says anything")
    tokens, secrets = secrets_of(exchanges)
    return Recording(session, request_of(exchanges), tokens, secrets)


def choose_base(file: File, by_base: dict[str, list[Exchange]], base: str) -> str:
    """The base URL of the service. Raises `ValueError` if it is none of these, or not one alone."""
    if not by_base:
        ends = "/v1/projects or /v1/deployments/{id}"
        raise ValueError(f"{file}: no request to a path that ends in {ends}")
    if base in by_base:
        return base
    listed = ", ".join(f"{each} ({len(found)} requests)" for each, found in by_base.items())
    if base:
        raise ValueError(f"--base: {base} is none of {listed}")
    if len(by_base) > 1:
        raise ValueError(f"{file}: several services; give --base with one of {listed}")
    return next(iter(by_base))


# Entries


def read_entry(entry: Any) -> tuple[str, Exchange] | None:
    """The base URL and the exchange of an entry, None for one that is not with such a service."""
    try:
        url = urlsplit(entry["request"]["url"])
        match = PATH.fullmatch(url.path)
        if match is None or not isinstance(entry["response"]["status"], int):
            return None
        exchange = exchange_of(entry, url)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # no entry of HAR 1.2
    host = url.netloc.rpartition("@")[2]
    return f"{url.scheme}://{host}{match[1]}", exchange


def exchange_of(entry: dict[str, Any], url: SplitResult) -> Exchange:
    request = entry["request"]
    response = entry["response"]
    posted = request.get("postData") or {}
    body = posted.get("text") or ""
    query = f"?{url.query}" if url.query else ""
    headers = Message()
    for name, value in pairs_of(response["headers"]):
        headers[name] = value
    content, failure = read_content(response.get("content") or {})
    status = response["status"]
    if status == 429 or status >= 500:
        failure = str(status)
    elif status == 0:
        failure = "it was not answered"
    return Exchange(
        Check("", "", str(request["method"]), ""),
        url.path + query,
        (*pairs_of(request["headers"]), *cookie_fields(request), *cookie_fields(response)),
        body.encode(errors="replace"),
        parse_seconds(entry["startedDateTime"]) or 0.0,
        status,
        headers,
        content,
        failure,
    )


def pairs_of(headers: Any) -> Iterator[tuple[str, str]]:
    """Header fields; HTTP/2 has some whose names begin with a colon."""
    for each in headers:
        name = str(each["name"] or "")
        if name and not name.startswith(":"):
            value = str(each["value"])
            yield name, value.replace("\n", ", ")


def cookie_fields(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The cookies that a message has beside its header fields, as such fields: to be masked."""
    for name, value in pairs_of(message.get("cookies") or []):
        yield "Cookie", f"{name}={value}"


def read_content(content: dict[str, Any]) -> tuple[bytes, str]:
    """The body of a response, and why it cannot be read, if so."""
    text = content.get("text")
    if text is None:
        # Playwright writes -1 for a body that the page has not read.
        return b"", "" if content.get("size") == 0 else NO_BODY
    if content.get("encoding") != "base64":
        return text.encode(errors="replace"), ""
    try:
        return base64.b64decode(text, validate=True), ""
    except binascii.Error:
        return b"", "its body is no base64"


def first_of_each(exchanges: list[Exchange]) -> Iterator[Exchange]:
    """The first exchanges of each kind: a client that polls for hours shows no more."""
    counts: Counter[tuple[str, str, int, bool]] = Counter()
    is_created = False
    for exchange in exchanges:
        method = exchange.method
        is_created = is_created or (method == "POST" and exchange.is_success)
        kind = (method, exchange.path, exchange.status, is_created)
        counts[kind] += 1
        if counts[kind] <= MAX_OF_A_KIND:
            yield exchange


# Checks


def request_of(exchanges: list[Exchange]) -> dict[str, Any]:
    """The body of the creation that was recorded, with the marker of the name."""
    listed: list[Any] = []
    for exchange in exchanges:
        if exchange.method != "POST" or not exchange.is_success:
            listed += values_in(exchange.json)
            continue
        body = object_in(exchange.body)
        path = find_sent_name(body, exchange.json, listed)
        if path:
            found: dict[str, Any] = replaced(body, path, NAME)
            return found
    return DEFAULT_REQUEST


def find_sent_name(body: Any, response: Any, listed: list[Any]) -> Path | None:
    """The path of the name in a request: of a text whose member is called so.

    Without one it is a text that the response has, and no response before.
    """
    found = texts_in(body)
    texts = {path: text for path, text in found.items() if text and is_through_objects(path)}
    named = called_name(list(texts))
    if named is not None:
        return named
    returned = values_in(response)
    for path, text in texts.items():
        if text in returned and text not in listed:
            return path
    return None


def as_session(exchanges: list[Exchange]) -> list[Exchange]:
    """The exchanges with the checks that a session would have sent.

    Of several lists the one without a query counts, else the first page. Those after the creation
    may have the created project.
    """
    queries = [each.query for each in exchanges if is_list(each)]
    query = ""
    if queries and "" not in queries:
        query = queries[0]
    found: list[Exchange] = []
    last_list = None  # its index
    is_created = False
    for exchange in exchanges:
        check = check_of(exchange)
        is_other_page = is_list(exchange) and exchange.query != query
        if check is None or is_other_page or exchange.status == 304:
            continue
        if check == checks.CREATE and exchange.is_success:
            is_created = True
        if check == checks.LIST and is_created:
            check = checks.LIST_AGAIN
            last_list = len(found)
        found.append(replace(exchange, check=check, target=exchange.path))
    if last_list is not None:
        found[last_list] = replace(found[last_list], check=checks.LISTED)
    return found


def is_list(exchange: Exchange) -> bool:
    return exchange.method == "GET" and exchange.path.endswith("/projects")


def check_of(exchange: Exchange) -> Check | None:
    method = exchange.method
    status = exchange.status
    if is_list(exchange):
        operation = checks.LIST
    elif method == "GET":
        operation = checks.GET_DEPLOYMENT
    elif method == "POST" and exchange.path.endswith("/projects"):
        operation = checks.CREATE
    else:
        return None
    if status in (401, 403):
        names = [name.lower() for name, _ in exchange.sent]
        return without(operation, WRONG if "authorization" in names else NONE)
    if operation == checks.GET_DEPLOYMENT and status == 404:
        return checks.UNKNOWN_DEPLOYMENT
    if operation == checks.CREATE and status in RESPONSE_OF:
        return rejection(exchange)
    return operation


def rejection(exchange: Exchange) -> Check:
    """The check of a creation that was rejected. Which rule it broke is not known."""
    response = RESPONSE_OF[exchange.status]
    is_object = exchange.body == b"{}" or object_in(exchange.body)
    if exchange.status == 400 and is_object:
        response = "InvalidBody"
    check = checks.rejected(f"rejected creation, {exchange.status}", response, "")
    return check._replace(level=checks.WRITE, needs="")


# Secrets


def secrets_of(exchanges: list[Exchange]) -> tuple[list[str], list[str]]:
    """The bearer tokens of exchanges, and other secrets: cookies, keys in header fields and URLs.

    A short one is no secret where it may be a word of the service.
    """
    tokens: list[str] = []
    others: list[str] = []
    for exchange in exchanges:
        for name, value in (*exchange.sent, *exchange.headers.items()):
            lower_name = name.lower()
            if lower_name == "authorization":
                _, _, token = value.rpartition(" ")
                tokens.append(token)
            elif lower_name in ("cookie", "set-cookie"):
                others += cookies_in(value)
            elif SECRET_NAME.search(name):
                others.append(value)
        for name, value in parse_qsl(exchange.query):
            if is_secret_query(name):
                others.append(value)
    distinct = dict.fromkeys(tokens)
    long_tokens = [token for token in distinct if len(token) >= LEAST_TOKEN]
    return long_tokens, list(filter(is_distinctive, dict.fromkeys(others)))


def cookies_in(field: str) -> list[str]:
    """The values in a Cookie or a Set-Cookie field, and those of its attributes."""
    values = [part.partition("=")[2] for part in re.split("[;,]", field)]
    return [value.strip(' "') for value in values]


def is_distinctive(text: str) -> bool:
    """Whether a text is a secret, and neither a word nor a date."""
    if len(text) >= LONG:
        return True
    has_letters = re.search("[A-Za-z]", text) is not None
    has_digits = re.search("[0-9]", text) is not None
    return has_letters and has_digits and len(text) >= LEAST_COOKIE
