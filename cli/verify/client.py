"""Asks the service: one request at a time, to one origin, in bounded time and memory."""

import re
import secrets
import ssl
import threading
import time
from http.client import HTTPException, HTTPMessage, IncompleteRead
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPErrorProcessor, HTTPSHandler, ProxyHandler, Request, build_opener

import click

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
MAX_TIMEOUTS = 3  # in a row; then nothing more is asked
MAX_BODY = 4 * 1024 * 1024  # bytes
MAX_RETRY_AFTER = 10.0  # seconds
TIMED_OUT = "timeout"
UNREACHABLE = "the service cannot be used"  # begins the failures that no other request will mend
JSON = "application/json"
# What a request has in its Authorization header.
TOKEN, WRONG, BASIC, NONE = "the token", "a wrong token", "Basic", "nothing"


class Unusable(click.ClickException):
    """Why nothing can be checked, in a sentence."""

    exit_code = 2


class Exchange(NamedTuple):
    """A request and its response. `failure` says why there is nothing to judge, if so."""

    method: str
    origin: str
    target: str
    authorization: str
    content_type: str = ""
    body: bytes = b""
    status: int = 0
    headers: HTTPMessage = HTTPMessage()
    content: bytes = b""
    failure: str = ""
    repeated: str = ""  # the status of a previous response, because of which this one was asked for

    @property
    def is_success(self) -> bool:
        return not self.failure and 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """A header of the response, whose repeated fields are one list (RFC 9110 §5.3)."""
        values: list[str] | None = self.headers.get_all(name)
        return None if values is None else ", ".join(map(str, values))

    @property
    def media_type(self) -> str:
        """That of the response, without parameters."""
        return (self.header("Content-Type") or "").partition(";")[0].strip().lower()

    @property
    def location(self) -> str | None:
        """The URL that a redirect names, "" if it names none; None if it is no redirect."""
        if self.failure or not 300 <= self.status < 400:
            return None
        location = self.header("Location")
        return urljoin(self.origin + self.target, location) if location else ""


def parse_url(text: str) -> SplitResult:
    """The {base_url} of the interface (§4). Raises `ValueError` with what to give instead."""
    try:
        url = urlsplit(text)
        is_host = bool(url.hostname and url.hostname.encode("idna")) and url.port != 0
    except ValueError:
        is_host = False
    if not is_host or url.scheme not in ("http", "https"):
        raise ValueError("give a URL such as https://service.example")
    if url.username is not None or url.query or url.fragment or not re.fullmatch("[!-~]+", text):
        raise ValueError("give the URL without user, query and fragment, in ASCII")
    if "v1" in url.path.split("/"):
        raise ValueError("give the URL before /v1, which the paths of the interface have (§4)")
    return url._replace(path=url.path.rstrip("/"))


class AsItIs(HTTPErrorProcessor):
    """Returns each response: no redirect is followed, and no status is an exception."""

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


class Client:
    """Asks the service at a base URL. `may_wait` allows to obey one `Retry-After`."""

    def __init__(self, base: SplitResult, token: str, pause: float, ca: Path | None) -> None:
        self.may_wait = True
        self.timeouts = 0  # in a row
        self.sent = 0  # requests
        self.slowest = 0.0  # seconds until a response was there
        self._base = base
        wrong = "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in token)
        self._headers = {
            TOKEN: f"Bearer {token}",
            WRONG: f"Bearer {wrong}",
            BASIC: "Basic c3R1YjpzdHVi",  # nobody's
            NONE: "",
        }
        self._pause = pause
        self._free_at = 0.0  # when the next request may be sent
        tls = HTTPSHandler(context=make_context(ca))
        self._opener = build_opener(ProxyHandler({}), AsItIs, tls)

    def ask(
        self,
        method: str,
        target: str,
        authorization: str = TOKEN,
        body: bytes = b"",
        content_type: str = "",
    ) -> Exchange:
        """Send a request. It is repeated once after a 5xx, and after a 429 that says when."""
        origin, target = f"{self._base.scheme}://{self._base.netloc}", self._base.path + target
        asked = Exchange(method, origin, target, self._headers[authorization], content_type, body)
        if self.is_given_up:
            return asked._replace(failure=f"not asked after {MAX_TIMEOUTS} timeouts in a row")
        exchange = self._send(asked)
        seconds = retry_after(exchange)
        if exchange.status == 429 and self.may_wait and seconds is not None:
            self.may_wait = False
            self._free_at = max(self._free_at, time.monotonic() + seconds)
            exchange = self._send(asked)
        elif exchange.status >= 500 and method != "POST":  # which may have created a project
            exchange = self._send(asked._replace(repeated=str(exchange.status)))
        self.timeouts = self.timeouts + 1 if exchange.failure == TIMED_OUT else 0
        if not exchange.failure and (exchange.status == 429 or exchange.status >= 500):
            return exchange._replace(failure=str(exchange.status))
        return exchange

    @property
    def is_given_up(self) -> bool:
        return self.timeouts == MAX_TIMEOUTS

    def other_scheme(self) -> str:
        """The URL of the other scheme, if the port speaks that; it is asked without the token."""
        other = self._base._replace(scheme="http" if self._base.scheme == "https" else "https")
        found = self._send(Exchange("HEAD", f"{other.scheme}://{other.netloc}", "/", ""))
        return other.geturl() if found.status or "certificate" in found.failure else ""

    def _send(self, exchange: Exchange) -> Exchange:
        """Send and receive, in a thread: neither a look-up nor bytes that drip have a timeout."""
        time.sleep(max(0.0, self._free_at - time.monotonic()))
        self.sent += 1
        started = time.monotonic()
        result: SimpleQueue[Exchange] = SimpleQueue()
        receive = threading.Thread(target=lambda: result.put(self._receive(exchange)), daemon=True)
        receive.start()
        try:
            return result.get(timeout=TIMEOUT)
        except Empty:
            return exchange._replace(failure=TIMED_OUT)
        finally:
            self._free_at = time.monotonic() + self._pause
            self.slowest = max(self.slowest, time.monotonic() - started)

    def _receive(self, exchange: Exchange) -> Exchange:
        headers = {
            "Accept": f"{JSON}, application/problem+json",
            "User-Agent": "stub-verify",
            "Authorization": exchange.authorization,
            "Content-Type": exchange.content_type,
        }
        request = Request(
            exchange.origin + exchange.target,
            exchange.body or None,
            {name: value for name, value in headers.items() if value},
            method=exchange.method,
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                content = response.read(MAX_BODY + 1)
        except (OSError, HTTPException) as error:
            return exchange._replace(failure=failure_of(error))
        failure = ""
        if response.status < 200:
            failure = f"it has an interim response alone ({response.status})"
        elif len(content) > MAX_BODY:
            failure = f"its body is over {MAX_BODY // 1024**2} MiB"
        elif response.length:  # bytes that are missing
            failure = "the connection was cut off"
        return exchange._replace(
            status=response.status, headers=response.headers, content=content, failure=failure
        )


def failure_of(error: Exception) -> str:
    """Why there is no response, in a few words."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, (ConnectionResetError, IncompleteRead)):
        return "the connection was cut off"
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"its certificate is not trusted: {error.verify_message}"
    elif isinstance(error, ssl.SSLError):
        reason = "it does not speak TLS at this port"
    elif isinstance(error, HTTPException):
        reason = "the response is no HTTP"
    else:
        reason = getattr(error, "strerror", None) or str(error)
    return f"{UNREACHABLE}: {reason}"


def make_context(ca: Path | None) -> ssl.SSLContext:
    """Trusts the system's authorities, and that of the file. Raises `Unusable`."""
    context = ssl.create_default_context()
    if ca:
        try:
            context.load_verify_locations(ca)
        except OSError as error:  # ssl.SSLError is one
            reason = "it is no certificate in PEM" if isinstance(error, ssl.SSLError) else ""
            raise Unusable(f"--ca: {ca}: {reason or error.strerror}.") from None
    return context


def retry_after(exchange: Exchange) -> float | None:
    """The seconds of `Retry-After` (RFC 9110 §10.2.3), None if there are none or too many."""
    text = exchange.header("Retry-After") or ""
    seconds = float(text) if re.fullmatch("[0-9]+", text) else MAX_RETRY_AFTER + 1
    return seconds if seconds <= MAX_RETRY_AFTER else None
