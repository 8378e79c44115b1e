"""Sends requests to one origin: each in bounded time and memory, without proxies and redirects."""

import json
import re
import secrets
import ssl
import threading
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage, IncompleteRead
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, Request

from .probes import NONE, TOKEN, WRONG, Probe

TIMEOUT = 10.0  # seconds for a whole request, the look-up of the host's name included
MAX_BODY = 4 * 1024 * 1024  # bytes
TIMED_OUT, CUT_OFF = "timed out", "the connection was cut off"  # the first as TimeoutError says it
NO_JSON = object()


class Exchange(NamedTuple):
    """A probe as it was sent, and its response. `failure` says why there is nothing to judge."""

    probe: Probe
    target: str
    sent: tuple[tuple[str, str], ...]  # headers
    body: bytes
    status: int = 0
    headers: HTTPMessage = HTTPMessage()
    content: bytes = b""
    failure: str = ""

    @property
    def is_success(self) -> bool:
        return not self.failure and 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return not self.failure and 300 <= self.status < 400

    def header(self, name: str) -> str | None:
        """A header of the response, whose repeated fields are one list (RFC 9110 §5.3)."""
        values: list[str] | None = self.headers.get_all(name)
        return None if values is None else ", ".join(map(str, values))

    @property
    def json(self) -> Any:
        """The body of the response, `NO_JSON` if it is none."""
        try:
            return json.loads(self.content.decode())
        except (ValueError, RecursionError):
            return NO_JSON


class Client:
    """Sends probes to the service at a base URL, which is the {base_url} of the interface (§4).

    `ca` is a file of a certificate authority to trust, too. Raises `ValueError` with what to give
    instead, and `OSError`.
    """

    def __init__(self, url: str, token: str, ca: Path | None) -> None:
        self._base = urlsplit(url)
        is_url = re.fullmatch("(?!.*[@?#])https?://[!-~]+", url)
        if not is_url or self._base.port == 0 or "v1" in self._base.path.split("/"):
            raise ValueError(
                "give the URL before /v1 (§4), such as https://service.example: with its scheme, "
                "in ASCII, without user, query and fragment"
            )
        if not re.fullmatch("[!-~]+", token):
            raise ValueError(
                "set the environment variable VERIFY_TOKEN to a token of the service: printable "
                "ASCII without spaces, and without the word Bearer"
            )
        wrong = "".join(secrets.choice(ascii_lowercase + digits) for _ in token)
        self._authorization = {TOKEN: f"Bearer {token}", WRONG: f"Bearer {wrong}", NONE: ""}
        self._opener = OpenerDirector()  # which has no handler of proxies, redirects and errors
        self._opener.add_handler(HTTPHandler())
        if self._base.scheme == "https":
            context = ssl.create_default_context()
            if ca:
                context.load_verify_locations(ca)
            self._opener.add_handler(HTTPSHandler(context=context))

    def request(self, probe: Probe, words: Mapping[str, str]) -> Exchange:
        """What will be sent for a probe, some words of which are random."""
        word = secrets.token_hex(4)
        words = {"word": word, "name": f"stub-verify-{word}", **words}
        quoted = {name: quote(each, "", errors="replace") for name, each in words.items()}
        target = probe.target.format(**quoted)
        body = probe.body.format(**{name: json.dumps(each)[1:-1] for name, each in words.items()})
        credential = self._authorization[probe.authorization]
        headers = (("Authorization", credential), ("Content-Type", probe.content_type))
        sent = tuple(each for each in headers if each[1])
        return Exchange(probe, self._base.path.rstrip("/") + target, sent, body.encode())

    def send(self, request: Exchange) -> Exchange:
        """Send and receive, in a thread: neither a look-up nor bytes that drip have a timeout."""
        received = [request._replace(failure=TIMED_OUT)]
        thread = threading.Thread(
            target=lambda: received.append(self._receive(request)), daemon=True
        )
        thread.start()
        thread.join(TIMEOUT)
        return received[-1]

    def _receive(self, exchange: Exchange) -> Exchange:
        url = self._base._replace(path=exchange.target).geturl()
        accept = "application/json, application/problem+json"
        headers = {"Accept": accept, "User-Agent": "stub-verify", **dict(exchange.sent)}
        request = Request(url, exchange.body or None, headers, method=exchange.probe.method)
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


def failure_of(error: Exception) -> str:
    """Why there is no response, in a few words."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, (ConnectionResetError, IncompleteRead)):
        return CUT_OFF
    if isinstance(reason, HTTPException):
        return "the response is no HTTP"
    return str(getattr(reason, "strerror", None) or reason)
