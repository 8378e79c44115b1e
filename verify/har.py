"""Reads recorded exchanges: a HAR file (HAR 1.2), as browsers, proxies and libraries write it."""

import binascii
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.message import Message
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from zipfile import BadZipFile, ZipFile

from web.files import content_of
from web.times import parse_time

from .client import MAX_BODY, PORTS, TOO_LARGE
from .exchange import Exchange, Log, message_of
from .shorten import shortened

MAX_BYTES = 64 * 1024 * 1024  # of a recording that is unpacked
OPERATION = re.compile("(.*)/v1/(?:projects|deployments/[^/]+)")
ENDS = "/v1/projects or /v1/deployments/{id}"
GZIP = b"\x1f\x8b"  # what gzip begins with (RFC 1952 §2.3.1), and zip
ZIP = b"PK"
ZLIB = b"x"  # what `deflate` begins with (RFC 1950 §2.2)
ENCODINGS = {'["1f8b': "hex", '["H4sI': "base64"}
"""How chunks of gzip begin, for which Polly 2 to 4 write no encoding."""
NO_BODY = "it was recorded without its body"
NOT_ANSWERED = "it was not answered"

Attached = Callable[[str], bytes]
"""The file of this name beside the entries. Raises `OSError` or `KeyError` if there is none."""


class Entry(NamedTuple):
    """An entry of the file: the address of its service up to the path, and the exchange."""

    origin: str
    exchange: Exchange  # whose target has the whole path; sent at 0 if that is not known


def read_har(file: Path) -> Log:
    """The exchanges with the one service in a file. Raises `ValueError` and `OSError`."""
    data = content_of(file)
    try:
        if data.startswith(ZIP):
            return log_in_zip(file, data)
        if data.startswith(GZIP):
            data = unzipped(data, MAX_BYTES + 1)
        return log_of(file, data, lambda name: content_of(file.with_name(name)))
    except (BadZipFile, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{file}: it cannot be unpacked, perhaps cut off: {error}") from None


def log_in_zip(file: Path, data: bytes) -> Log:
    """As Playwright writes it: a HAR file, and the bodies in files beside it."""
    with ZipFile(BytesIO(data)) as archive:

        def attached(name: str) -> bytes:
            with archive.open(name) as member:
                return member.read(MAX_BYTES + 1)

        names = [name for name in archive.namelist() if name.endswith(".har")]
        if len(names) != 1:
            raise ValueError(f"{file}: it has {len(names)} files that end in .har, not one")
        return log_of(file, attached(names[0]), attached)


def log_of(file: Path, data: bytes, attached: Attached) -> Log:
    if len(data) > MAX_BYTES:  # when it is unpacked
        raise ValueError(f"{file}: over {MAX_BYTES // 1024**2} MiB")
    try:
        document = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: no JSON, perhaps cut off: {error}") from None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: no HAR file: there is no log with entries")
    read = list(entries_of(entries, attached))
    base = base_of(file, read)
    exchanges = exchanges_with(base, read)
    if all(each.status == 304 for each in exchanges):
        raise ValueError(
            f"{file}: all responses of {base} are 304, without a body: record them without a cache"
        )
    return shortened(Log(base, tuple(exchanges)))


def base_of(file: Path, entries: list[Entry]) -> str:
    """The address of the service. Raises `ValueError` if there is none, or not one alone."""
    bases: Counter[str] = Counter()
    for origin, exchange in entries:
        match = OPERATION.fullmatch(exchange.path)
        if match:
            bases[origin + match[1]] += 1
    if not bases:
        raise ValueError(f"{file}: no request to a path that ends in {ENDS}")
    if len(bases) > 1:
        listed = ", ".join(f"{base} ({count} requests)" for base, count in bases.items())
        raise ValueError(f"{file}: several services: {listed}: give a file with one of them alone")
    return next(iter(bases))


def exchanges_with(base: str, entries: list[Entry]) -> list[Exchange]:
    """The exchanges below a base, in the order in which they were sent."""
    found = []
    for origin, exchange in entries:
        prefix = base.removeprefix(origin)
        if base.startswith(origin) and exchange.path.startswith(f"{prefix}/v1/"):
            found.append(replace(exchange, target=exchange.target.removeprefix(prefix)))
    if all(each.sent_at for each in found):  # some write the end first
        found.sort(key=lambda each: each.sent_at)
    return found


# Entries


def entries_of(entries: list[Any], attached: Attached) -> Iterator[Entry]:
    """What can be read of the entries; others may be no HTTP, or no entries at all."""
    for entry in entries:
        try:
            yield read_entry(entry, attached)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            continue


def read_entry(entry: dict[str, Any], attached: Attached) -> Entry:
    request = entry["request"]
    response = entry["response"]
    url = urlsplit(request["url"])
    port = f":{url.port}" if url.port not in (None, PORTS[url.scheme]) else ""
    host = f"[{url.hostname}]" if ":" in str(url.hostname) else url.hostname
    query = f"?{url.query}" if url.query else ""
    moment = parse_time(entry.get("startedDateTime"))
    status = int(response["status"])
    headers = message_of(fields_of(response.get("headers")))
    content, failure = b"", NOT_ANSWERED
    if status > 0:
        content, failure = read_content(response, headers, attached)
    cookies = (*cookies_of(request), *cookies_of(response))
    exchange = Exchange(
        method=str(request["method"]).upper(),
        target=(url.path or "/") + query,
        sent=(*fields_of(request.get("headers")), *cookies),
        body=body_of(request, attached),
        sent_at=moment.timestamp() if moment else 0.0,
        status=max(status, 0),
        headers=headers,
        content=content,
        failure=failure,
    )
    return Entry(f"{url.scheme}://{host}{port}", exchange)


def fields_of(headers: Any) -> Iterator[tuple[str, str]]:
    """Header fields; HTTP/2 has some whose names begin with a colon. Some write an object."""
    if isinstance(headers, dict):
        headers = [{"name": name, "value": value} for name, value in headers.items()]
    for each in headers or ():
        name = str(each["name"] or "")
        value = each["value"]
        values = value if isinstance(value, list) else [value]
        for text in values:
            if name and not name.startswith(":"):
                yield name, str(text).replace("\r", "").replace("\n", ", ")


def cookies_of(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The cookies that a message has beside its header fields, as such fields: to be masked."""
    for name, value in fields_of(message.get("cookies")):
        yield "Cookie", f"{name}={value}"


def body_of(request: dict[str, Any], attached: Attached) -> bytes:
    posted = request.get("postData") or {}
    if posted.get("text"):
        return str(posted["text"]).encode(errors="replace")
    if posted.get("_file"):
        return read_attached(posted["_file"], attached)
    return urlencode(list(fields_of(posted.get("params")))).encode()


def read_attached(name: str, attached: Attached) -> bytes:
    """A file beside the entries, b"" if it is missing, or elsewhere."""
    if Path(name).name != name:
        return b""
    try:
        return attached(name)
    except (OSError, KeyError):
        return b""


# Bodies


def read_content(
    response: dict[str, Any], headers: Message, attached: Attached
) -> tuple[bytes, str]:
    """The body of a response, and why it cannot be read, if so."""
    content = response.get("content") or {}
    text = content.get("text")
    file = content.get("_file")
    if file:
        data = read_attached(file, attached)
        if not data:
            return b"", f"the file of its body is missing: {file}"
    elif text is None:
        # Playwright writes -1 for a body that the page has not read.
        return b"", "" if content.get("size") == 0 else NO_BODY
    else:
        encoding = str(content.get("encoding") or "")
        compression = str(headers.get("Content-Encoding") or "")
        try:
            data = decoded(str(text), encoding)
            data = decompressed(data, compression.lower())
        except (ValueError, EOFError, OSError, zlib.error):
            shown = f"{encoding} {compression}".strip()
            return b"", f"its body cannot be read: {shown}"
    return data, TOO_LARGE if len(data) > MAX_BODY else ""


def decoded(text: str, encoding: str) -> bytes:
    """The bytes of a text. Raises `ValueError` for an encoding that is unknown, or another one."""
    name = encoding.lower() or ENCODINGS.get(text[:6], "")
    if name in ("", "utf8", "utf-8", "text", "identity"):
        return text.encode(errors="replace")
    if name == "hex":
        decode: Callable[[str], bytes] = bytes.fromhex
    elif name in ("base64", "base64url", "gzip", "deflate"):
        decode = decode_base64
    else:
        raise ValueError(encoding)
    if text.startswith("["):  # the chunks of a compressed body, as Polly writes them
        return b"".join(map(decode, json.loads(text)))
    return decode(text)


def decode_base64(text: str) -> bytes:
    """The bytes of a text, which some tools break into lines."""
    standard = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return binascii.a2b_base64(standard + "=" * (-len(standard) % 4), strict_mode=True)


def decompressed(data: bytes, compression: str) -> bytes:
    """A body as it was before it was compressed; most tools have done that.

    Raises `ValueError` if that is not possible here.
    """
    if data.startswith(GZIP):
        return unzipped(data, MAX_BODY + 1)
    if compression == "deflate" and data.startswith(ZLIB):
        return zlib.decompressobj().decompress(data, MAX_BODY + 1)
    if compression in ("br", "zstd"):
        data.decode()  # what is compressed is no UTF-8
    return data


def unzipped(data: bytes, most: int) -> bytes:
    with gzip.open(BytesIO(data)) as file:
        return file.read(most)
