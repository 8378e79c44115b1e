"""A recording proxy: it passes the requests of a team's own tests on to the service.

It passes on paths below `/v1`, to that service only. It has three routes of `/_stub` that the
fixtures of tests need: health, reset and requests.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from http.client import HTTPResponse
from threading import Lock
from typing import Any, Protocol
from urllib.parse import unquote

from flask import Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import Headers

from auth import make_token_check
from records import timestamp
from traffic import shown
from traffic.masking import Redactor
from web import problems
from web.patterns import matches
from web.routing import read_raw_target

from ..seen.repeats import drop_repeats, leave_out_repeats
from ..seen.service_log import CODINGS, MAX_BODY, Log, ServiceExchange, unpack
from . import streams

HOP_FIELDS = {
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "proxy-connection", "proxy-authorization", "proxy-authenticate", "content-length",
}  # fmt: skip
"""Header fields of a connection (RFC 9110 §7.6.1), and fields that the proxy makes anew."""


class Opener(Protocol):
    """A client of the service, for the recorder; see `HTTPClient.open`."""

    base: str

    def open(self, request: ServiceExchange) -> tuple[ServiceExchange, HTTPResponse | None]: ...


class Recorder:
    """The recording proxy, with its WSGI app in `app`.

    `token` is the token of the service. A test may send it with the name of a world, like
    `TOKEN.job-42`: the service gets the token, and the world has its own journal.
    """

    def __init__(self, client: Opener, token: str) -> None:
        self._client = client
        self._token = token
        self._is_known = make_token_check([token])
        self._redactor = Redactor([token])
        self._lock = Lock()
        self._exchanges: list[ServiceExchange] = []
        self._new = 0  # exchanges since repeated ones were left out
        self._journals: dict[str, ProxyJournal] = defaultdict(ProxyJournal)  # key: world
        self.app = Flask(__name__, static_folder=None)
        problems.handle_errors(self.app, {})
        self.app.before_request(self._respond)

    def log(self) -> Log:
        """Return the recorded exchanges in the order of their requests."""
        return leave_out_repeats(Log(self._client.base, tuple(sort_by_time(self._exchanges))))

    def _record(self, exchange: ServiceExchange, max_new: int = 2000) -> None:
        """Record an exchange. After each `max_new`, repeated ones go, since a test may poll."""
        with self._lock:
            self._exchanges.append(exchange)
            self._new += 1
            if self._new >= max_new:
                self._exchanges = drop_repeats(sort_by_time(self._exchanges))
                self._new = 0

    # Requests

    def _respond(self) -> ResponseReturnValue:
        path, _, _ = read_raw_target(request.environ).partition("?")
        route = (request.method, path)
        if is_below_v1(path):
            return self._pass_on()
        if route == ("GET", "/_stub/health"):
            return {"status": "ok"}
        if route == ("POST", "/_stub/reset") and not request.get_data():
            self._open_journal().entries.clear()
            return Response(status=204)
        if route == ("GET", "/_stub/requests"):
            return self._open_journal().select(request.args)
        detail = (
            "The recording proxy only passes on paths below /v1; of /_stub it knows GET "
            "/_stub/health, POST /_stub/reset without a body, and GET /_stub/requests."
        )
        raise problems.Problem(501, "not_recorded", detail)

    def _open_journal(self) -> "ProxyJournal":
        """Open the journal of a request to `/_stub`, which needs a valid token."""
        world = self._find_world()
        if world is None:
            raise problems.Problem(
                401, "token_invalid", "Send the token in STUB_TOKEN as a bearer token."
            )
        with self._lock:
            return self._journals[world]

    def _find_world(self) -> str | None:
        """Return the world of the request, "" for the main world; None for an invalid token."""
        token = request.headers.get("Authorization", "").rpartition(" ")[2]
        if self._is_known(token):
            return ""
        start, _, world = token.rpartition(".")
        return world if self._is_known(start) else None

    def _pass_on(self) -> Response:
        body = request.get_data()
        if len(body) > MAX_BODY:
            raise problems.Problem(
                413, "body_too_large", f"Send at most {MAX_BODY // 1024**2} MiB."
            )
        world = self._find_world()
        target = read_raw_target(request.environ)
        sent = ServiceExchange(request.method, target, self._list_fields(world), body)
        exchange, rest = self._client.open(sent)
        with self._lock:
            entry = self._journals[world or ""].add(exchange, self._redactor)
        if rest:
            record = partial(self._record_end, exchange, entry)
            is_awaited = request.environ.get("server.is_open", lambda: True)
            pieces = streams.read_pieces(rest, is_awaited, record)
            return build_response(exchange, self._client.base, pieces)
        self._record(exchange)
        if exchange.failure:
            detail = f"The service did not respond to the recording proxy: {exchange.failure}."
            raise problems.Problem(502, "no_response", detail)
        return build_response(exchange, self._client.base)

    def _list_fields(self, world: str | None) -> list[tuple[str, str]]:
        """List the header fields to pass on; the token has no world."""
        dropped = HOP_FIELDS | {"host"} | parse_names(request.headers.get("Connection", ""))
        fields = {name: value for name, value in request.headers if name.lower() not in dropped}
        if world:
            scheme, _, _ = fields["Authorization"].rpartition(" ")
            fields["Authorization"] = f"{scheme} {self._token}"
        return [*fields.items()]

    def _record_end(
        self, head: ServiceExchange, entry: dict[str, Any], body: bytes, failure: str
    ) -> None:
        """Record a response at the end of its stream, and complete its entry in the journal."""
        exchange = unpack(replace(head, response_body=body, failure=failure))
        self._record(exchange)
        entry["reason"] = exchange.failure or None
        entry["response"] = shown.show_response(exchange, self._redactor)


class ProxyJournal:
    """The newest requests of a world, in the form of the journal of the stub."""

    def __init__(self, max_entries: int = 1000) -> None:
        self.entries: deque[dict[str, Any]] = deque(maxlen=max_entries)
        self.last = 0  # the number of the newest entry

    def add(self, exchange: ServiceExchange, redactor: Redactor) -> dict[str, Any]:
        """Add an entry, and return it. It also has the members of a stub that fixtures read."""
        self.last += 1
        entry = {
            "number": self.last,
            "time": timestamp(exchange.time),
            **shown.show_request(exchange, redactor),
            "status": exchange.status,
            "code": None,
            "reason": exchange.failure or None,
            "operation": None,
            "fault": None,
            "grease": [],
            "unpromised": [],
            "violations": [],
            "response": shown.show_response(exchange, redactor),
        }
        self.entries.append(entry)
        return entry

    def select(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Select entries by the filters of a query: `{"requests": [...], "last": 7}`."""
        found = [*self.entries]
        limit = None
        for name, value in query.items():
            if name == "limit" and value.isdecimal():
                limit = int(value)
            elif name == "after" and value.isdecimal():
                found = [entry for entry in found if entry["number"] > int(value)]
            elif name in ("method", "path", "status"):
                pattern = value.replace("x", "?") if name == "status" else value
                found = [entry for entry in found if matches(pattern, str(entry[name]))]
            else:
                detail = "The filters are method, path, status, after and limit."
                raise problems.Problem(400, "unknown_query", detail)
        return {"requests": found[:limit], "last": self.last}


def sort_by_time(exchanges: list[ServiceExchange]) -> list[ServiceExchange]:
    """Sort exchanges by the times of their requests."""
    return sorted(exchanges, key=lambda exchange: exchange.time)


def is_below_v1(path: str) -> bool:
    """Return whether a path is `/v1` or below it, however a service decodes and resolves it.

    `/v1/%2e%2e/admin` is not.
    """
    if path != "/v1" and not path.startswith("/v1/"):
        return False
    decoded = unquote(unquote(path))
    names = [re.sub(";.*", "", name) for name in re.split(r"[/\\]", decoded)]
    return not {".", ".."} & {*names}


def parse_names(field: str) -> set[str]:
    """Parse the names in a field Connection: `{"keep-alive", "x-hop"}` for `keep-alive, X-Hop`."""
    return {name.strip().lower() for name in field.split(",")}


# Responses


def build_response(
    exchange: ServiceExchange, base: str, pieces: Iterable[bytes] | None = None
) -> Response:
    """Build the response for a test. URLs of the service become URLs of the proxy.

    The body of an open response comes in `pieces`.
    """
    dropped = HOP_FIELDS | parse_names(exchange.find_response_field("Connection") or "")
    if pieces and exchange.coding in CODINGS:
        dropped.add("content-encoding")  # The pieces are decompressed.
    url = f"{base}/v1"
    own_url = f"{request.host_url.rstrip('/')}/v1"
    fields = []
    for name, value in exchange.response_fields:
        if name.lower() not in dropped:
            unfolded = re.sub(r"[\r\n]+[ \t]*", " ", value)  # RFC 9112 §5.2
            fields.append((name, unfolded.replace(url, own_url)))
    urls = {url.encode(): own_url.encode()}
    urls[escape_slashes(url)] = escape_slashes(own_url)
    if pieces is None:
        body = b"".join(streams.replace_in_pieces([exchange.response_body], urls))
        passed = Passed(body, exchange.status)
        size: str | None = str(len(body))
        if exchange.method == "HEAD":
            size = exchange.find_response_field("Content-Length")
        if size and exchange.status not in (204, 304):
            fields.append(("Content-Length", size))
    else:
        plain = streams.decompress_pieces(pieces, exchange.coding)
        passed = PassedInPieces(streams.replace_in_pieces(plain, urls), exchange.status)
    passed.headers = Headers(fields)
    return passed


def escape_slashes(url: str) -> bytes:
    r"""Escape a URL as JSON may have it: `https:\/\/service.example\/v1`."""
    return url.replace("/", r"\/").encode()


class Passed(Response):
    """A response with the header fields of the service.

    Flask would encode a Location again, and fail for a Location that is not a URL.
    """

    def get_wsgi_headers(self, environ: object) -> Headers:
        return self.headers


class PassedInPieces(Passed):
    """A response that sends its head before its first piece exists."""

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        pieces, status, fields = self.get_wsgi_response(environ)
        write = start_response(status, fields)
        write(b"")
        return pieces
