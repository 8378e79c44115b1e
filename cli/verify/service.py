"""Asks the service: one request at a time, to one origin, in bounded time and memory."""

import http.client
import re
import socket
import ssl
import threading
import time
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click

TIMEOUT = 10.0  # seconds for a whole request
MAX_TIMEOUTS = 3  # in a row; then nothing more is asked
MAX_BODY = 4 * 1024 * 1024  # bytes
MAX_RETRY_AFTER = 10.0  # seconds
TIMED_OUT = "timeout"
UNREACHABLE = "the service cannot be used"  # begins the failures that no other request will mend
JSON = "application/json"


class Exchange(NamedTuple):
    """A request and its response. `failure` says why there is nothing to judge, if so."""

    method: str
    target: str
    authorization: str | None
    content_type: str = ""
    body: bytes = b""
    status: int = 0
    headers: http.client.HTTPMessage = http.client.HTTPMessage()
    content: bytes = b""
    failure: str = ""

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


class Unusable(click.ClickException):
    """Why nothing can be checked, in a sentence."""

    exit_code = 2


class Base(NamedTuple):
    """The {base_url} of the interface (§4), in its parts."""

    scheme: str
    host: str
    port: int
    path: str


def parse_url(text: str) -> Base:
    """The parts of a base URL. Raises `ValueError` with what to give instead."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise ValueError("give a URL such as https://service.example") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("give a URL such as https://service.example")
    if url.username is not None or url.query or url.fragment or not re.fullmatch("[!-~]+", text):
        raise ValueError("give the URL without user, query and fragment, in ASCII")
    path = url.path.rstrip("/")
    if "v1" in path.split("/"):
        raise ValueError("give the URL before /v1, which the paths of the interface have (§4)")
    return Base(url.scheme, url.hostname, port or (443 if url.scheme == "https" else 80), path)


class Service:
    """The service at a base URL. `may_wait` allows to obey one `Retry-After`."""

    def __init__(self, base: Base, token: str, pause: float, ca: Path | None) -> None:
        self.base = base
        self.may_wait = True
        self.timeouts = 0  # in a row
        self.sent = 0  # requests
        self._token = f"Bearer {token}"
        self._pause = pause
        self._free_at = 0.0  # when the next request may be sent
        self._context = make_context(ca) if base.scheme == "https" else None

    def ask(
        self,
        method: str,
        target: str,
        authorization: str | None = "",
        body: bytes = b"",
        content_type: str = "",
    ) -> Exchange:
        """Send a request with the token, with another `authorization`, or with none (`None`)."""
        exchange = Exchange(
            method,
            self.base.path + target,
            self._token if authorization == "" else authorization,
            content_type,
            body,
        )
        if self.is_given_up:
            return exchange._replace(failure=f"not asked after {MAX_TIMEOUTS} timeouts in a row")
        exchange = self._send(exchange)
        seconds = retry_after(exchange)
        if exchange.status == 429 and self.may_wait and seconds is not None:
            self.may_wait = False
            self._free_at = max(self._free_at, time.monotonic() + seconds)
            exchange = self._send(exchange)
        self.timeouts = self.timeouts + 1 if exchange.failure == TIMED_OUT else 0
        if not exchange.failure and (exchange.status == 429 or exchange.status >= 500):
            return exchange._replace(failure=str(exchange.status))
        return exchange

    @property
    def is_given_up(self) -> bool:
        return self.timeouts == MAX_TIMEOUTS

    def _send(self, exchange: Exchange) -> Exchange:
        time.sleep(max(0.0, self._free_at - time.monotonic()))
        self.sent += 1
        try:
            return self._receive(exchange)
        except TimeoutError:
            return exchange._replace(failure=TIMED_OUT)
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate is not trusted: {error.verify_message}"
            return exchange._replace(failure=f"{UNREACHABLE}: {reason}")
        except ssl.SSLError:
            return exchange._replace(failure=f"{UNREACHABLE}: it does not speak TLS at this port")
        except (http.client.RemoteDisconnected, ConnectionResetError, http.client.IncompleteRead):
            return exchange._replace(failure="the connection was cut off")
        except http.client.HTTPException:
            return exchange._replace(failure=f"{UNREACHABLE}: the response is no HTTP")
        except UnicodeError:  # a label of the name is empty or too long
            return exchange._replace(failure=f"{UNREACHABLE}: its host is no name")
        except OSError as error:
            return exchange._replace(failure=f"{UNREACHABLE}: {error.strerror or error}")
        finally:
            self._free_at = time.monotonic() + self._pause

    def _receive(self, exchange: Exchange) -> Exchange:
        """Send and receive. Raises `TimeoutError` if the whole is not done in time."""
        started = time.monotonic()
        sock = socket.create_connection((self.base.host, self.base.port), TIMEOUT)
        connection: http.client.HTTPConnection
        if self._context:
            sock = self._context.wrap_socket(
                sock, server_hostname=self.base.host, do_handshake_on_connect=False
            )
            connection = http.client.HTTPSConnection(
                self.base.host, self.base.port, context=self._context
            )
        else:
            connection = http.client.HTTPConnection(self.base.host, self.base.port)
        connection.sock = sock
        connection.response_class = Response
        watch = Watch(sock, TIMEOUT - (time.monotonic() - started))
        try:
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            connection.request(
                exchange.method, exchange.target, exchange.body or None, headers_of(exchange)
            )
            response = connection.getresponse()
            content = response.read(MAX_BODY + 1)
            failure = ""
            if response.status < 200:
                failure = "it switches the protocol (101)"
            elif len(content) > MAX_BODY:
                failure = f"its body is over {MAX_BODY // 1024**2} MiB"
            elif response.length:  # bytes that are missing
                failure = "the connection was cut off"
        except (OSError, http.client.HTTPException):
            if watch.has_ended:
                raise TimeoutError from None
            raise
        finally:
            watch.cancel()
            connection.close()
            sock.close()
        if watch.has_ended:
            raise TimeoutError
        return exchange._replace(
            status=response.status, headers=response.headers, content=content, failure=failure
        )


class Response(http.client.HTTPResponse):
    """A response after any interim ones (RFC 9110 §15.2); http.client skips 100 alone."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status not in range(102, 200):
                return version, status, reason
            http.client.parse_headers(self.fp)


class Watch:
    """Ends a connection when its time is over: a socket's own timeout begins anew at each byte."""

    def __init__(self, sock: socket.socket, seconds: float) -> None:
        self.has_ended = False
        self._sock = sock
        self._timer = threading.Timer(max(0.0, seconds), self._end)
        self._timer.daemon = True
        self._timer.start()
        self.cancel = self._timer.cancel

    def _end(self) -> None:
        self.has_ended = True
        with suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # without TLS's farewell


def headers_of(exchange: Exchange) -> dict[str, str]:
    headers = {
        "Accept": f"{JSON}, application/problem+json",
        "User-Agent": "stub-verify",
        "Connection": "close",
    }
    if exchange.authorization:
        headers["Authorization"] = exchange.authorization
    if exchange.content_type:
        headers["Content-Type"] = exchange.content_type
    return headers


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
    text: Any = exchange.headers.get("Retry-After", "")
    try:
        seconds = float(text) if text.isdecimal() else seconds_until(text)
    except (ValueError, TypeError):
        return None
    return seconds if seconds <= MAX_RETRY_AFTER else None


def seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
