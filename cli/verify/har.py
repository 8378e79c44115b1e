"""Reads recorded exchanges: a HAR file (HAR 1.2), as browsers and proxies write it."""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path as File
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from stub.like.markers import NAME
from web.redaction import SECRET_NAME

from . import probes
from .exchange import NO_JSON, Exchange
from .probes import DEFAULT_REQUEST, NONE, WRONG, Probe, without
from .values import (
    Path,
    is_through_objects,
    last_name,
    outermost,
    parse_seconds,
    replaced,
    scalars,
    words_of,
)

PATH = re.compile(r"(.*)(/v1/(?:projects|deployments/([^/]+)))")
# Characters of what is masked wherever it stands: a shorter one may be a word of the service.
LEAST_COOKIE = 6
LEAST_TOKEN = 8  # of another header field than Authorization
# Of each status of a rejected creation: the contract's status, the code, and the response.
REJECTIONS = {
    400: (422, "invalid_body", "InvalidBody"),
    409: (409, "name_taken", "NameTaken"),
    413: (413, "body_too_large", "BodyTooLarge"),
    415: (415, "unsupported_media_type", "UnsupportedMediaType"),
    422: (422, "invalid_body", "InvalidBody"),
}
NO_BODY = "it was recorded without its body"


@dataclass(frozen=True)
class Recording:
    """The exchanges of a file with one service, whose URL is `base`.

    `request` is the body of the creation, with the marker of the name at its path. `tokens` and
    `cookies` are those of the whole file.
    """

    base: str
    exchanges: list[Exchange]
    request: dict[str, Any]
    path_of_name: tuple[str, ...]
    tokens: list[str]
    cookies: list[str]


def read_har(file: File, base: str) -> Recording:
    """The exchanges with the service at a base URL, "" if there is but one in the file.

    Raises `ValueError` with what is wrong, and `OSError`.
    """
    try:
        document = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: no JSON, perhaps cut off: {error}") from None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: no HAR file: there is no log with entries")
    found = [each for each in map(read_entry, entries) if each is not None]
    bases = Counter(each_base for each_base, _ in found)
    chosen = choose_base(file, bases, base)
    exchanges = [exchange for each_base, exchange in found if each_base == chosen]
    exchanges.sort(key=lambda exchange: exchange.sent_at)  # some proxies write the end first
    request, path_of_name = request_of(exchanges)
    return Recording(
        chosen,
        as_session(exchanges),
        request,
        path_of_name,
        [*tokens_in(entries)],
        [*cookies_in(entries)],
    )


def choose_base(file: File, bases: Counter[str], base: str) -> str:
    """The base URL of the service. Raises `ValueError` if it is none of these, or not one alone."""
    listed = ", ".join(f"{each} ({count} requests)" for each, count in bases.most_common())
    if not bases:
        ends = "/v1/projects or /v1/deployments/{id}"
        raise ValueError(f"{file}: no request to a path that ends in {ends}")
    if base and base.rstrip("/") not in bases:
        raise ValueError(f"--base: {base} is none of {listed}")
    if not base and len(bases) > 1:
        raise ValueError(f"{file}: several services; give --base with one of {listed}")
    return base.rstrip("/") or next(iter(bases))


# Entries


def read_entry(entry: Any) -> tuple[str, Exchange] | None:
    """The base URL and the exchange of an entry, None for one that is not with such a service."""
    try:
        request, response = entry["request"], entry["response"]
        url = urlsplit(request["url"])
        match = PATH.fullmatch(url.path)
        if match is None or not isinstance(response["status"], int):
            return None
        query = f"?{url.query}" if url.query else ""
        body = (request.get("postData") or {}).get("text") or ""
        exchange = Exchange(
            Probe("", "", str(request["method"]), ""),
            f"{url.path}{query}",
            tuple((each["name"], each["value"]) for each in request["headers"]),
            body.encode(),
            parse_seconds(entry["startedDateTime"]) or 0.0,
            response["status"],
            message_of(response["headers"]),
        )
        content, failure = read_content(response.get("content") or {})
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # no entry of HAR 1.2
    status = exchange.status
    if status == 429 or status >= 500:
        failure = str(status)
    elif status == 0:
        failure = "it was not answered"
    exchange = replace(exchange, content=content, failure=failure)
    return f"{url.scheme}://{url.netloc}{match[1]}", exchange


def message_of(headers: list[dict[str, str]]) -> Message:
    """The header fields of a response; HTTP/2 has some whose names begin with a colon."""
    message = Message()
    for each in headers:
        if not each["name"].startswith(":"):
            message[each["name"]] = each["value"]
    return message


def read_content(content: dict[str, Any]) -> tuple[bytes, str]:
    """The body of a response, and why it cannot be read, if so."""
    text = content.get("text")
    if text is None:
        # Playwright writes -1 for a body that the page has not read.
        return b"", "" if content.get("size") == 0 else NO_BODY
    if content.get("encoding") != "base64":
        return text.encode(errors="surrogatepass"), ""
    try:
        return base64.b64decode(text, validate=True), ""
    except binascii.Error:
        return b"", "its body is no base64"


# Probes


def request_of(exchanges: list[Exchange]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body of the creation that was recorded, with the marker of the name, and its path."""
    for exchange in exchanges:
        if exchange.probe.method == "POST" and exchange.is_success:
            body = json_of(exchange.body)
            path = find_sent_name(body, exchange.json)
            if path:
                return replaced(body, path, NAME), tuple(map(str, path))
    return DEFAULT_REQUEST, ("name",)


def json_of(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return NO_JSON


def find_sent_name(body: Any, response: Any) -> Path | None:
    """The path of the name in a request: of a text that the response has, first one called so."""
    if not isinstance(body, dict):
        return None
    returned = [] if response is NO_JSON else [value for _, value in scalars(response)]
    found = [
        path
        for path, value in outermost(body)
        if isinstance(value, str) and value and is_through_objects(path) and value in returned
    ]
    return min(found, key=rank_of_name, default=None)


def rank_of_name(path: Path) -> tuple[bool, bool]:
    last = last_name(path)
    return last != "name", "name" not in words_of(last)


def as_session(exchanges: list[Exchange]) -> list[Exchange]:
    """The exchanges with the probes that a session would have sent.

    Of several lists the one without a query counts, else the first page.
    """
    lists = [each for each in exchanges if is_list(each)]
    queries = [each.target.partition("?")[2] for each in lists]
    query = "" if "" in queries else queries[0] if queries else ""
    found = []
    for exchange in exchanges:
        if exchange in lists and exchange.target.partition("?")[2] != query:
            continue
        probe = probe_of(exchange)
        if probe is not None and exchange.status != 304:
            found.append(replace(exchange, probe=probe, target=exchange.target.partition("?")[0]))
    return with_later_lists(found)


def is_list(exchange: Exchange) -> bool:
    path = exchange.target.partition("?")[0]
    return exchange.probe.method == "GET" and path.endswith("/projects")


def with_later_lists(exchanges: list[Exchange]) -> list[Exchange]:
    """The exchanges, in which the lists after the creation are those that may have the project."""
    found = []
    is_created = False
    for exchange in exchanges:
        probe = exchange.probe
        is_created = is_created or (probe.name == probes.CREATE.name and exchange.is_success)
        if is_created and probe == probes.LIST:
            probe = probes.LIST_AGAIN
        found.append(replace(exchange, probe=probe))
    later = [index for index, each in enumerate(found) if each.probe == probes.LIST_AGAIN]
    if later:
        found[later[-1]] = replace(found[later[-1]], probe=probes.LISTED)
    return found


def probe_of(exchange: Exchange) -> Probe | None:
    """The probe that an exchange is like, None if it is like none."""
    method, status = exchange.probe.method, exchange.status
    if is_list(exchange):
        operation = probes.LIST
    elif method == "GET":
        operation = probes.GET_DEPLOYMENT
    elif method == "POST" and exchange.target.partition("?")[0].endswith("/projects"):
        operation = probes.CREATE
    else:
        return None
    if status in (401, 403):
        has_token = any(name.lower() == "authorization" for name, _ in exchange.sent)
        return without(operation, WRONG if has_token else NONE)
    if operation == probes.GET_DEPLOYMENT and status == 404:
        return probes.UNKNOWN_DEPLOYMENT
    if operation == probes.CREATE and status in REJECTIONS:
        return rejection(exchange)
    return operation


def rejection(exchange: Exchange) -> Probe:
    """The probe of a creation that was rejected. Which rule it broke is not known."""
    status, code, response = REJECTIONS[exchange.status]
    if exchange.status == 400 and json_of(exchange.body) is NO_JSON:
        status, code, response = 400, "malformed_json", "MalformedBody"
    return probes.CREATE._replace(
        name=f"rejected creation, {exchange.status}",
        status=status,
        expects=f"{probes.RESPONSES}{response}",
        rules=(),
        code=code,
    )


# Secrets


def tokens_in(entries: list[Any]) -> Iterator[str]:
    """The credentials in the requests of a file, without their scheme."""
    for name, value in secrets_in(entries):
        if name == "authorization":
            yield value.rpartition(" ")[2]
        elif name != "cookie" and len(value) >= LEAST_TOKEN:
            yield value


def cookies_in(entries: list[Any]) -> Iterator[str]:
    """The values of the cookies in a file that are long enough to say whose they are."""
    for name, value in secrets_in(entries):
        for cookie in value.split(";") if name == "cookie" else ():
            text = cookie.partition("=")[2].strip(' "')
            if len(text) >= LEAST_COOKIE:
                yield text


def secrets_in(entries: list[Any]) -> Iterator[tuple[str, str]]:
    """The names, in lower case, and the values of what may be a secret in a file."""
    for entry in entries:
        request, response = part_of(entry, "request"), part_of(entry, "response")
        for each in list_of(request, "headers"):
            name, value = pair_of(each)
            if SECRET_NAME.search(name) and value:
                yield name.lower(), value
        _, _, query = str(request.get("url", "")).partition("?")
        for name, value in parse_qsl(query):
            if SECRET_NAME.search(name):
                yield "query", value
        for each in [*list_of(request, "cookies"), *list_of(response, "cookies")]:
            name, value = pair_of(each)
            yield "cookie", f"{name}={value}"
        for each in list_of(response, "headers"):
            name, value = pair_of(each)
            if name.lower() == "set-cookie":
                yield "cookie", value.partition(";")[0]


def part_of(entry: Any, name: str) -> dict[str, Any]:
    found = entry.get(name) if isinstance(entry, dict) else None
    return found if isinstance(found, dict) else {}


def list_of(part: dict[str, Any], name: str) -> list[Any]:
    found = part.get(name)
    return found if isinstance(found, list) else []


def pair_of(each: Any) -> tuple[str, str]:
    """The name and the value of a header field or a cookie."""
    if not isinstance(each, dict):
        return "", ""
    return str(each.get("name", "")), str(each.get("value", ""))
