"""Sends requests to one service: each in bounded time and memory, without following redirects."""

import re
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from datetime import UTC, datetime
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.error import URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import (
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
)

from traffic.addresses import is_loopback
from web.files import read_user_file

from .exchange import MAX_BODY, TOO_LARGE, ServiceExchange, unpack

T = TypeVar("T")

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
TIMED_OUT = "timed out"  # the first as TimeoutError says it
CUT_OFF = "the connection was cut off"
BROKEN = (OSError, HTTPException, ValueError)  # a ValueError is that of a chunk of -5 bytes
FIELDS = {
    "Accept": "application/json, application/problem+json",
    "Accept-Encoding": "gzip",
    "User-Agent": "stub-verify",
}


class Client(Protocol):
    """What the script sends requests with."""

    base: str

    def send(self, request: ServiceExchange) -> ServiceExchange: ...


class HTTPClient:
    """Sends requests to the service at `base`, which is the {base_url} of the interface (§4).

    `ca` is a file of a certificate authority to trust, too. Raises `ValueError` with what to give
    instead, and `OSError`.
    """

    def __init__(self, url: str, ca: Path | None, timeout: float = TIMEOUT) -> None:
        base = parse_base(url)
        self.base = f"{base.scheme}://{base.netloc}{base.path.rstrip('/')}"
        self._timeout = timeout
        self._opener = make_opener(base.hostname or "", ca)

    def send(self, request: ServiceExchange) -> ServiceExchange:
        """Return the exchange with its response, or with why there is none."""
        exchange, _ = self.open(request, leaves_open=False)
        return exchange

    def open(
        self, request: ServiceExchange, *, leaves_open: bool = True
    ) -> tuple[ServiceExchange, HTTPResponse | None]:
        """Send a request, and leave its response open if that does not say how long it is.

        The exchange lacks the content of an open response, such as a stream of events.
        """
        request = replace(request, time=datetime.now(UTC))
        late = replace(request, failure=TIMED_OUT)
        none: HTTPResponse | None = None
        return call_within(self._timeout, lambda: self._receive(request, leaves_open), (late, none))

    def _receive(
        self, request: ServiceExchange, leaves_open: bool
    ) -> tuple[ServiceExchange, HTTPResponse | None]:
        deadline = time.monotonic() + self._timeout
        fields = dict(request.request_fields)
        sent = {name.lower() for name in fields}
        fields |= {name: value for name, value in FIELDS.items() if name.lower() not in sent}
        try:
            asked = Request(
                self.base + request.target,
                request.request_body or None,
                fields,
                method=request.method,
            )
            response: HTTPResponse = self._opener.open(asked, timeout=self._timeout)
            head = replace(
                request, status=response.status, response_fields=response.headers.items()
            )
            if leaves_open and response.length is None:
                return head, response
            with response:
                content, failure = read_body(response, deadline)
        except BROKEN as error:
            return replace(request, failure=describe_failure(error)), None
        return unpack(replace(head, response_body=content, failure=failure)), None


def read_body(response: HTTPResponse, deadline: float) -> tuple[bytes, str]:
    """Read a body; return it, and why it is not whole."""
    content = b""
    while len(content) <= MAX_BODY:
        piece = response.read1(65536)
        if not piece:
            return content, CUT_OFF if response.length else ""
        content += piece
        if time.monotonic() > deadline:
            return content, TIMED_OUT
    return content, TOO_LARGE


# How the opener differs from that of the library


class FinalResponse(HTTPResponse):
    """A response after those that are only informational, such as 103 (RFC 9110 §15.2)."""

    def begin(self) -> None:
        super().begin()
        while 101 < self.status < 200:
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()


class PlainConnection(HTTPConnection):
    response_class = FinalResponse


class TLSConnection(HTTPSConnection):
    response_class = FinalResponse


class PlainHandler(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(PlainConnection, req)


class TLSHandler(HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._own_context = context

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(TLSConnection, req, context=self._own_context)


class EachStatus(HTTPErrorProcessor):
    """Returns a response of any status: neither is a redirect followed, nor an error raised."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response

    def https_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response


def make_opener(host: str, ca: Path | None) -> OpenerDirector:
    """Make what sends requests to a host, through a proxy if the usual variables name one.

    Raises `ValueError` for a file without a certificate, and `OSError`.
    """
    proxies = getproxies()
    for scheme in ("http", "https"):
        if "all" in proxies:
            proxies.setdefault(scheme, proxies["all"])
    if is_loopback(host):
        proxies = {}
    return build_opener(
        ProxyHandler(proxies), PlainHandler(), TLSHandler(make_context(ca)), EachStatus()
    )


def make_context(ca: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca:
        text = read_user_file(ca).decode("ascii", "ignore")
        try:
            context.load_verify_locations(cadata=text)
        except (ValueError, ssl.SSLError) as error:  # ValueError: of an empty file
            raise ValueError(f"{ca}: {error}") from None
    return context


# What is given


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


# Failures


def call_within(timeout: float, call: Callable[[], T], otherwise: T) -> T:
    """Return what a call returns, made in a thread: the look-up of a name has no timeout.

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


def describe_failure(error: Any) -> str:
    """Say in a few words why there is no response."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {error.reason} (http or https?)"
    if isinstance(error, ConnectionResetError):
        return f"{CUT_OFF} (http or https?)"
    if isinstance(error, BadStatusLine):
        return "the response is no HTTP (http or https?)"
    if isinstance(error, IncompleteRead):
        return CUT_OFF
    if isinstance(error, UnicodeError):  # the labels of a host are too long, or empty
        return "the host is no name"
    if type(error) is HTTPException:  # of too many header fields
        return str(error)
    if isinstance(error, HTTPException | ValueError):
        return "the response is no HTTP"
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or error)
