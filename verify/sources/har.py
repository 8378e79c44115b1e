"""Reads recorded exchanges from a HAR file (HAR 1.2) of a browser, a proxy or a library."""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from traffic.json_values import get_value
from web.files import read_user_file

from ..seen.inspection import parse_seconds
from ..seen.repeats import leave_out_repeats
from ..seen.service_log import MAX_BODY, TOO_LARGE, Log, ServiceExchange, unpack

OPERATION = re.compile(r"([^?]*)/v1/(?:projects|deployments/[^/?]+)(?:\?.*)?", re.DOTALL)
"""Matches the target of an operation; the group is the path of the service."""


class HAREntry(NamedTuple):
    """An entry of the file: the origin of the service, like `https://a.example`, and the exchange.

    The target of the exchange has the path of the service.
    """

    origin: str
    exchange: ServiceExchange


def read_har(file: Path) -> Log:
    """Read the exchanges with the one service of a file. Raises `ValueError` and `OSError`."""
    try:
        document = json.loads(read_user_file(file).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not JSON, perhaps cut off: {error}") from None
    listed = get_value(document, ("log", "entries"))
    if not isinstance(listed, list):
        raise ValueError(f"{file}: not a HAR file: it has no log with entries")
    entries = [*read_entries(listed, file.parent)]
    base = find_base(file, entries)
    exchanges = select_exchanges(base, entries)
    day = f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%d}"
    return leave_out_repeats(Log(base, tuple(exchanges), day=day))


def find_base(file: Path, entries: list[HAREntry]) -> str:
    """Find the address of the service: `https://a.example/api`. Raises `ValueError`.

    A redirect, or a request without a response, may belong to another service.
    """
    bases: Counter[str] = Counter()
    for origin, exchange in entries:
        match = OPERATION.fullmatch(exchange.target)
        if match and exchange.status and not exchange.is_redirect:
            bases[origin + match[1]] += 1
    if not bases:
        ends = "/v1/projects or /v1/deployments/{id}"
        raise ValueError(f"{file}: no response to a request whose path ends in {ends}")
    if len(bases) > 1:
        listed = ", ".join(f"{base} ({count} requests)" for base, count in bases.items())
        raise ValueError(f"{file}: several services: {listed}: give a file with only one of them")
    return next(iter(bases))


def select_exchanges(base: str, entries: list[HAREntry]) -> list[ServiceExchange]:
    """Select the exchanges below an address, in the order of their requests."""
    found = []
    for origin, exchange in entries:
        prefix = base.removeprefix(origin)
        if base.startswith(origin) and exchange.target.startswith(f"{prefix}/v1/"):
            found.append(replace(exchange, target=exchange.target.removeprefix(prefix)))
    if all(each.sent_at for each in found):
        found.sort(key=lambda each: each.sent_at)  # A file may begin with its last request.
    return found


# Entries


def read_entries(listed: list[Any], folder: Path) -> Iterator[HAREntry]:
    """Read the entries of HTTP. Leave out preflights, cached responses and invalid entries."""
    for entry in listed:
        try:
            is_cached = entry.get("_fromCache") or entry["response"]["status"] == 304
            if entry["request"]["method"] != "OPTIONS" and not is_cached:
                yield read_entry(entry, folder)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            continue


def read_entry(entry: dict[str, Any], folder: Path) -> HAREntry:
    request = entry["request"]
    response = entry["response"]
    url = urlsplit(request["url"])
    default_port = {"http": ":80", "https": ":443"}[url.scheme]
    host = url.netloc.rpartition("@")[2].lower().removesuffix(default_port)
    query = f"?{url.query}" if url.query else ""
    status = max(int(response["status"]), 0)
    body, failure = b"", "the recording has no response"
    if status:
        body, failure = read_response_body(response.get("content") or {}, folder)
    exchange = ServiceExchange(
        method=str(request["method"]).upper(),
        target=(url.path or "/") + query,
        request_fields=[*read_fields(request, request.get("postData"))],
        request_body=read_request_body(request.get("postData") or {}, folder),
        time=datetime.fromtimestamp(parse_seconds(entry.get("startedDateTime")) or 0, UTC),
        status=status,
        response_fields=[*read_fields(response, response.get("content"))],
        response_body=body,
        failure=failure,
    )
    return HAREntry(f"{url.scheme}://{host}", unpack_recorded(exchange))


def unpack_recorded(exchange: ServiceExchange) -> ServiceExchange:
    """Unpack a compressed body. Most tools have decompressed it, and have kept the field."""
    try:
        exchange.response_body.decode()
    except UnicodeDecodeError:
        return unpack(exchange)
    fields = [pair for pair in exchange.response_fields if pair[0].lower() != "content-encoding"]
    return replace(exchange, response_fields=fields)


def read_fields(message: dict[str, Any], body: Any) -> Iterator[tuple[str, str]]:
    """Read header fields, without those of HTTP/2 like `:path`. A body may have the media type."""
    has_type = False
    for pair in message.get("headers") or ():
        name = str(pair["name"])
        if name and not name.startswith(":"):
            has_type = has_type or name.lower() == "content-type"
            # Browsers write the values of a repeated field as lines.
            yield name, ", ".join(str(pair["value"]).splitlines())
    media_type = body.get("mimeType") if isinstance(body, dict) else None
    if media_type and not has_type:
        yield "Content-Type", str(media_type)


# Bodies


def read_request_body(posted: dict[str, Any], folder: Path) -> bytes:
    if posted.get("_file"):
        return read_attached(folder, posted["_file"])
    return str(posted.get("text") or "").encode(errors="replace")


def read_response_body(content: dict[str, Any], folder: Path) -> tuple[bytes, str]:
    """Read the body of a response. Return it, and "" or the reason why it cannot be read."""
    text = content.get("text")
    name = content.get("_file")  # Playwright writes it.
    if name:
        body = read_attached(folder, name)
        if not body:
            return b"", f"the file with the body of the response is missing: {name}"
    elif text is None:
        # Playwright writes the size -1 for a body that the page has not read.
        is_empty = content.get("size") == 0
        return b"", "" if is_empty else "the recording lacks the body of the response"
    elif str(content.get("encoding")).lower() == "base64":
        try:
            body = b64decode("".join(text.split()), validate=True)
        except ValueError:
            return b"", "the body of the response cannot be read: base64"
    else:
        body = str(text).encode(errors="replace")
    return body, TOO_LARGE if len(body) > MAX_BODY else ""


def read_attached(folder: Path, name: str) -> bytes:
    """Read a file beside the HAR file. Return b"" if it is missing, or in another folder."""
    try:
        return read_user_file(folder / name) if Path(name).name == name else b""
    except OSError:
        return b""
