"""Sends requests to one origin: each in bounded time and memory, without proxies and redirects."""

import re
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from string import ascii_lowercase, digits
from typing import TypeVar
from urllib.error import URLError
from urllib.parse import SplitResult, urlsplit

from web.files import content_of

from .checks import NAME_PREFIX, NONE, TOKEN, WRONG, Check
from .exchange import Exchange

T = TypeVar("T")

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
PORTS = {"http": 80, "https": 443}
MAX_BODY = 4 * 1024 * 1024  # bytes
TIMED_OUT = "timed out"  # the first as TimeoutError says it
CUT_OFF = "the connection was cut off"


class Client:
    """Sends checks to the service at a base URL, which is the {base_url} of the interface (§4).

    `ca` is a file of a certificate authority to trust, too. Raises `ValueError` with what to give
    instead, and `OSError`.
    """

    def __init__(self, url: str, token: str, ca: Path | None) -> None:
        self._base = urlsplit(url)
        is_url = re.fullmatch("(?!.*[@?#])https?://[!-~]+", url)
        base = self._base
        if not is_url or base.port == 0 or "v1" in base.path.split("/"):
            raise ValueError(
                "give the URL before /v1 (§4), such as https://service.example: with its scheme, "
                "in ASCII, without user, query and fragment"
            )
        if not re.fullmatch("[!-~]+", token):
            raise ValueError(
                "set the environment variable VERIFY_TOKEN to a token of the service: printable "
                "ASCII without spaces, and without the word Bearer"
            )
        alphabet = ascii_lowercase + digits
        wrong = "".join(secrets.choice(alphabet) for _ in token)
        self._authorization = {TOKEN: f"Bearer {token}", WRONG: f"Bearer {wrong}", NONE: ""}
        self._context = None
        if self._base.scheme == "https":
            self._context = ssl.create_default_context()
        if ca:  # a file that has no certificate is an error for http, too
            context = self._context or ssl.create_default_context()
            text = content_of(ca).decode("ascii", "ignore")
            try:
                context.load_verify_locations(cadata=text)
            except ValueError as error:  # of an empty file
                raise ValueError(f"{ca}: {error}") from None

    def request(self, check: Check, words: Mapping[str, str]) -> Exchange:
        """What will be sent for a check, some words of which are random."""
        word = secrets.token_hex(4)
        words = {**words, "word": word}
        headers = {
            "Authorization": self._authorization[check.authorization],
            "Content-Type": check.content_type,
        }
        base = self._base.path.rstrip("/")
        target = base + check.fill_target(words)
        sent = tuple((name, value) for name, value in headers.items() if value)
        # Small letters, digits and `-`: some services make the name of a host of it.
        body = check.fill_body(f"{NAME_PREFIX}{word}", words)
        return Exchange(check, target, sent, body.encode())

    def send(self, request: Exchange) -> Exchange:
        request = replace(request, sent_at=time.time())
        return within_timeout(lambda: self._receive(request), replace(request, failure=TIMED_OUT))

    def _receive(self, exchange: Exchange) -> Exchange:
        accept = "application/json, application/problem+json"
        headers = {"Accept": accept, "User-Agent": "stub-verify", **dict(exchange.sent)}
        try:
            with closing(connect(self._base, self._context)) as connection:
                connection.request(exchange.method, exchange.target, exchange.body or None, headers)
                response = connection.getresponse()
                content = response.read(MAX_BODY + 1)
        except (OSError, HTTPException, UnicodeError) as error:  # a host may be no name
            return replace(exchange, failure=failure_of(error))
        failure = ""
        if response.status == 429 or response.status >= 500:
            failure = str(response.status)
        elif len(content) > MAX_BODY:
            failure = f"its body is over {MAX_BODY // 1024**2} MiB"
        elif response.length:  # bytes that are missing
            failure = CUT_OFF
        return replace(
            exchange,
            status=response.status,
            headers=response.headers,
            content=content,
            failure=failure,
        )

    def explain_scheme(self) -> str:
        """What to give in place of the scheme of the URL, if the port speaks the other one."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        is_tls = speaks(self._base, context)
        if is_tls and not self._context:
            return "the port speaks TLS: give an https:// URL"
        if self._context and not is_tls and speaks(self._base, None):
            return "the port does not speak TLS: give an http:// URL"
        return ""


def connect(base: SplitResult, context: ssl.SSLContext | None) -> HTTPConnection:
    """A connection that is not open yet, with TLS if there is a context."""
    host = base.hostname or ""
    port = base.port or PORTS[base.scheme]
    if context:
        return HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
    return HTTPConnection(host, port, timeout=TIMEOUT)


def speaks(base: SplitResult, context: ssl.SSLContext | None) -> bool:
    """Whether a port shakes hands in TLS, or without a context responds in HTTP, in time."""

    def try_it() -> bool:
        try:
            with closing(connect(base, context)) as connection:
                connection.connect()
                if context is None:
                    connection.request("HEAD", "/")  # without a token
                    connection.getresponse()
        except (OSError, HTTPException, UnicodeError):  # a host may be no name
            return False
        return True

    return within_timeout(try_it, otherwise=False)


def within_timeout(call: Callable[[], T], otherwise: T) -> T:
    """What a call returns, made in a thread: neither a look-up nor bytes that drip have a timeout.

    After `TIMEOUT` seconds it is `otherwise`. Raises what the call raises.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    wait([result], TIMEOUT)
    return result.result() if result.done() else otherwise


def failure_of(error: Exception) -> str:
    """Why there is no response, in a few words. urllib wraps the error in a `URLError`."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ConnectionResetError | IncompleteRead):
        return CUT_OFF
    if isinstance(reason, HTTPException):
        return "the response is no HTTP"
    return str(getattr(reason, "strerror", None) or reason)
