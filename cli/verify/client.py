"""Sends requests to one origin: each in bounded time and memory, without proxies and redirects."""

import json
import re
import secrets
import ssl
import threading
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage, IncompleteRead
from string import ascii_lowercase, digits
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import SplitResult, quote, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, Request

from .probes import BASIC, NONE, READ, TOKEN, WRONG, Probe

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
MAX_BODY = 4 * 1024 * 1024  # bytes
TIMED_OUT, CUT_OFF = "timeout", "the connection was cut off"
NO_JSON = object()
UNREACHABLE = "the service cannot be used"  # begins the failures that no other request will mend
OTHER_SCHEME = Probe("other scheme", READ, "HEAD", "/", authorization=NONE)


class Exchange(NamedTuple):
    """A probe as it was sent, and its response. `failure` says why there is nothing to judge."""

    probe: Probe
    origin: str
    target: str
    authorization: str
    body: bytes
    status: int = 0
    headers: HTTPMessage = HTTPMessage()
    content: bytes = b""
    seconds: float = 0.0  # until the response was there
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

    @property
    def location(self) -> str | None:
        """The URL that a redirect names, "" if it names none; None if it is no redirect."""
        if self.failure or not 300 <= self.status < 400:
            return None
        location = self.header("Location")
        return urljoin(self.origin + self.target, location) if location else ""

    @property
    def is_moved(self) -> bool:
        """Whether a redirect leads to a place of the same origin."""
        return (self.location or "").startswith(f"{self.origin}/")

    @property
    def retry_after(self) -> int | None:
        """Seconds (RFC 9110 §10.2.3), None if there are none or more than 10."""
        text = self.header("Retry-After") or ""
        return int(text) if re.fullmatch("[0-9]|10", text) else None

    @property
    def json(self) -> Any:
        """The body, `NO_JSON` if it is none."""
        return parse_json(self.content)


def parse_json(content: bytes) -> Any:
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError):
        return NO_JSON


def parse_url(text: str) -> SplitResult:
    """The {base_url} of the interface (§4). Raises `ValueError` with what to give instead."""
    url = urlsplit(text)
    is_host = url.hostname and url.port != 0 and re.fullmatch("[!-~]+", text)
    if url.scheme not in ("http", "https") or not is_host:
        raise ValueError("give a URL such as https://service.example, in ASCII")
    if url.username is not None or url.query or url.fragment or "v1" in url.path.split("/"):
        raise ValueError("give the URL before /v1 (§4), without user, query and fragment")
    return url._replace(path=url.path.rstrip("/"))


class Client:
    """Sends probes to the service at a base URL."""

    def __init__(self, base: SplitResult, token: str, context: ssl.SSLContext) -> None:
        self._base = base
        wrong = "".join(secrets.choice(ascii_lowercase + digits) for _ in token)
        self._authorization = {
            TOKEN: f"Bearer {token}",
            WRONG: f"Bearer {wrong}",
            BASIC: "Basic c3R1YjpzdHVi",  # nobody's
            NONE: "",
        }
        self._opener = OpenerDirector()  # which has no handler of proxies, redirects and errors
        self._opener.add_handler(HTTPHandler())
        self._opener.add_handler(HTTPSHandler(context=context))

    def request(self, probe: Probe, words: Mapping[str, str]) -> Exchange:
        """What will be sent for a probe, some words of which are random."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}", **words}
        target = probe.target.format(**{name: quote(each, safe="") for name, each in words.items()})
        body = probe.body.format(**{name: json.dumps(each)[1:-1] for name, each in words.items()})
        return Exchange(
            probe,
            f"{self._base.scheme}://{self._base.netloc}",
            self._base.path + target,
            self._authorization[probe.authorization],
            body.encode(),
        )

    def send(self, request: Exchange) -> Exchange:
        """Send and receive, in a thread: neither a look-up nor bytes that drip have a timeout."""
        started, received = time.monotonic(), list[Exchange]()
        thread = threading.Thread(
            target=lambda: received.append(self._receive(request)), daemon=True
        )
        thread.start()
        thread.join(TIMEOUT)
        exchange = received[0] if received else request._replace(failure=TIMED_OUT)
        return exchange._replace(seconds=time.monotonic() - started)

    def other_scheme(self) -> str:
        """The URL of the other scheme, if the port speaks that; it is asked without the token."""
        other = self._base._replace(scheme="http" if self._base.scheme == "https" else "https")
        request = self.request(OTHER_SCHEME, {})
        found = self.send(request._replace(origin=f"{other.scheme}://{other.netloc}"))
        return other.geturl() if found.status or "certificate" in found.failure else ""

    def _receive(self, exchange: Exchange) -> Exchange:
        headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": "stub-verify",
            "Authorization": exchange.authorization,
            "Content-Type": exchange.probe.content_type,
        }
        request = Request(
            exchange.origin + exchange.target,
            exchange.body or None,
            {name: value for name, value in headers.items() if value},
            method=exchange.probe.method,
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                content = response.read(MAX_BODY + 1)
        except (OSError, HTTPException, UnicodeError) as error:  # a host may be no name
            return exchange._replace(failure=failure_of(error))
        failure = ""
        if response.status == 429 or response.status >= 500:
            failure = str(response.status)
        elif len(content) > MAX_BODY:
            failure = f"its body is over {MAX_BODY // 1024**2} MiB"
        elif response.length:  # bytes that are missing
            failure = CUT_OFF
        return exchange._replace(
            status=response.status, headers=response.headers, content=content, failure=failure
        )


def failure_of(error: BaseException | str) -> str:
    """Why there is no response, in a few words."""
    if isinstance(error, URLError):
        error = error.reason
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, (ConnectionResetError, IncompleteRead)):
        return CUT_OFF
    is_http = not isinstance(error, HTTPException)
    reason = getattr(error, "strerror", None) or error if is_http else "the response is no HTTP"
    return f"{UNREACHABLE}: {reason}"
