"""A proxy that records: it passes the requests of a team's own tests on to the service.

Only paths below `/v1` are passed on, to that one service. Of `/_stub` it knows what a fixture of
tests needs: health, reset and requests.
"""

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from hmac import compare_digest
from http.client import HTTPResponse
from threading import Lock
from typing import Any, Protocol
from urllib.parse import unquote

from flask import Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import Headers

from records import timestamp
from traffic.masking import Redactor, cut_text
from web.patterns import matches
from web.problems import Problem, handle_errors
from web.routing import read_raw_target

from .exchange import CODINGS, MAX_BODY, NOTHING, Log, ServiceExchange, unpack
from .shorten import shorten
from .streams import decompress_pieces, read_pieces, replace_in_pieces

TIMEOUT = 60.0  # seconds of a request that is passed on: a test's own timeout is shorter
# Fields of one connection (RFC 9110 §7.6.1), and those that the client makes anew.
OWN_FIELDS = {
    "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "proxy-connection", "proxy-authorization", "proxy-authenticate", "content-length",
}  # fmt: skip
OF_REQUEST = OWN_FIELDS | {"host"}
MAX_ENTRIES = 1000  # of a journal
MAX_WAITING = 2000  # exchanges until equal ones are left out
MAX_SHOWN = 4096  # bytes of a body in a journal
OF_STUB: dict[str, Any] = {
    "code": None,
    "fault": None,
    "grease": [],
    "unpromised": [],
    "violations": [],
}
"""What an entry of a stub has beside that, and a fixture shows."""
NOT_RECORDED = "The recording proxy passes on paths below /v1 alone; of /_stub it knows"
KNOWN = "GET /_stub/health, POST /_stub/reset without a body, and GET /_stub/requests."


class Opener(Protocol):
    """What the recorder sends requests with; see `HTTPClient.open`."""

    base: str

    def open(self, request: ServiceExchange) -> tuple[ServiceExchange, HTTPResponse | None]: ...


class Recorder:
    """The proxy as a WSGI app, `app`, and what it has recorded.

    `token` is that of the service. Followed by a dot and a name it is that of a world, and is sent
    without it: the worlds share the service, and each has the requests of its own.
    """

    def __init__(self, client: Opener, token: str) -> None:
        self._client = client
        self._token = token
        self._redactor = Redactor([token])
        self._lock = Lock()
        self._log = Log(client.base, ())
        self._waiting: list[ServiceExchange] = []  # that are not in the log yet
        self._journals: dict[str, ProxyJournal] = defaultdict(ProxyJournal)  # by world
        self.app = Flask(__name__, static_folder=None)
        handle_errors(self.app, {})
        self.app.before_request(self._respond)

    def log(self) -> Log:
        with self._lock:
            self._shorten()
            in_order = sorted(self._log.exchanges, key=lambda each: each.sent_at)
            return replace(self._log, exchanges=tuple(in_order))

    def _shorten(self) -> None:
        """Move the waiting exchanges to the log. The caller holds the lock."""
        exchanges = (*self._log.exchanges, *self._waiting)
        self._log = shorten(replace(self._log, exchanges=exchanges))
        self._waiting = []

    # Requests

    def _respond(self) -> ResponseReturnValue:
        path, _, _ = read_raw_target(request.environ).partition("?")
        if is_below_v1(path):
            return self._pass_on()
        if (request.method, path) == ("GET", "/_stub/health"):
            return {"status": "ok"}
        if (request.method, path) == ("POST", "/_stub/reset") and not request.get_data():
            self._journal().entries.clear()
            return Response(status=204)
        if (request.method, path) == ("GET", "/_stub/requests"):
            journal = self._journal()
            found = select_entries(journal.entries, request.args)
            return {"requests": found, "last": journal.last}
        raise Problem(501, "not_recorded", f"{NOT_RECORDED} {KNOWN}")

    def _journal(self) -> "ProxyJournal":
        """The requests of the world of a request, which has a valid token."""
        world = self._world_of(credential())
        if world is None:
            raise Problem(401, "token_invalid", "Send the token in STUB_TOKEN as a bearer token.")
        with self._lock:
            return self._journals[world]

    def _world_of(self, token: str) -> str | None:
        """The world of a token, "" for the main one; None if the token is another one."""
        if compare_digest(token.encode(), self._token.encode()):
            return ""
        start, _, world = token.rpartition(".")
        return world if compare_digest(start.encode(), self._token.encode()) else None

    def _pass_on(self) -> Response:
        body = request.get_data()
        if len(body) > MAX_BODY:
            raise Problem(413, "body_too_large", f"Send at most {MAX_BODY // 1024**2} MiB.")
        world = self._world_of(credential())
        target = read_raw_target(request.environ)
        sent = ServiceExchange(request.method, target, self._sent(world), body)
        exchange, rest = self._client.open(sent)
        with self._lock:
            entry = self._journals[world or ""].add(exchange, self._redactor)
        if rest:
            record = partial(self._record_end, exchange, entry)
            is_awaited = request.environ.get("server.is_open", lambda: True)
            return response_of(exchange, self._client.base, read_pieces(rest, is_awaited, record))
        self._record(exchange)
        if exchange.failure:
            detail = f"The service did not respond to the recording proxy: {exchange.failure}."
            raise Problem(502, "no_response", detail)
        return response_of(exchange, self._client.base)

    def _record(self, exchange: ServiceExchange) -> None:
        with self._lock:
            self._waiting.append(exchange)
            if len(self._waiting) >= MAX_WAITING:
                self._shorten()

    def _record_end(
        self, head: ServiceExchange, entry: dict[str, Any], content: bytes, failure: str
    ) -> None:
        """Record a response that has been passed on as it came, also in its entry."""
        exchange = unpack(replace(head, response_body=content, failure=failure))
        self._record(exchange)
        entry.update(describe_response(exchange, self._redactor))

    def _sent(self, world: str | None) -> tuple[tuple[str, str], ...]:
        """The header fields to pass on: the token without a world."""
        own = OF_REQUEST | named_in(request.headers.get("Connection", ""))
        fields = {name: value for name, value in request.headers if name.lower() not in own}
        if world:
            scheme, _, _ = fields["Authorization"].rpartition(" ")
            fields["Authorization"] = f"{scheme} {self._token}"
        return tuple(fields.items())


class ProxyJournal:
    """The newest requests of a world with their responses, as the journal of the stub has them."""

    def __init__(self) -> None:
        self.entries: deque[dict[str, Any]] = deque(maxlen=MAX_ENTRIES)
        self.last = 0  # number

    def add(self, exchange: ServiceExchange, redactor: Redactor) -> dict[str, Any]:
        """Add an entry, and return it."""
        self.last += 1
        entry = {
            "number": self.last,
            "time": timestamp(exchange.time),
            **redactor.mask_request_line(exchange.method, exchange.path, exchange.query),
            "headers": mask_fields(exchange.request_fields, redactor),
            **show_body(exchange.request_body, exchange.request_json, redactor),
            "status": exchange.status,
            **OF_STUB,
            **describe_response(exchange, redactor),
        }
        self.entries.append(entry)
        return entry


def describe_response(exchange: ServiceExchange, redactor: Redactor) -> dict[str, Any]:
    """Return what an entry has of the response: `{"reason": None, "response": {...}}`."""
    response = {
        "status": exchange.status,
        "headers": mask_fields(exchange.response_fields, redactor),
        **show_body(exchange.response_body, exchange.response_json, redactor),
    }
    return {"reason": exchange.failure or None, "response": response}


def mask_fields(fields: Iterable[tuple[str, object]], redactor: Redactor) -> dict[str, str]:
    return {name: redactor.mask_field(name, redactor.mask(str(value))) for name, value in fields}


def show_body(body: bytes, value: Any, redactor: Redactor) -> dict[str, Any]:
    """Show the text of a body and its JSON: `{"body": "1", "json": 1}`."""
    text = cut_text(redactor.mask(body.decode(errors="replace")), MAX_SHOWN)
    if value is NOTHING or len(body) > MAX_SHOWN:
        return {"body": text, "json": None}
    return {"body": text, "json": json.loads(redactor.mask(json.dumps(value)))}


def select_entries(entries: Iterable[dict[str, Any]], query: Mapping[str, str]) -> list[Any]:
    """Select entries by the filters of a query. Raises a `Problem` for any other query."""
    found = [*entries]
    limit = query.get("limit", "")
    for name, value in query.items():
        if name == "limit" and value.isdecimal():
            continue
        if name not in ("method", "path", "status"):
            detail = "The recording proxy has the filters method, path, status and limit."
            raise Problem(400, "unknown_query", detail)
        pattern = value.replace("x", "?") if name == "status" else value
        found = [each for each in found if matches(pattern, str(each[name]))]
    return found[: int(limit)] if limit else found


def is_below_v1(path: str) -> bool:
    """Whether a path is `/v1` or below it, however a service may decode and resolve it."""
    if path != "/v1" and not path.startswith("/v1/"):
        return False
    decoded = unquote(unquote(path))
    names = [re.sub(";.*", "", name) for name in re.split(r"[/\\]", decoded)]
    return not {".", ".."} & {*names}


def credential() -> str:
    return request.headers.get("Authorization", "").rpartition(" ")[2]


def named_in(field: str) -> set[str]:
    """The names of header fields in a field Connection."""
    return {name.strip().lower() for name in field.split(",")}


def response_of(
    exchange: ServiceExchange, base: str, pieces: Iterable[bytes] | None = None
) -> Response:
    """The response of the service, whose own URLs lead to the proxy: a test follows them.

    Its `pieces` are passed on as they come, if it is an open one.
    """
    own = OWN_FIELDS | named_in(exchange.find_response_field("Connection") or "")
    if pieces is not None and exchange.coding in CODINGS:
        own.add("content-encoding")  # they are passed on without it
    here = request.host_url.rstrip("/")
    fields = []
    for name, value in exchange.response_fields:
        if name.lower() not in own:
            line = re.sub(r"[\r\n]+[ \t]*", " ", str(value))  # of a folded one (RFC 9112 §5.2)
            fields.append((name, line.replace(f"{base}/v1", f"{here}/v1")))
    urls = {}
    for slash in ("/", "\\/"):  # JSON may have it escaped
        old = f"{base}/v1".replace("/", slash).encode()
        urls[old] = f"{here}/v1".replace("/", slash).encode()
    if pieces is not None:
        decompressed = decompress_pieces(pieces, exchange.coding)
        passed: Passed = PassedInPieces(replace_in_pieces(decompressed, urls), exchange.status)
    else:
        content = b"".join(replace_in_pieces([exchange.response_body], urls))
        passed = Passed(content, exchange.status)
        size = (
            exchange.find_response_field("Content-Length")
            if exchange.method == "HEAD"
            else len(content)
        )
        if size is not None and exchange.status not in (204, 304):
            fields.append(("Content-Length", str(size)))
    passed.headers = Headers(fields)
    return passed


class Passed(Response):
    """A response with the header fields of the service as they are: Flask would encode a Location
    anew, and fail if it is no URL.
    """

    def get_wsgi_headers(self, environ: object) -> Headers:
        return self.headers


class PassedInPieces(Passed):
    """A response whose head is sent before its first piece has come."""

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        pieces, status, fields = self.get_wsgi_response(environ)
        write = start_response(status, fields)
        write(b"")
        return pieces
