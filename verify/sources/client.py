"""Sends requests to a service, in limited time and memory, and follows no redirect."""

import re
import ssl
import threading
import time
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
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
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

from ..seen.service_log import MAX_BODY, TOO_LARGE, ServiceExchange, unpack

TIMED_OUT = "timed out"  # the message of `TimeoutError`
CUT_OFF = "the connection was cut off"
ERRORS = (OSError, HTTPException, ValueError)
"""The errors of a request. `ValueError` is the error for a chunk of -5 bytes."""


class HTTPClient:
    """Sends requests to the service at `base`: the {base_url} of the interface (§4).

    `ca` is a file with a further certificate authority. `timeout` is in seconds, for a whole
    request with the lookup of the host. Raises `ValueError` with what to give instead, and
    `OSError`.
    """

    def __init__(self, url: str, ca: Path | None, timeout: float = 10.0) -> None:
        base = urlsplit(url)
        is_url = re.fullmatch("(?!.*[@?#])https?://[!-~]+", url)
        if not is_url or not base.hostname or base.port == 0 or "v1" in base.path.split("/"):
            raise ValueError(
                "give the URL of the service without /v1, such as https://service.example: with "
                "http:// or https://, in ASCII, and without user, query and fragment"
            )
        self.base = f"{base.scheme}://{base.netloc}{base.path.rstrip('/')}"
        self._timeout = timeout
        self._opener = make_opener(base.hostname, ca)

    def send(self, request: ServiceExchange) -> ServiceExchange:
        """Send a request, and return it with its response or its failure."""
        exchange, _ = self.open(request, leaves_open=False)
        return exchange

    def open(
        self, request: ServiceExchange, *, leaves_open: bool = True
    ) -> tuple[ServiceExchange, HTTPResponse | None]:
        """Send a request. Leave a response of unknown length open, like a stream of events.

        The exchange lacks the body of an open response.
        """
        request = replace(request, time=datetime.now(UTC))
        result: Future[tuple[ServiceExchange, HTTPResponse | None]] = Future()

        def receive() -> None:
            try:
                result.set_result(self._receive(request, leaves_open))
            except BaseException as error:
                result.set_exception(error)

        # The lookup of a host has no timeout.
        threading.Thread(target=receive, daemon=True).start()
        wait([result], self._timeout)
        return result.result() if result.done() else (replace(request, failure=TIMED_OUT), None)

    def _receive(
        self, request: ServiceExchange, leaves_open: bool
    ) -> tuple[ServiceExchange, HTTPResponse | None]:
        deadline = time.monotonic() + self._timeout
        fields = {
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "gzip",
            "User-Agent": "stub-verify",
        }
        url = self.base + request.target
        try:
            sent = Request(url, request.request_body or None, fields, method=request.method)
            for name, value in request.request_fields:
                sent.add_header(name, value)  # It replaces a field with the same name.
            response: HTTPResponse = self._opener.open(sent, timeout=self._timeout)
            head = replace(
                request, status=response.status, response_fields=response.headers.items()
            )
            if leaves_open and response.length is None:
                return head, response
            with response:
                body, failure = read_body(response, deadline)
        except ERRORS as error:
            return replace(request, failure=describe_failure(error)), None
        return unpack(replace(head, response_body=body, failure=failure)), None


def read_body(response: HTTPResponse, deadline: float) -> tuple[bytes, str]:
    """Read a body. Return it, and "" or the reason why it is not complete: `timed out`."""
    body = b""
    while len(body) <= MAX_BODY:
        piece = response.read1(65536)
        if not piece:
            return body, CUT_OFF if response.length else ""
        body += piece
        if time.monotonic() > deadline:
            return body, TIMED_OUT
    return body, TOO_LARGE


# The opener


class FinalResponse(HTTPResponse):
    """A response after informational responses, like 103 (RFC 9110 §15.2)."""

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


class AnyStatus(HTTPErrorProcessor):
    """Returns a response of any status: it follows no redirect, and raises no error."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response

    def https_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response


def make_opener(host: str, ca: Path | None) -> OpenerDirector:
    """Make the opener for a host. It uses the proxy in variables like `https_proxy`.

    Raises `ValueError` for a file without a certificate, and `OSError`.
    """
    proxies = getproxies()
    for scheme in ("http", "https"):
        if "all" in proxies:
            proxies.setdefault(scheme, proxies["all"])
    if is_loopback(host):
        proxies = {}
    context = ssl.create_default_context()
    if ca:
        text = read_user_file(ca).decode("ascii", "ignore")
        try:
            context.load_verify_locations(cadata=text)
        except (ValueError, ssl.SSLError) as error:  # An empty file is a `ValueError`.
            raise ValueError(f"{ca}: {error}") from None
    return build_opener(ProxyHandler(proxies), PlainHandler(), TLSHandler(context), AnyStatus())


def check_token(token: str) -> None:
    """Raise `ValueError` with what to give, for a token that no header field can have."""
    if not re.fullmatch("[!-~]+", token):
        raise ValueError(
            "set the environment variable VERIFY_TOKEN to a token of the service: printable "
            "ASCII without spaces, and without the word Bearer"
        )


# Failures


def describe_failure(error: Any) -> str:
    """Describe in a few words why there is no response: `Connection refused`."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason} (http or https?)"
    if isinstance(error, ConnectionResetError):
        return f"{CUT_OFF} (http or https?)"
    if isinstance(error, BadStatusLine):
        return "the response is not HTTP (http or https?)"
    if isinstance(error, IncompleteRead):
        return CUT_OFF
    if isinstance(error, UnicodeError):  # A label of the host is empty or too long.
        return "the host is not a valid name"
    if isinstance(error, HTTPException | ValueError):
        return "the response is not HTTP"
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or error)
