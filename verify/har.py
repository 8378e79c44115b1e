"""Reads recorded exchanges: a HAR file (HAR 1.2), as browsers, proxies and libraries write it."""

import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from web.files import read_user_file

from .exchange import MAX_BODY, TOO_LARGE, Log, ServiceExchange, unpack
from .shorten import shorten
from .values import parse_seconds

OPERATION = re.compile(r"([^?]*)/v1/(?:projects|deployments/[^/?]+)(?:\?.*)?", re.DOTALL)
ENDS = "/v1/projects or /v1/deployments/{id}"
PORTS = {"http": 80, "https": 443}
TEXTS = ("", "utf8", "utf-8", "text", "identity")  # encodings of a body that stands as it is
PACKED = (b"\x1f\x8b", b"\x78")  # how gzip and deflate begin (RFC 1952 §2.3.1, RFC 1950 §2.2)
NO_BODY = "it was recorded without its body"
NOT_ANSWERED = "it was not answered"

Attached = Callable[[str], bytes]
"""Returns the file of a name beside the entries. Raises `OSError` if there is none."""


class HAREntry(NamedTuple):
    """An entry of the file: the address of its service up to the path, and the exchange."""

    origin: str
    exchange: ServiceExchange  # whose target has the whole path; sent at 0 if that is not known


def read_har(file: Path) -> Log:
    """Read the exchanges with the one service in a file. Raises `ValueError` and `OSError`."""
    try:
        document = json.loads(read_user_file(file).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: no JSON, perhaps cut off: {error}") from None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: no HAR file: there is no log with entries")
    read = list(read_entries(entries, lambda name: read_user_file(file.with_name(name))))
    base = find_base(file, read)
    exchanges = select_exchanges(base, read)
    day = f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%d}"
    return shorten(Log(base, tuple(exchanges), day=day))


def find_base(file: Path, entries: list[HAREntry]) -> str:
    """Find the address of the service. Raises `ValueError` if there is none, or not one alone.

    A redirect, or a request without a response, may be of another one.
    """
    bases: Counter[str] = Counter()
    for origin, exchange in entries:
        match = OPERATION.fullmatch(exchange.target)
        if match and exchange.status and not exchange.is_redirect:
            bases[origin + match[1]] += 1
    if not bases:
        raise ValueError(f"{file}: no response to a request whose path ends in {ENDS}")
    if len(bases) > 1:
        listed = ", ".join(f"{base} ({count} requests)" for base, count in bases.items())
        raise ValueError(f"{file}: several services: {listed}: give a file with one of them alone")
    return next(iter(bases))


def select_exchanges(base: str, entries: list[HAREntry]) -> list[ServiceExchange]:
    """Select the exchanges below a base, in the order in which they were sent."""
    found = []
    for origin, exchange in entries:
        prefix = base.removeprefix(origin)
        if base.startswith(origin) and exchange.target.startswith(f"{prefix}/v1/"):
            found.append(replace(exchange, target=exchange.target.removeprefix(prefix)))
    if all(each.sent_at for each in found):  # some write the end first
        found.sort(key=lambda each: each.sent_at)
    return found


# Entries


def read_entries(entries: list[Any], attached: Attached) -> Iterator[HAREntry]:
    """Read what can be read of the entries; others may be no HTTP, or no entries at all.

    Neither a preflight nor a response from a cache is one of the service.
    """
    for entry in entries:
        try:
            is_cached = entry.get("_fromCache") or entry["response"]["status"] == 304
            if entry["request"]["method"] != "OPTIONS" and not is_cached:
                yield read_entry(entry, attached)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            continue


def read_entry(entry: dict[str, Any], attached: Attached) -> HAREntry:
    request = entry["request"]
    response = entry["response"]
    url = urlsplit(request["url"])
    port = f":{url.port}" if url.port not in (None, PORTS[url.scheme]) else ""
    host = f"[{url.hostname}]" if ":" in str(url.hostname) else url.hostname
    query = f"?{url.query}" if url.query else ""
    status = max(int(response["status"]), 0)
    content, failure = b"", NOT_ANSWERED
    if status:
        content, failure = read_content(response, attached)
    cookies = (*read_cookies(request), *read_cookies(response))
    exchange = ServiceExchange(
        method=str(request["method"]).upper(),
        target=(url.path or "/") + query,
        request_fields=(*read_fields(request, request.get("postData")), *cookies),
        request_body=read_sent_body(request, attached),
        time=datetime.fromtimestamp(parse_seconds(entry.get("startedDateTime")) or 0, UTC),
        status=status,
        response_fields=[*read_fields(response, response.get("content"))],
        response_body=content,
        failure=failure,
    )
    return HAREntry(f"{url.scheme}://{host}{port}", unpack_if_packed(exchange))


def read_fields(message: dict[str, Any], body: Any) -> Iterator[tuple[str, str]]:
    """Read header fields; HTTP/2 has some whose names begin with a colon.

    The media type of the body stands for a missing Content-Type.
    """
    has_type = False
    for name, value in read_pairs(message.get("headers")):
        if not name.startswith(":"):
            has_type = has_type or name.lower() == "content-type"
            yield name, value.replace("\r", "").replace("\n", ", ")
    media_type = body.get("mimeType") if isinstance(body, dict) else None
    if media_type and not has_type:
        yield "Content-Type", str(media_type)


def read_pairs(listed: Any) -> Iterator[tuple[str, str]]:
    for each in listed or ():
        if each["name"]:
            yield str(each["name"]), str(each["value"])


def read_cookies(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Read the cookies beside the header fields of a message as such fields: to be masked."""
    for name, value in read_pairs(message.get("cookies")):
        yield "Cookie", f"{name}={value}"


def read_sent_body(request: dict[str, Any], attached: Attached) -> bytes:
    posted = request.get("postData") or {}
    if posted.get("text"):
        return str(posted["text"]).encode(errors="replace")
    if posted.get("_file"):
        return read_attached(posted["_file"], attached)
    return urlencode(list(read_pairs(posted.get("params")))).encode()


def read_attached(name: str, attached: Attached) -> bytes:
    """Read a file beside the entries; it is b"" if it is missing, or elsewhere."""
    try:
        return attached(name) if Path(name).name == name else b""
    except OSError:
        return b""


# Bodies


def read_content(response: dict[str, Any], attached: Attached) -> tuple[bytes, str]:
    """Read the body of a response; return it, and why it cannot be read, if so."""
    content = response.get("content") or {}
    text = content.get("text")
    file = content.get("_file")
    if file:  # as Playwright writes it
        data = read_attached(file, attached)
        if not data:
            return b"", f"the file of its body is missing: {file}"
    elif text is None:
        # Playwright writes -1 for a body that the page has not read.
        return b"", "" if content.get("size") == 0 else NO_BODY
    else:
        encoding = str(content.get("encoding") or "").lower()
        try:
            data = decode_text(str(text), encoding)
        except ValueError:
            return b"", f"its body cannot be read: {encoding}"
    return data, TOO_LARGE if len(data) > MAX_BODY else ""


def decode_text(text: str, encoding: str) -> bytes:
    """Return the bytes of a text. Raises `ValueError` for an unknown encoding, or another one."""
    if encoding in TEXTS:
        return text.encode(errors="replace")
    if encoding != "base64":
        raise ValueError(encoding)
    standard = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return binascii.a2b_base64(standard + "=" * (-len(standard) % 4), strict_mode=True)


def unpack_if_packed(exchange: ServiceExchange) -> ServiceExchange:
    """Decompress a body; most tools have done that, and have kept the field that says so."""
    return unpack(exchange) if exchange.response_body.startswith(PACKED) else exchange
