"""Sends requests to one service: each in bounded time and memory, without following redirects."""

import base64
import re
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from io import BufferedReader, RawIOBase
from pathlib import Path
from socket import socket
from typing import Any, Protocol, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from web.files import content_of

from .exchange import Exchange

T = TypeVar("T")

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
PORTS = {"http": 80, "https": 443}
MAX_BODY = 4 * 1024 * 1024  # bytes
MAX_OTHER = 256 * 1024  # bytes beside it: the head, `100 Continue`, the framing, trailers
TIMED_OUT = "timed out"  # the first as TimeoutError says it
TOO_LARGE = f"its body is over {MAX_BODY // 1024**2} MiB"
CUT_OFF = "the connection was cut off"
FIELDS = {"Accept": "application/json, application/problem+json", "User-Agent": "stub-verify"}
LOOPBACK = re.compile(r"localhost|.*\.localhost|127\.\d+\.\d+\.\d+|::1")


class Client(Protocol):
    """What the script asks: a service over HTTP, or the stub in the process."""

    base: str

    def send(self, request: Exchange) -> Exchange: ...


class HTTPClient:
    """Sends requests to the service at `base`, which is the {base_url} of the interface (§4).

    `ca` is a file of a certificate authority to trust, too. Raises `ValueError` with what to give
    instead, and `OSError`.
    """

    def __init__(self, url: str, ca: Path | None, timeout: float = TIMEOUT) -> None:
        self._url = parse_base(url)
        self.base = f"{self._url.scheme}://{self._url.netloc}{self._url.path.rstrip('/')}"
        self._timeout = timeout
        self._context = context_of(ca) if ca or self._url.scheme == "https" else None
        self._proxy = find_proxy(self._url)

    def send(self, request: Exchange) -> Exchange:
        """The exchange with its response, or with the failure that says why there is none."""
        request = replace(request, sent_at=time.time())
        late = replace(request, failure=TIMED_OUT)
        return within(self._timeout, lambda: self._receive(request), late)

    def _receive(self, request: Exchange) -> Exchange:
        limits = Limits(self._timeout)
        try:
            with closing(self._connect(limits)) as connection:
                self._write(connection, request)
                response = connection.getresponse()
                limits.allow(MAX_BODY * 5 // 4)  # with its framing
                content = response.read(MAX_BODY + 1)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a chunk of -5
            failure = failure_of(error)
            if may_be_other_scheme(error):
                failure += " (http or https?)"
            if self._proxy:
                host, port = address_of(self._proxy)
                failure += f" (through the proxy {host}:{port})"
            return replace(request, failure=failure)
        failure = ""
        if len(content) > MAX_BODY:
            failure = TOO_LARGE
        elif response.length:  # bytes that are missing
            failure = CUT_OFF
        elif response.status < 200:
            failure = f"there is no response after a {response.status}"
        return replace(
            request,
            status=response.status,
            headers=response.headers,
            content=content,
            failure=failure,
        )

    def _connect(self, limits: "Limits") -> HTTPConnection:
        """A connection that is not open yet."""
        host, port = address_of(self._url)
        near, near_port = address_of(self._proxy or self._url)
        connection: HTTPConnection
        if self._url.scheme == "https":
            connection = HTTPSConnection(
                near, near_port, timeout=self._timeout, context=self._context
            )
            if self._proxy:
                connection.set_tunnel(host, port, proxy_fields(self._proxy))
        else:
            connection = HTTPConnection(near, near_port, timeout=self._timeout)
        connection.response_class = partial(LimitedResponse, limits)  # type: ignore[assignment]
        return connection

    def _write(self, connection: HTTPConnection, request: Exchange) -> None:
        fields = dict(request.sent)
        sent = {name.lower() for name in fields}
        fields |= {name: value for name, value in FIELDS.items() if name.lower() not in sent}
        target = self._url.path.rstrip("/") + request.target
        if self._proxy and self._url.scheme == "http":
            target = f"http://{self._url.netloc}{target}"
            fields |= proxy_fields(self._proxy)
        connection.request(request.method, target, request.body or None, fields)


def check_token(token: str) -> None:
    """Raises `ValueError` with what to give instead of a token that no header field can have."""
    if not re.fullmatch("[!-~]+", token):
        raise ValueError(
            "set the environment variable VERIFY_TOKEN to a token of the service: printable "
            "ASCII without spaces, and without the word Bearer"
        )


def parse_base(url: str) -> SplitResult:
    """Raises `ValueError` with what to give instead."""
    base = urlsplit(url)
    is_url = re.fullmatch("(?!.*[@?#])https?://[!-~]+", url)
    if not is_url or not base.hostname or base.port == 0 or "v1" in base.path.split("/"):
        raise ValueError(
            "give the URL before /v1 (§4), such as https://service.example: with its scheme, "
            "in ASCII, without user, query and fragment"
        )
    return base


def context_of(ca: Path | None) -> ssl.SSLContext:
    """Raises `ValueError` for a file without a certificate, and `OSError`."""
    context = ssl.create_default_context()
    if ca:
        text = content_of(ca).decode("ascii", "ignore")
        try:
            context.load_verify_locations(cadata=text)
        except (ValueError, ssl.SSLError) as error:  # ValueError: of an empty file
            raise ValueError(f"{ca}: {error}") from None
    return context


def address_of(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or PORTS[url.scheme]


# Proxies


def find_proxy(url: SplitResult) -> SplitResult | None:
    """The proxy for a URL by the usual variables, such as HTTPS_PROXY and NO_PROXY, if any.

    Raises `ValueError` for a proxy that this client cannot use.
    """
    host = url.hostname or ""
    if LOOPBACK.fullmatch(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    value = proxies.get(url.scheme) or proxies.get("all")
    if not value:
        return None
    proxy = urlsplit(value if "://" in value else f"http://{value}")
    if proxy.scheme != "http" or not proxy.hostname or proxy.port == 0:
        raise ValueError("give the proxy as http://HOST:PORT, or the host in NO_PROXY")
    return proxy


def proxy_fields(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    encoded = base64.b64encode(credentials.encode()).decode()
    return {"Proxy-Authorization": f"Basic {encoded}"}


# Limits


class Limits:
    """How long a response may take, and how many bytes it may have."""

    def __init__(self, timeout: float) -> None:
        self._deadline = time.monotonic() + timeout
        self._left = MAX_OTHER

    def allow(self, size: int) -> None:
        self._left += size

    def seconds_left(self) -> float:
        """Raises `TimeoutError` if there are none."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(TIMED_OUT)
        return seconds

    def count(self, size: int) -> None:
        """Raises `HTTPException` for more bytes than a response may have."""
        self._left -= size
        if self._left < 0:
            raise HTTPException("the response has no end")


class LimitedSocket(RawIOBase):
    """Reads from a socket within limits: neither `100 Continue` nor trailers have others."""

    def __init__(self, sock: socket, raw: RawIOBase, limits: Limits) -> None:
        self._sock = sock
        self._raw = raw
        self._limits = limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._limits.seconds_left())
        size: int = self._raw.readinto(buffer)
        self._limits.count(size)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


class LimitedResponse(HTTPResponse):
    def __init__(self, limits: Limits, sock: socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        raw: Any = self.fp.detach()
        self.fp = BufferedReader(LimitedSocket(sock, raw, limits))


def within(timeout: float, call: Callable[[], T], otherwise: T) -> T:
    """What a call returns, made in a thread: the look-up of a name has no timeout.

    After so many seconds it is `otherwise`. Raises what the call raises.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    wait([result], timeout)
    return result.result() if result.done() else otherwise


def failure_of(error: Exception) -> str:
    """Why there is no response, in a few words."""
    if isinstance(error, ConnectionResetError | IncompleteRead):
        return CUT_OFF
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {error.reason}"
    if isinstance(error, UnicodeError):  # the labels of a host are too long, or empty
        return "the host is no name"
    if type(error) is HTTPException:  # of too many header fields, or bytes
        return str(error)
    if isinstance(error, HTTPException | ValueError):
        return "the response is no HTTP"
    return str(getattr(error, "strerror", None) or error)


def may_be_other_scheme(error: Exception) -> bool:
    """Whether a port may have failed so because it speaks TLS, or does not."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return False
    return isinstance(error, ssl.SSLError | ConnectionResetError | BadStatusLine)
